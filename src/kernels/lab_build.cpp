// SPDX-License-Identifier: GPL-2.0-or-later
#include "kernels/lab_build.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>

#include "base/digest.h"
#include "base/process.h"
#include "kernels/devel.h"
#include "kernels/make_run.h"
#include "kernels/modules.h"
#include "kernels/resolve.h"
#include "kernels/shipped.h"
#include "kernels/workshop.h"

namespace mano::kernels {

namespace fs = std::filesystem;

namespace {

// Changes when this folder builds otherwise than before, so that old kernels aren't taken for new.
constexpr int kRecipe = 1;
// Objects of a lab kernel 7.3, until a build here has counted its own.
constexpr std::uint64_t kUsualObjects = 1334;
// A placebo of whose functions a smaller share moved would be none.
constexpr double kLeastMoved = 0.8;
constexpr std::size_t kLogLimit = std::size_t{64} << 20;

bool is_file(const fs::path& path) {
    std::error_code error;
    return fs::is_regular_file(path, error);
}

// One build: the workshop is this process's, the object folder is one for this configuration and
// compiler.
class Build {
  public:
    Build(const LabInputs& inputs, const Cache& cache, const Options& options, Workshop& workshop)
        : inputs_(inputs),
          cache_(cache),
          options_(options),
          workshop_(workshop),
          wanted_(settings_text(inputs.config.settings)) {
        const std::string name =
            "obj-" + sha256(wanted_ + inputs.compiler + inputs.cc).substr(0, 12);
        object_ = workshop.folder() / name;
        log_ = workshop.folder() / (name + ".log");
        unclean_ = workshop.folder() / (name + ".unclean");
    }

    Result<BuiltEntry> run();

  private:
    Status change_source();
    Status mend();
    Status configure();
    Status verify(const std::string& config) const;
    Status compile();
    Status list_symbols() const;
    std::uint64_t expected() const;
    Result<BuiltEntry> collect();
    Status collect_modules(const fs::path& into) const;
    Status check_placebo(BuiltEntry& entry) const;
    Make make(std::vector<std::string> arguments) const;

    const LabInputs& inputs_;
    const Cache& cache_;
    const Options& options_;
    Workshop& workshop_;
    std::string wanted_;
    fs::path object_, log_, unclean_;
    std::vector<std::string> written_;
    MakeResult made_;
};

Make Build::make(std::vector<std::string> arguments) const {
    Make out;
    out.folder = workshop_.tree();
    out.arguments = std::move(arguments);
    out.arguments.push_back("O=" + object_.string());
    out.log = log_;
    out.cc = inputs_.cc;
    out.ccache = cache_.ccache();
    out.relative_to = cache_.root();
    out.what = "building " + inputs_.spec.text();
    return out;
}

// Patches and placebo into the tree.
Status Build::change_source() {
    const ReadFile read = [this](const std::string& path) { return workshop_.pristine(path); };
    std::vector<Patch> all;
    for (const PatchFile& file : inputs_.patches)
        all.insert(all.end(), file.patches.begin(), file.patches.end());
    MANO_ASSIGN(Changes changes, apply_patches(all, read));
    if (inputs_.spec.placebo != 0) {
        const ReadFile patched =
            [&](const std::string& path) -> Result<std::optional<std::string>> {
            const auto change = changes.find(path);
            return change != changes.end() ? change->second.bytes : read(path);
        };
        MANO_ASSIGN(Changes placebo, placebo_changes(inputs_.spec.placebo, patched));
        for (auto& [path, file] : placebo)
            changes[path] = std::move(file);
    }
    MANO_ASSIGN(written_, workshop_.apply(changes));
    return {};
}

// A build that was killed can leave half an object that looks whole to make. What it compiled is in
// the compiler cache.
Status Build::mend() {
    if (is_file(unclean_)) {
        std::error_code error;
        fs::remove_all(object_, error);
        if (error) return fail(Code::environment, "{}: {}", object_.string(), error.message());
    }
    MANO_TRY(make_folders(object_));
    return write_file_atomic(unclean_, "");
}

Status Build::configure() {
    const fs::path wanted = object_ / "wanted.config";
    const fs::path verified = object_ / "verified.config";
    const bool kconfig_changed =
        std::any_of(written_.begin(), written_.end(), [](const std::string& path) {
            return fs::path(path).filename().string().starts_with("Kconfig");
        });
    const auto before = read_file(verified);
    if (before && *before == wanted_ && !kconfig_changed && is_file(object_ / ".config")) return {};
    std::error_code ignored;
    fs::remove(verified, ignored);
    MANO_TRY(write_file_atomic(wanted, wanted_));
    const auto done =
        run_make(make({"allnoconfig", "KCONFIG_ALLCONFIG=" + wanted.string()}), options_);
    if (!done) return tl::unexpected<Error>(done.error());
    MANO_ASSIGN(const std::string config, read_file(object_ / ".config"));
    MANO_TRY(verify(config));
    return write_file_atomic(verified, wanted_);
}

Status Build::verify(const std::string& config) const {
    const Config got = parse_config(config);
    const auto all_met = std::all_of(
        inputs_.config.settings.begin(), inputs_.config.settings.end(), [&](const Setting& one) {
            const auto found = got.find(one.option);
            return one.value != "n" && found != got.end() && found->second == one.value;
        });
    if (all_met) return {};
    const Kconfig kconfig = Kconfig::read(workshop_.tree());
    const auto unmet = unmet_settings(inputs_.config.settings, got, kconfig);
    if (unmet.empty()) return {};
    return fail(Code::invalid, "{} setting{} of its configuration didn't stick:\n  {}",
                unmet.size(), unmet.size() == 1 ? "" : "s", fmt::join(unmet, "\n  "));
}

// How many objects make will compile: those that name a changed file among what they were made of,
// or, in a fresh folder, as many as the last time.
std::uint64_t Build::expected() const {
    std::uint64_t there = 0;
    std::uint64_t affected = 0;
    std::error_code error;
    for (fs::recursive_directory_iterator it(object_, error), end; !error && it != end;
         it.increment(error)) {
        const std::string name = it->path().filename().string();
        if (!name.ends_with(".o.cmd")) continue;
        ++there;
        if (written_.empty()) continue;
        const auto text = read_file(it->path(), std::size_t{16} << 20);
        if (!text) continue;
        affected += std::any_of(written_.begin(), written_.end(), [&](const std::string& path) {
            return text->find(path) != std::string::npos;
        });
    }
    std::uint64_t usual = kUsualObjects;
    if (const auto text = read_file(workshop_.folder() / "objects", 64)) {
        std::from_chars(text->data(), text->data() + text->size(), usual);
    }
    if (is_file(object_ / "complete")) return affected;
    return usual > there ? usual - there : 1;
}

Status Build::compile() {
    Make build = make({"bzImage", "modules"});
    build.expected = expected();
    build.log_is_new = false;
    std::error_code ignored;
    const bool fresh = !is_file(object_ / "complete") && !is_file(object_ / "vmlinux.o");
    MANO_ASSIGN(made_, run_make(build, options_));
    MANO_TRY(write_file_atomic(object_ / "complete", ""));
    if (fresh) {
        MANO_TRY(
            write_file_atomic(workshop_.folder() / "objects", fmt::format("{}", made_.objects)));
    }
    return {};
}

// Addresses and sizes of all symbols of the kernel, for the comparison of layouts and for whoever
// wants names for addresses.
Status Build::list_symbols() const {
    MANO_ASSIGN(const Output output, run_program({"nm", "-n", "-S", (object_ / "vmlinux").string()},
                                                 {}, std::size_t{256} << 20, options_.stop));
    if (!output.exit.ok()) {
        return fail(Code::environment, "nm of the kernel ended with {}: {}", output.exit.text(),
                    output.err.substr(0, 300));
    }
    return write_file_atomic(object_ / "symbols", output.out);
}

Status copy_to(const fs::path& from, const fs::path& to) {
    std::error_code error;
    fs::create_directories(to.parent_path(), error);
    fs::copy_file(from, to, fs::copy_options::overwrite_existing, error);
    if (error) return fail(Code::environment, "{}: {}", to.string(), error.message());
    return {};
}

// The modules that the user's configuration asked for, as modules.order lists them.
Status Build::collect_modules(const fs::path& into) const {
    const auto order = read_file(object_ / "modules.order", kLogLimit);
    std::string_view rest = order ? std::string_view(*order) : std::string_view();
    bool any = false;
    while (!rest.empty()) {
        const std::size_t end = std::min(rest.find('\n'), rest.size());
        fs::path path(rest.substr(0, end));
        rest.remove_prefix(std::min(end + 1, rest.size()));
        if (path.empty()) continue;
        path.replace_extension(".ko");  // newer kernels list the objects
        if (!safe_path(path.string()) || !is_file(object_ / path)) continue;
        MANO_TRY(copy_to(object_ / path, into / path));
        any = true;
    }
    if (any && is_file(object_ / "modules.builtin")) {
        MANO_TRY(copy_to(object_ / "modules.builtin", into / "modules.builtin"));
    }
    return {};
}

Status Build::check_placebo(BuiltEntry& entry) const {
    const auto base = built_entry(cache_, inputs_.base().key());
    if (!base) return fail(Code::internal, "the placebo's base isn't in the cache");
    MANO_ASSIGN(const std::string before, read_file(base->symbols()));
    MANO_ASSIGN(const std::string after, read_file(object_ / "symbols"));
    const LayoutDifference found = compare_layout(before, after);
    const double least = kLeastMoved * static_cast<double>(found.functions);
    if (static_cast<double>(found.moved_functions) < least || found.differing_count != 0) {
        return fail(Code::internal, "the placebo isn't a change of layout alone: {}", found.text());
    }
    entry.notes.push_back(fmt::format("Placebo {} of {}: {}", inputs_.spec.placebo,
                                      base->image_id.substr(0, 12), found.text()));
    return {};
}

Result<BuiltEntry> Build::collect() {
    const fs::path image = object_ / "arch/x86/boot/bzImage";
    const auto bytes = read_file(image);
    if (!bytes) return wrap(bytes.error(), "make was content, but left no kernel");
    MANO_TRY(list_symbols());
    BuiltEntry entry;
    if (inputs_.spec.placebo != 0) MANO_TRY(check_placebo(entry));
    auto stored = cache_.store_image(*bytes, inputs_.exact_spec, options_);
    if (!stored) return wrap(stored.error(), "the kernel built from {}", inputs_.spec.text());
    entry.key = inputs_.key();
    entry.inputs = inputs_.inputs();
    entry.workshop = workshop_.folder().filename().string();
    entry.image_id = stored->id;
    entry.spec = inputs_.exact_spec;
    entry.release = stored->release;
    entry.compiler = inputs_.compiler;
    entry.cc = inputs_.cc;
    entry.source = inputs_.source.described;
    entry.seconds = static_cast<std::uint64_t>(made_.seconds);
    entry.objects = made_.objects;
    entry.notes.insert(entry.notes.end(), inputs_.source.notes.begin(), inputs_.source.notes.end());
    for (const std::string& note : inputs_.config.notes)
        entry.notes.push_back(note);
    if (inputs_.source.package) {
        entry.packages[inputs_.source.package->name] = inputs_.source.package->version;
        entry.sha256["source"] = inputs_.source.package->sha256;
    } else {
        entry.sha256["source"] = inputs_.source.identity;
    }
    MANO_ASSIGN(const WorkFolder work, WorkFolder::make(cache_));
    const fs::path folder = work.path() / "built";
    MANO_TRY(copy_to(object_ / ".config", folder / "config"));
    MANO_TRY(copy_to(object_ / "symbols", folder / "symbols"));
    MANO_TRY(copy_to(log_, folder / "build.log"));
    MANO_TRY(write_file_atomic(folder / "wanted.config", wanted_));
    for (std::size_t i = 0; i < inputs_.patches.size(); ++i) {
        const PatchFile& patch = inputs_.patches[i];
        MANO_TRY(write_file_atomic(folder / "patches" / fmt::format("{:02}-{}", i + 1, patch.name),
                                   patch.bytes));
        entry.sha256[fmt::format("patch {}: {}", i + 1, patch.name)] = patch.sha256;
    }
    MANO_TRY(collect_modules(folder / "modules"));
    MANO_TRY(make_devel(workshop_.tree(), object_, folder / "devel"));
    MANO_ASSIGN(entry.sha256["config"], sha256_file(folder / "config"));
    if (const auto digest = modules_digest(folder / "modules")) entry.sha256["modules"] = *digest;
    return store_built(cache_, folder, entry);
}

Result<BuiltEntry> Build::run() {
    MANO_TRY(change_source());
    MANO_TRY(mend());
    const auto steps = [&]() -> Status {
        MANO_TRY(configure());
        return compile();
    };
    const Status done = steps();
    std::error_code ignored;
    if (!done && done.error().code == Code::environment) {
        // Nothing that was written on a full disk is worth keeping, and the space is wanted.
        fs::remove_all(object_, ignored);
    }
    fs::remove(unclean_, ignored);
    if (!done) return tl::unexpected<Error>(done.error());
    touch(workshop_.folder());
    return collect();
}

}  // namespace

std::string LabInputs::inputs() const {
    std::string text = fmt::format("recipe {}\nsource {}\n", kRecipe, source.identity);
    for (const PatchFile& patch : patches)
        text += "patch " + patch.sha256 + "\n";
    text += fmt::format("placebo {}\n", spec.placebo);
    return sha256(text + settings_text(config.settings));
}

std::string LabInputs::key() const {
    return sha256(fmt::format("inputs {}\ncc {}\ncompiler {}\n", inputs(), cc, compiler));
}

LabInputs LabInputs::base() const {
    LabInputs out = *this;
    out.spec.placebo = 0;
    const std::size_t tail = out.exact_spec.rfind(",placebo");
    if (spec.placebo != 0 && tail != std::string::npos) out.exact_spec.erase(tail);
    return out;
}

Result<BuiltEntry> build_lab(const LabInputs& inputs, const Cache& cache, const Options& options) {
    if (const auto missing = missing_build_packages(); !missing.empty()) {
        return fail(Code::environment,
                    "building a kernel needs programs that aren't here: apt-get install {}",
                    fmt::join(missing, " "));
    }
    if (inputs.spec.placebo != 0 && !built_entry(cache, inputs.base().key())) {
        // What the placebo is compared with.
        const auto base = build_lab(inputs.base(), cache, options);
        if (!base) return tl::unexpected<Error>(base.error());
    }
    MANO_ASSIGN(Workshop workshop, Workshop::open(cache, inputs.source.workshop, options));
    // Another process may have done it while this one waited.
    if (auto there = built_entry(cache, inputs.key()); there && cache.image(there->image_id)) {
        return std::move(*there);
    }
    MANO_TRY(put_source(workshop, inputs.source, cache, options));
    Build build(inputs, cache, options, workshop);
    return build.run();
}

}  // namespace mano::kernels
