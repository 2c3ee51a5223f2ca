// SPDX-License-Identifier: GPL-2.0-or-later
#include "kernels/module_build.h"

#include "base/digest.h"
#include "kernels/built.h"
#include "kernels/cache.h"
#include "kernels/make_run.h"
#include "kernels/patch.h"
#include "kernels/shipped.h"

namespace mano::kernels {

namespace fs = std::filesystem;

namespace {

constexpr int kRecipe = 1;
constexpr std::size_t kModuleLimit = std::size_t{64} << 20;

std::string key_of(const ModuleSource& source, const std::string& compiler) {
    std::string text =
        fmt::format("recipe {}\nname {}\ncompiler {}\n", kRecipe, source.name, compiler);
    for (const auto& [name, bytes] : source.files)
        text += fmt::format("file {} {}\n", name, sha256(bytes));
    return sha256(text).substr(0, 32);
}

Status check_source(const ModuleSource& source) {
    if (!source.files.contains("Kbuild")) {
        return fail(Code::invalid, "the sources of the module {} have no Kbuild", source.name);
    }
    for (const auto& [name, bytes] : source.files) {
        if (!safe_path(name) || name.find('/') != std::string::npos) {
            return fail(Code::invalid, "the module {}: '{}' is no plain file name", source.name,
                        name);
        }
    }
    return {};
}

Status compile(const Kernel& kernel, const BuiltEntry& entry, const ModuleSource& source,
               const fs::path& folder, const Cache& cache, const Options& options) {
    for (const auto& [name, bytes] : source.files)
        MANO_TRY(write_file_atomic(folder / name, bytes));
    // Outside of the folder that goes away with a failure.
    const fs::path log = entry.folder / ("module-" + source.name + ".log");
    Make make;
    make.folder = *kernel.devel;
    make.arguments = {"M=" + folder.string(), "modules"};
    make.log = log;
    make.cc = entry.cc;
    make.ccache = cache.ccache();
    make.relative_to = cache.root();
    make.what = fmt::format("building the module {} for {}", source.name, entry.release);
    const auto made = run_make(make, options);
    if (!made) return tl::unexpected<Error>(made.error());
    return {};
}

}  // namespace

Result<ModuleSource> shipped_module(std::string_view name) {
    ModuleSource out;
    out.name = name;
    const std::string folder = "modules/" + std::string(name);
    for (const std::string& file : shipped_names(folder))
        out.files[file] = shipped_file(folder + "/" + file).value_or("");
    if (!out.files.empty()) return out;
    return fail(Code::not_found, "no module '{}' ships with Manometer", name);
}

bool can_build_modules(const Kernel& kernel) {
    return kernel.devel.has_value();
}

Result<Module> build_module(const Kernel& kernel, const ModuleSource& source,
                            const Options& options) {
    MANO_TRY(check_source(source));
    if (!kernel.devel) {
        return fail(Code::environment,
                    "{}: the module {} can only be built against a kernel that was built here: use "
                    "source:VERSION or tree:DIR",
                    kernel.provenance.spec, source.name);
    }
    const Cache cache(options.cache);
    const fs::path built = kernel.devel->parent_path();
    const auto entry = built_entry(cache, built.filename().string());
    if (!entry) {
        return fail(Code::corrupt, "{}: not a kernel that was built here", built.string());
    }
    const fs::path extra = entry->folder / "extra";
    const fs::path place = extra / key_of(source, entry->compiler);
    const fs::path file = place / (source.name + ".ko");
    const auto load = [&]() -> Result<Module> {
        MANO_ASSIGN(std::string bytes, read_file(file, kModuleLimit));
        return Module{source.name, std::move(bytes)};
    };
    std::error_code error;
    if (fs::is_regular_file(file, error)) return load();
    if (options.offline) {
        return fail(Code::environment, "the module {} isn't built for {} yet", source.name,
                    entry->release);
    }
    MANO_ASSIGN(const Fd held, cache.lock("module-" + place.string(), options));
    if (fs::is_regular_file(file, error)) return load();
    MANO_ASSIGN(const std::string compiler, compiler_identity(entry->cc, options));
    if (compiler != entry->compiler) {
        return fail(Code::environment,
                    "{} was built by '{}', but here is '{}': build the kernel again (manometer "
                    "kernel build {}) and the module with it",
                    entry->spec, entry->compiler, compiler, entry->spec);
    }
    MANO_ASSIGN(const WorkFolder work, WorkFolder::make(cache));
    const fs::path folder = work.path() / "module";
    MANO_TRY(compile(kernel, *entry, source, folder, cache, options));
    const fs::path made = folder / (source.name + ".ko");
    if (!fs::is_regular_file(made, error)) {
        return fail(Code::invalid, "the Kbuild of the module {} makes no {}.ko", source.name,
                    source.name);
    }
    const fs::path finished = work.path() / "finished";
    MANO_TRY(make_folders(finished));
    fs::rename(made, finished / made.filename(), error);
    if (error) return fail(Code::environment, "{}: {}", made.string(), error.message());
    MANO_TRY(publish(finished, place, [&] { return fs::is_regular_file(file); }));
    return load();
}

}  // namespace mano::kernels
