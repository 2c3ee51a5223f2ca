// SPDX-License-Identifier: GPL-2.0-or-later
// "source:…" and "tree:…": what is asked for, what is in the cache, and the build in between.
#include <algorithm>
#include <cstdlib>

#include "base/digest.h"
#include "kernels/lab_build.h"
#include "kernels/make_run.h"
#include "kernels/resolve.h"
#include "kernels/shipped.h"
#include "kernels/unpack.h"

namespace mano::kernels {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t kMaxPatch = std::size_t{64} << 20;
constexpr std::size_t kMaxFragment = std::size_t{1} << 20;

// A path as written, a file of the working folder, or one that ships with the program.
Result<PatchFile> read_patch(const std::string& written) {
    PatchFile out;
    const fs::path path(written);
    out.name = path.filename().string();
    std::error_code error;
    const auto shipped = shipped_file("patches/" + written);
    if (fs::is_directory(path, error)) {
        return fail(Code::invalid, "{}: a directory; a patch file is wanted", written);
    }
    if (fs::exists(path, error)) {
        MANO_ASSIGN(out.bytes, read_file(path, kMaxPatch));
        out.exact = fs::absolute(path, error).lexically_normal().string();
    } else if (shipped) {
        out.bytes = *shipped;
        out.exact = written;
    } else {
        const std::vector<std::string> names = shipped_names("patches");
        return fail(
            Code::not_found, "there is no patch '{}'{}", written,
            names.empty() || written.find('/') != std::string::npos
                ? ""
                : fmt::format("; those that ship with Manometer are {}", fmt::join(names, ", ")));
    }
    out.sha256 = sha256(out.bytes);
    std::string text = out.bytes;
    if (text.starts_with("\x1f\x8b") || text.starts_with("\xfd"
                                                         "7zXZ")) {
        MANO_ASSIGN(text, decompress(out.bytes, kMaxPatch, written));
    }
    MANO_ASSIGN(out.patches, parse_patches(text, written));
    return out;
}

// Base, the named ones, the user's: in this order.
Result<Merged> read_config(const LabSpec& spec, Series series) {
    std::vector<std::vector<Setting>> fragments;
    std::vector<std::string> shipped = {"base"};
    shipped.insert(shipped.end(), spec.fragments.begin(), spec.fragments.end());
    for (const std::string& name : shipped) {
        const std::string file = name + ".config";
        const auto text = shipped_file("config/" + file);
        if (!text) return fail(Code::internal, "the fragment {} isn't in this program", file);
        MANO_ASSIGN(auto settings, parse_fragment(*text, file, series));
        fragments.push_back(std::move(settings));
    }
    for (const fs::path& path : spec.configs) {
        const auto text = read_file(path, kMaxFragment);
        if (!text) return wrap(text.error(), "config={}", path.string());
        MANO_ASSIGN(auto settings, parse_fragment(*text, path.string(), series));
        if (settings.empty()) {
            return fail(Code::invalid, "config={}: sets nothing for Linux {}", path.string(),
                        series.text());
        }
        fragments.push_back(std::move(settings));
    }
    Merged merged = merge_settings(fragments);
    // That a fragment of ours replaces a line of the base is what it is for.
    std::erase_if(merged.notes, [&](const std::string& note) {
        return std::any_of(shipped.begin(), shipped.end(), [&](const std::string& name) {
            return note.starts_with(name + ".config:");
        });
    });
    return merged;
}

// The SPEC that gives this kernel again: version and paths in full.
std::string exact_spec(const LabInputs& inputs) {
    LabSpec spec = inputs.spec;
    spec.patches.clear();
    for (const PatchFile& patch : inputs.patches)
        spec.patches.push_back(patch.exact);
    for (fs::path& config : spec.configs) {
        std::error_code error;
        config = fs::absolute(config, error).lexically_normal();
    }
    const std::string text = spec.text();
    // "source:VERSION" or "tree:DIR@REV" goes, what follows stays.
    LabSpec bare;
    bare.tree = spec.tree;
    bare.version = spec.version;
    bare.folder = spec.folder;
    bare.revision = spec.revision;
    return inputs.source.exact + text.substr(bare.text().size());
}

struct Wanted {
    LabSpec spec;
    std::vector<PatchFile> patches;
    std::string cc;
    std::optional<std::string> compiler;  // nullopt: it isn't here
};

Result<LabInputs> inputs_for(const Wanted& wanted, const LabSource& source) {
    LabInputs out;
    out.spec = wanted.spec;
    out.source = source;
    out.patches = wanted.patches;
    out.cc = wanted.cc;
    out.compiler = wanted.compiler.value_or("");
    MANO_ASSIGN(out.config, read_config(wanted.spec, source.series));
    out.exact_spec = exact_spec(out);
    return out;
}

std::optional<BuiltEntry> cached(const Cache& cache, const Wanted& wanted,
                                 const LabInputs& inputs) {
    if (wanted.compiler) {
        auto entry = built_entry(cache, inputs.key());
        if (entry && cache.image(entry->image_id)) return entry;
        return std::nullopt;
    }
    // No compiler here: what another one has built of the same sources is as good as it gets,
    // unless it was asked for by name.
    if (!wanted.spec.compiler.empty()) return std::nullopt;
    for (BuiltEntry& entry : all_built(cache)) {
        if (entry.inputs == inputs.inputs() && cache.image(entry.image_id)) return std::move(entry);
    }
    return std::nullopt;
}

Result<Kernel> use(const Cache& cache, const BuiltEntry& entry, const LabInputs& inputs,
                   std::string_view spec) {
    auto kernel = kernel_of(cache, entry);
    if (!kernel) return fail(Code::corrupt, "{}: its image is missing", entry.folder.string());
    Provenance& from = kernel->provenance;
    from.spec = spec;
    from.exact_spec = inputs.exact_spec;
    // What is to be said of the source may have changed since the build: uncommitted changes.
    for (const std::string& note : inputs.source.notes) {
        if (std::find(from.notes.begin(), from.notes.end(), note) == from.notes.end()) {
            from.notes.push_back(note);
        }
    }
    touch(entry.folder);
    return std::move(*kernel);
}

}  // namespace

Result<Kernel> resolve_lab(std::string_view spec, const Options& options) {
    Wanted wanted;
    MANO_ASSIGN(wanted.spec, parse_lab_spec(spec));
    for (const std::string& path : wanted.spec.patches) {
        MANO_ASSIGN(PatchFile patch, read_patch(path));
        wanted.patches.push_back(std::move(patch));
    }
    const Cache cache(options.cache);
    MANO_ASSIGN(const std::vector<LabSource> sources, find_sources(wanted.spec, cache, options));
    wanted.cc = wanted.spec.compiler.empty() ? "gcc" : wanted.spec.compiler;
    const auto compiler = compiler_identity(wanted.cc, options);
    if (compiler) {
        wanted.compiler = *compiler;
    } else if (compiler.error().code == Code::interrupted) {
        return tl::unexpected<Error>(compiler.error());
    }
    MANO_ASSIGN(const LabInputs newest, inputs_for(wanted, sources.front()));
    if (const auto entry = cached(cache, wanted, newest)) return use(cache, *entry, newest, spec);
    if (!compiler && !wanted.spec.compiler.empty()) return wrap(compiler.error(), "{}", spec);
    if (options.offline) {
        // An older one that is built here is what a run without the network would use.
        for (std::size_t i = 1; i < sources.size(); ++i) {
            MANO_ASSIGN(const LabInputs older, inputs_for(wanted, sources[i]));
            if (const auto entry = cached(cache, wanted, older)) {
                return use(cache, *entry, older, spec);
            }
        }
        return fail(
            Code::environment,
            "{} isn't built here yet: a run builds it first, or `manometer kernel build {}`", spec,
            spec);
    }
    if (!compiler) return wrap(compiler.error(), "{}", spec);
    const auto entry = build_lab(newest, cache, options);
    if (!entry) return wrap(entry.error(), "{}", spec);
    return use(cache, *entry, newest, spec);
}

}  // namespace mano::kernels
