// SPDX-License-Identifier: GPL-2.0-or-later
#include "kernels/modules.h"

#include <algorithm>
#include <array>
#include <set>

#include "base/digest.h"
#include "base/file.h"
#include "kernels/elf.h"
#include "kernels/kernel.h"
#include "kernels/unpack.h"

namespace mano::kernels {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t kModuleLimit = std::size_t{128} << 20;  // decompressed
constexpr std::size_t kModuleCount = 100'000;                 // in one folder
constexpr std::size_t kBuiltinLimit = std::size_t{16} << 20;

}  // namespace

std::string module_name(std::string_view file) {
    for (const std::string_view ending : {".ko", ".ko.xz", ".ko.zst", ".ko.gz"}) {
        if (file.size() > ending.size() && file.ends_with(ending)) {
            return folded_name(file.substr(0, file.size() - ending.size()));
        }
    }
    return {};
}

Result<std::map<std::string, fs::path>> find_modules(const fs::path& folder) {
    std::map<std::string, fs::path> out;
    std::error_code error;
    // Links to folders aren't followed: /lib/modules/RELEASE/build leads to a whole source tree.
    for (fs::recursive_directory_iterator it(folder, error), end; !error && it != end;
         it.increment(error)) {
        std::string name = module_name(it->path().filename().string());
        std::error_code ignored;
        if (name.empty() || !it->is_regular_file(ignored)) continue;
        const auto [there, fresh] = out.emplace(std::move(name), it->path());
        // Two of one name: the same one on every machine, whatever the order of the folder.
        if (!fresh && it->path() < there->second) there->second = it->path();
        if (out.size() > kModuleCount) {
            return fail(Code::invalid, "{}: more than {} modules", folder.string(), kModuleCount);
        }
    }
    if (error) return fail(Code::environment, "{}: {}", folder.string(), error.message());
    return out;
}

Result<std::string> modules_digest(const fs::path& folder) {
    MANO_ASSIGN(const auto modules, find_modules(folder));
    std::string lines;
    for (const auto& [name, path] : modules) {
        MANO_ASSIGN(const std::string digest, sha256_file(path));
        lines += fmt::format("{} {}\n", name, digest);
    }
    return sha256(lines);
}

namespace {

// A module whose configuration option isn't its name in capitals.
struct OptionOf {
    std::string_view module;
    std::string_view option;
};
constexpr std::array<OptionOf, 14> kOptions = {{{"842", "CRYPTO_842"},
                                                {"af_packet", "PACKET"},
                                                {"lz4", "CRYPTO_LZ4"},
                                                {"lz4_compress", "LZ4_COMPRESS"},
                                                {"lz4hc", "CRYPTO_LZ4HC"},
                                                {"lz4hc_compress", "LZ4HC_COMPRESS"},
                                                {"lzo", "CRYPTO_LZO"},
                                                {"lzo_rle", "CRYPTO_LZO"},
                                                {"zstd", "CRYPTO_ZSTD"},
                                                {"deflate", "CRYPTO_DEFLATE"},
                                                {"virtio_blk", "VIRTIO_BLK"},
                                                {"virtio_pci", "VIRTIO_PCI"},
                                                {"virtio_console", "VIRTIO_CONSOLE"},
                                                {"virtio_net", "VIRTIO_NET"}}};

std::string option_of(const std::string& module) {
    for (const OptionOf& one : kOptions) {
        if (one.module == module) return std::string(one.option);
    }
    std::string out = module;
    std::transform(out.begin(), out.end(), out.begin(),
                   [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
    return out;
}

// What a kernel has built in and what it has as files.
class Shelf {
  public:
    static Result<Shelf> open(const Kernel& kernel) {
        Shelf out(kernel);
        if (!kernel.modules) return out;
        MANO_ASSIGN(out.files_, find_modules(*kernel.modules));
        const auto text = read_file(*kernel.modules / "modules.builtin", kBuiltinLimit);
        if (text) out.read_builtin(*text);
        return out;
    }

    bool built_in(const std::string& name) const {
        if (builtin_.contains(name)) return true;
        const auto value = config_value(kernel_, option_of(name));
        return value && *value && **value == "y";
    }

    const fs::path* file(const std::string& name) const {
        const auto found = files_.find(name);
        return found == files_.end() ? nullptr : &found->second;
    }

  private:
    explicit Shelf(const Kernel& kernel) : kernel_(kernel) {}

    void read_builtin(std::string_view text) {
        while (!text.empty()) {
            const std::size_t end = std::min(text.find('\n'), text.size());
            const std::string_view line = text.substr(0, end);
            text.remove_prefix(std::min(end + 1, text.size()));
            std::string name = module_name(line.substr(line.rfind('/') + 1));
            if (!name.empty()) builtin_.insert(std::move(name));
        }
    }

    const Kernel& kernel_;
    std::map<std::string, fs::path> files_;
    std::set<std::string> builtin_;
};

Result<std::string> read_module(const fs::path& path) {
    MANO_ASSIGN(std::string bytes, read_file(path, kModuleLimit));
    if (path.extension() == ".ko") return bytes;
    return decompress(bytes, kModuleLimit, path.string());
}

// Depth first, so that what a module depends on is loaded before it.
struct Collector {
    const Shelf& shelf;
    const Kernel& kernel;
    std::set<std::string> done;
    std::vector<Module> out;

    Status add(const std::string& name, const std::string& wanted_by, int depth) {
        if (!done.insert(name).second) return {};
        const fs::path* path = shelf.file(name);
        if (path == nullptr) return absent(name, wanted_by);
        if (depth > 64)
            return fail(Code::invalid, "{}: its dependencies never end", path->string());
        MANO_ASSIGN(std::string bytes, read_module(*path));
        const auto info = read_modinfo(bytes);
        if (!info) return wrap(info.error(), "{}", path->string());
        for (const std::string& one : info->depends)
            MANO_TRY(add(one, name, depth + 1));
        out.push_back(Module{name, std::move(bytes)});
        return {};
    }

    Status absent(const std::string& name, const std::string& wanted_by) const {
        if (shelf.built_in(name)) return {};
        const std::string needed = wanted_by.empty() ? "" : " (which " + wanted_by + " needs)";
        if (!kernel.modules) {
            return fail(Code::not_found,
                        "the kernel {} comes without modules here, so there is no '{}'{}",
                        kernel.provenance.release, name, needed);
        }
        return fail(Code::not_found,
                    "the kernel {} has no module '{}'{}, neither as a file nor built "
                    "in",
                    kernel.provenance.release, name, needed);
    }
};

}  // namespace

Result<std::vector<Module>> modules_for(const Kernel& kernel,
                                        const std::vector<std::string>& names) {
    try {
        MANO_ASSIGN(const Shelf shelf, Shelf::open(kernel));
        Collector collector{shelf, kernel, {}, {}};
        for (const std::string& name : names)
            MANO_TRY(collector.add(folded_name(name), "", 0));
        return std::move(collector.out);
    } catch (const std::exception& error) {
        return fail(Code::environment, "modules of {}: {}", kernel.provenance.release,
                    error.what());
    }
}

Result<std::optional<std::string>> config_value(const Kernel& kernel, std::string_view option) {
    if (!kernel.config) return std::optional<std::string>();
    MANO_ASSIGN(const std::string text, read_file(*kernel.config, kBuiltinLimit));
    const std::string key = fmt::format("CONFIG_{}=", option);
    std::string_view rest = text;
    while (!rest.empty()) {
        const std::size_t end = std::min(rest.find('\n'), rest.size());
        std::string_view line = rest.substr(0, end);
        rest.remove_prefix(std::min(end + 1, rest.size()));
        if (!line.starts_with(key)) continue;
        std::string_view value = line.substr(key.size());
        if (value.ends_with('\r')) value.remove_suffix(1);
        if (value.size() >= 2 && value.front() == '"' && value.back() == '"') {
            value = value.substr(1, value.size() - 2);
        }
        return std::optional<std::string>(std::string(value));
    }
    return std::optional<std::string>("n");
}

}  // namespace mano::kernels
