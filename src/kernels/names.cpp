// SPDX-License-Identifier: GPL-2.0-or-later
// The cache's names, and what "kernel list, add, show, remove" do.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "kernels/built.h"
#include "kernels/cache.h"
#include "kernels/resolve.h"

namespace mano::kernels {

namespace fs = std::filesystem;
using nlohmann::json;

Result<std::map<std::string, std::string>> read_names(const Cache& cache) {
    std::map<std::string, std::string> out;
    std::error_code error;
    if (!fs::exists(cache.names_file(), error)) return out;
    MANO_ASSIGN(const std::string text, read_file(cache.names_file(), std::size_t{4} << 20));
    const json value = json::parse(text, nullptr, false);
    const auto damaged = [&] {
        return fail(Code::corrupt, "{} is damaged; remove it and add the names again",
                    cache.names_file().string());
    };
    if (!value.is_object() || !value.contains("names") || !value["names"].is_object()) {
        return damaged();
    }
    for (const auto& [name, spec] : value["names"].items()) {
        if (!spec.is_string()) return damaged();
        out[name] = spec.get<std::string>();
    }
    return out;
}

namespace {

Status write_names(const Cache& cache, const std::map<std::string, std::string>& names) {
    const json value = {{"names", names}};
    return write_file_atomic(cache.names_file(),
                             value.dump(1, ' ', false, json::error_handler_t::replace) + "\n");
}

Status check_name(std::string_view name) {
    if (name.empty()) return fail(Code::invalid, "a kernel's name is empty");
    if (name.size() > 100) return fail(Code::invalid, "'{}' is longer than 100 bytes", name);
    for (const char c : name) {
        if (c == '/' || c == ':' || c == ',' || c == '+' || c == '=' || c == '@') {
            return fail(Code::invalid, "'{}': a kernel's name has no '{}' in it", name, c);
        }
        if (static_cast<unsigned char>(c) <= ' ' || c == 0x7f) {
            return fail(Code::invalid, "a kernel's name has no spaces or control characters in it");
        }
    }
    if (name.front() == '-' || name.front() == '.') {
        return fail(Code::invalid, "'{}': a kernel's name doesn't begin with '{}'", name,
                    name.front());
    }
    return {};
}

// Everything in the cache, without names. A bare image is listed when no package brought it.
std::vector<Known> cached(const Cache& cache) {
    std::vector<Known> out;
    std::set<std::string> from_packages;
    std::vector<DebianEntry> entries = cache.all_debian();
    std::stable_sort(entries.begin(), entries.end(), [](const auto& a, const auto& b) {
        return compare_versions(a.version, b.version) < 0;
    });
    for (const DebianEntry& entry : entries) {
        auto kernel = kernel_of(cache, entry);
        if (!kernel) continue;
        from_packages.insert(entry.image_id);
        out.push_back(Known{"", std::move(*kernel), 0});
        out.back().bytes =
            bytes_on_disk(entry.folder) + bytes_on_disk(cache.images() / entry.image_id);
    }
    for (const BuiltEntry& entry : all_built(cache)) {
        auto kernel = kernel_of(cache, entry);
        if (!kernel) continue;
        from_packages.insert(entry.image_id);
        out.push_back(Known{"", std::move(*kernel), 0});
        out.back().bytes =
            bytes_on_disk(entry.folder) + bytes_on_disk(cache.images() / entry.image_id);
    }
    for (const ImageEntry& image : cache.all_images()) {
        if (from_packages.contains(image.id)) continue;
        out.push_back(Known{"", kernel_of(image), bytes_on_disk(cache.images() / image.id)});
    }
    return out;
}

Options without_network(const Options& options) {
    Options out = options;
    out.offline = true;
    out.progress = {};
    return out;
}

Result<Known> known_offline(std::string_view spec, const Options& options, const Cache& cache) {
    MANO_ASSIGN(Kernel kernel, resolve(spec, without_network(options)));
    Known out;
    out.kernel = std::move(kernel);
    // Nobody asked for the network here, so that it wasn't used isn't worth a note.
    std::erase(out.kernel.provenance.notes, kOfflineNote);
    out.bytes = bytes_on_disk(cache.images() / out.kernel.id);
    if (!out.kernel.provenance.packages.empty()) {
        for (const DebianEntry& entry : cache.all_debian()) {
            if (entry.image_id == out.kernel.id) out.bytes += bytes_on_disk(entry.folder);
        }
    }
    if (out.kernel.devel) out.bytes += bytes_on_disk(out.kernel.devel->parent_path());
    return out;
}

// A named kernel as it is now. One that can't be had at the moment is still listed, with the
// reason.
Known named(const std::string& name, const std::string& spec, const Options& options,
            const Cache& cache) {
    Known out;
    if (auto known = known_offline(spec, options, cache)) {
        out = std::move(*known);
    } else {
        out.kernel.provenance.spec = spec;
        out.kernel.provenance.notes.push_back(known.error().text());
    }
    out.name = name;
    return out;
}

}  // namespace

Result<std::vector<Known>> list(const Options& options) {
    try {
        const Cache cache(options.cache);
        MANO_ASSIGN(const auto names, read_names(cache));
        std::vector<Known> out;
        for (const auto& [name, spec] : names)
            out.push_back(named(name, spec, options, cache));
        for (Known& one : cached(cache)) {
            const bool has_name = std::any_of(out.begin(), out.end(), [&](const Known& other) {
                return !other.name.empty() && other.kernel.id == one.kernel.id &&
                       other.kernel.provenance.exact_spec == one.kernel.provenance.exact_spec;
            });
            if (!has_name) out.push_back(std::move(one));
        }
        return out;
    } catch (const std::exception& error) {
        return fail(Code::environment, "{}: {}", options.cache.string(), error.what());
    }
}

Result<Kernel> add(std::string_view name, std::string_view spec, const Options& options) {
    MANO_TRY(check_name(name));
    MANO_ASSIGN(Kernel kernel, resolve(spec, options));
    const Cache cache(options.cache);
    MANO_ASSIGN(const Fd held, cache.lock("names", options));
    MANO_ASSIGN(auto names, read_names(cache));
    // A path means the same in every folder only when it is absolute; a name of a name is its SPEC.
    const bool floating = kernel.provenance.spec.starts_with("debian:");
    names[std::string(name)] = floating ? kernel.provenance.spec : kernel.provenance.exact_spec;
    MANO_TRY(write_names(cache, names));
    return kernel;
}

Result<Known> show(std::string_view name_or_spec, const Options& options) {
    const Cache cache(options.cache);
    MANO_ASSIGN(const auto names, read_names(cache));
    if (const auto found = names.find(std::string(name_or_spec)); found != names.end()) {
        return named(found->first, found->second, options, cache);
    }
    if (name_or_spec.size() >= 8) {
        for (Known& one : cached(cache)) {
            if (one.kernel.id.starts_with(name_or_spec)) return std::move(one);
        }
    }
    return known_offline(name_or_spec, options, cache);
}

namespace {

Status remove_folder(const fs::path& folder) {
    std::error_code error;
    fs::remove_all(folder, error);
    if (error) return fail(Code::environment, "{}: {}", folder.string(), error.message());
    return {};
}

Status remove_files(const Cache& cache, const std::string& id, const Options& options) {
    MANO_ASSIGN(const Fd held, cache.lock("image-" + id, options));
    MANO_ASSIGN(const WorkFolder work, WorkFolder::make(cache));
    // Out of sight in one step, then gone: nobody sees half a kernel.
    const auto vanish = [&](const fs::path& folder) -> Status {
        std::error_code error;
        fs::rename(folder, work.path() / folder.filename(), error);
        if (error) return fail(Code::environment, "{}: {}", folder.string(), error.message());
        return remove_folder(work.path() / folder.filename());
    };
    for (const DebianEntry& entry : cache.all_debian()) {
        if (entry.image_id == id) MANO_TRY(vanish(entry.folder));
    }
    for (const BuiltEntry& entry : all_built(cache)) {
        if (entry.image_id == id) MANO_TRY(vanish(entry.folder));
    }
    return vanish(cache.images() / id);
}

}  // namespace

Status remove(std::string_view name_or_spec, const Options& options) {
    const Cache cache(options.cache);
    MANO_ASSIGN(auto names, read_names(cache));
    if (names.contains(std::string(name_or_spec))) {
        MANO_ASSIGN(const Fd held, cache.lock("names", options));
        MANO_ASSIGN(names, read_names(cache));
        names.erase(std::string(name_or_spec));
        return write_names(cache, names);
    }
    MANO_ASSIGN(const Known known, show(name_or_spec, options));
    return remove_files(cache, known.kernel.id, options);
}

}  // namespace mano::kernels
