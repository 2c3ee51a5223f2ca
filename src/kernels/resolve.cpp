// SPDX-License-Identifier: GPL-2.0-or-later
#include "kernels/resolve.h"

#include <algorithm>
#include <array>

#include "base/digest.h"
#include "kernels/bzimage.h"
#include "kernels/lab_spec.h"
#include "kernels/modules.h"

namespace mano::kernels {

namespace fs = std::filesystem;

namespace {

bool is_there(const fs::path& path) {
    std::error_code ignored;
    return fs::exists(path, ignored);
}

fs::path made_absolute(const fs::path& path) {
    std::error_code error;
    fs::path out = fs::absolute(path, error);
    return error ? path : out.lexically_normal();
}

}  // namespace

std::string PathSpec::text() const {
    std::string out = made_absolute(image).string();
    if (modules) out += ",modules=" + made_absolute(*modules).string();
    if (config) out += ",config=" + made_absolute(*config).string();
    return out;
}

Result<PathSpec> parse_path_spec(std::string_view spec) {
    PathSpec out;
    std::string_view rest = spec;
    // From the right, so that a path may have a comma in it.
    while (true) {
        const std::size_t modules = rest.rfind(",modules=");
        const std::size_t config = rest.rfind(",config=");
        if (modules == std::string_view::npos && config == std::string_view::npos) break;
        const bool is_modules = config == std::string_view::npos ||
                                (modules != std::string_view::npos && modules > config);
        const std::size_t at = is_modules ? modules : config;
        auto& part = is_modules ? out.modules : out.config;
        const std::string_view value = rest.substr(at + (is_modules ? 9 : 8));
        if (value.empty() || part) {
            return fail(Code::invalid, "'{}': '{}' is {}", spec,
                        is_modules ? "modules=" : "config=", part ? "given twice" : "empty");
        }
        part = fs::path(value);
        rest = rest.substr(0, at);
    }
    if (rest.empty()) return fail(Code::invalid, "'{}': the path of a bzImage is missing", spec);
    const std::size_t comma = rest.rfind(',');
    if (comma != std::string_view::npos && !is_there(rest)) {
        return fail(Code::invalid,
                    "'{}': '{}' isn't known; expected PATH[,modules=DIR][,config=FILE]", spec,
                    rest.substr(comma + 1));
    }
    out.image = fs::path(rest);
    return out;
}

namespace {

// The bytes of a file that is meant to be a kernel.
Result<std::string> read_image(const fs::path& path) {
    std::error_code error;
    const fs::file_status status = fs::status(path, error);
    if (status.type() == fs::file_type::not_found) {
        return fail(Code::not_found, "{}: no such file", path.string());
    }
    if (fs::is_directory(status)) {
        const fs::path built = path / "arch/x86/boot/bzImage";
        return fail(Code::invalid, "{} is a directory; the path of a bzImage is wanted{}",
                    path.string(), is_there(built) ? ": " + built.string() : "");
    }
    // A pipe or a device would block, or never end.
    if (error || !fs::is_regular_file(status)) {
        return fail(Code::invalid, "{} is no regular file; the path of a bzImage is wanted",
                    path.string());
    }
    return read_file(path);
}

Status check_parts(const PathSpec& spec) {
    std::error_code ignored;
    if (spec.modules && !fs::is_directory(*spec.modules, ignored)) {
        return fail(is_there(*spec.modules) ? Code::invalid : Code::not_found,
                    "modules={}: {}; the folder with the kernel's *.ko files is wanted",
                    spec.modules->string(),
                    is_there(*spec.modules) ? "no folder" : "no such folder");
    }
    if (spec.config && !fs::is_regular_file(*spec.config, ignored)) {
        return fail(is_there(*spec.config) ? Code::invalid : Code::not_found,
                    "config={}: {}; the kernel's .config is wanted", spec.config->string(),
                    is_there(*spec.config) ? "not a file" : "no such file");
    }
    return {};
}

}  // namespace

Kernel kernel_of(const ImageEntry& entry) {
    Kernel kernel;
    kernel.id = entry.id;
    kernel.image = entry.image;
    kernel.elf = entry.elf;
    kernel.pvh = entry.pvh;
    kernel.config = entry.config;
    Provenance& from = kernel.provenance;
    from.spec = entry.origin;
    from.exact_spec = entry.origin;
    from.release = entry.release;
    from.banner = entry.banner;
    from.compiler = entry.compiler;
    from.sha256["bzImage"] = entry.id;
    from.notes = entry.notes;
    if (entry.config) {
        if (const auto digest = sha256_file(*entry.config)) {
            from.sha256["config"] = *digest;
            from.config_sha256 = *digest;
        }
    }
    return kernel;
}

Result<Kernel> resolve_path(std::string_view spec, const Options& options) {
    MANO_ASSIGN(const PathSpec parts, parse_path_spec(spec));
    MANO_ASSIGN(const std::string bytes, read_image(parts.image));
    if (const auto parsed = parse_bzimage(bytes); !parsed) {
        return fail(parsed.error().code, "{} {}", parts.image.string(), parsed.error().text());
    }
    MANO_TRY(check_parts(parts));
    const Cache cache(options.cache);
    auto image = cache.store_image(bytes, parts.text(), options);
    if (!image) return wrap(image.error(), "{}", parts.image.string());
    Kernel kernel = kernel_of(*image);
    Provenance& from = kernel.provenance;
    from.spec = spec;
    from.exact_spec = parts.text();
    if (parts.config) {
        MANO_ASSIGN(const std::string digest, sha256_file(*parts.config));
        kernel.config = made_absolute(*parts.config);
        from.config_sha256 = digest;
        from.sha256["config"] = digest;
    }
    if (parts.modules) {
        kernel.modules = made_absolute(*parts.modules);
        MANO_ASSIGN(from.sha256["modules"], modules_digest(*kernel.modules));
    }
    if (!kernel.config) {
        from.notes.emplace_back(
            "The kernel's configuration isn't known: give it with ',config=FILE'.");
    }
    return kernel;
}

namespace {

bool looks_like_path(std::string_view spec) {
    if (spec.find('/') != std::string_view::npos || spec.starts_with('.')) return true;
    return is_there(spec.substr(0, spec.find(','))) || is_there(spec);
}

Result<Kernel> resolve_spec(std::string_view spec, const Options& options) {
    if (spec.starts_with("debian:")) return resolve_debian(spec, options);
    if (looks_like_lab_spec(spec)) return resolve_lab(spec, options);
    if (looks_like_path(spec)) return resolve_path(spec, options);
    if (parse_debian_spec(spec)) {
        return fail(Code::not_found,
                    "'{0}' is no name of a kernel and no file; Debian's kernel of that version is "
                    "debian:{0}",
                    spec);
    }
    return fail(Code::not_found,
                "'{}' is no kernel that is known here: expected debian:VERSION[-FLAVOUR], "
                "source:VERSION, tree:DIR, the path of a bzImage, or a name given with 'manometer "
                "kernel add'",
                spec);
}

}  // namespace

Result<Kernel> resolve(std::string_view spec, const Options& options) {
    if (spec.empty()) return fail(Code::invalid, "the kernel's SPEC is empty");
    if (spec.find('\0') != std::string_view::npos || spec.find('\n') != std::string_view::npos) {
        return fail(Code::invalid, "a kernel's SPEC has no line ends in it");
    }
    try {
        const Cache cache(options.cache);
        MANO_ASSIGN(const auto names, read_names(cache));
        const auto named = names.find(std::string(spec));
        return resolve_spec(named != names.end() ? std::string_view(named->second) : spec, options);
    } catch (const std::exception& error) {
        // Out of memory, or a path that can't be converted.
        return fail(Code::environment, "{}: {}", spec, error.what());
    }
}

}  // namespace mano::kernels
