// SPDX-License-Identifier: GPL-2.0-or-later
// "debian:VERSION[-FLAVOUR]": what is cached, what Debian has, and the way from there to here.
#include <algorithm>
#include <chrono>

#include "base/digest.h"
#include "kernels/apt.h"
#include "kernels/cache.h"
#include "kernels/modules.h"
#include "kernels/resolve.h"
#include "kernels/unpack.h"

namespace mano::kernels {

namespace fs = std::filesystem;

namespace {

constexpr std::chrono::seconds kIndexAge = std::chrono::hours(24);
// After a failed try a cached kernel is used without waiting for the network again.
constexpr std::chrono::seconds kRetryAge = std::chrono::minutes(10);

bool starts(std::string_view& text, std::string_view prefix) {
    if (!text.starts_with(prefix)) return false;
    text.remove_prefix(prefix.size());
    return true;
}

// Where a member of a kernel's packages goes, in all layouts: image and config in boot/ or in
// lib/modules/RELEASE/, with or without usr/ before it.
std::optional<fs::path> place_member(std::string_view member) {
    starts(member, "usr/");
    if (starts(member, "boot/")) {
        if (member.find('/') != std::string_view::npos) return std::nullopt;
        if (member.starts_with("vmlinuz-")) return "bzImage";
        if (member.starts_with("config-")) return "config";
        return std::nullopt;
    }
    if (!starts(member, "lib/modules/")) return std::nullopt;
    const std::size_t slash = member.find('/');
    if (slash == std::string_view::npos) return std::nullopt;
    member.remove_prefix(slash + 1);
    if (member == "vmlinuz") return "bzImage";
    if (member == "config") return "config";
    if (member == "modules.builtin") return "modules/modules.builtin";
    for (const std::string_view ending : {".ko", ".ko.xz", ".ko.zst", ".ko.gz"}) {
        if (member.ends_with(ending)) return fs::path("modules") / member;
    }
    return std::nullopt;
}

// A SPEC that only this kernel matches. The release tells Debian's builds of one upstream version
// apart, but a release candidate has that of the release to come.
std::string exact_spec(const DebianEntry& entry) {
    std::string_view release = entry.release;
    for (const std::string_view tail : {"-amd64", "-cloud", "-rt"}) {
        if (release.ends_with(tail)) release.remove_suffix(tail.size());
    }
    const bool telling = release.find_first_of("+-") != std::string_view::npos;
    return fmt::format("debian:{}-{}", telling ? release : upstream_of(entry.version),
                       entry.flavour);
}

const DebianEntry* best_cached(const std::vector<DebianEntry>& entries, const DebianSpec& wanted) {
    const DebianEntry* best = nullptr;
    for (const DebianEntry& one : entries) {
        if (!matches(wanted, upstream_of(one.version), one.release, one.flavour)) continue;
        if (best == nullptr || newer(one.version, best->version)) best = &one;
    }
    return best;
}

// One package's members into `object`, and its name, version and digest into `entry`.
Status add_package(const Apt& apt, const Package& package, const WorkFolder& work,
                   const fs::path& object, DebianEntry& entry, const Options& options) {
    MANO_ASSIGN(const fs::path file, apt.download(package, work.path(), options));
    if (options.progress) options.progress("unpacking " + package.name, 0, 0);
    MANO_ASSIGN(const std::uint64_t count, extract_deb(file, object, place_member, options.stop));
    if (count == 0) {
        return fail(Code::environment, "{} {} holds nothing of what was expected of it",
                    package.name, package.version);
    }
    entry.packages[package.name] = package.version;
    entry.sha256[package.name] = package.sha256;
    std::error_code ignored;
    fs::remove(file, ignored);  // the space is wanted for what is in it
    return {};
}

void note_missing(const DebianKernel& from, DebianEntry& entry) {
    if (from.whole) return;
    if (!from.modules) {
        entry.notes.push_back(
            fmt::format("Debian's archive doesn't have linux-modules-{} {}, so this kernel has no "
                        "modules here.",
                        from.release, from.image.version));
    }
    if (!from.base) {
        entry.notes.push_back(fmt::format(
            "Debian's archive doesn't have linux-base-{} {}, so this kernel's configuration isn't "
            "known.",
            from.release, from.image.version));
    }
    if (from.candidate) {
        entry.notes.push_back(
            fmt::format("{} is a release candidate: there is no release yet.", from.upstream));
    }
}

Result<DebianEntry> fetch(const Cache& cache, const Apt& apt, const DebianKernel& from,
                          const Options& options) {
    MANO_ASSIGN(const Fd held, cache.lock("package-" + from.image.sha256, options));
    // Another process may have done it while this one waited.
    if (auto there = cache.debian_entry(from.image.sha256)) {
        if (cache.image(there->image_id)) return std::move(*there);
    }
    MANO_ASSIGN(const WorkFolder work, WorkFolder::make(cache));
    const fs::path object = work.path() / "object";
    MANO_TRY(make_folders(object));
    DebianEntry entry;
    entry.key = from.image.sha256;
    entry.release = from.release;
    entry.flavour = from.flavour;
    entry.version = from.image.version;
    note_missing(from, entry);
    MANO_TRY(add_package(apt, from.image, work, object, entry, options));
    for (const auto& companion : {from.modules, from.base}) {
        if (companion) MANO_TRY(add_package(apt, *companion, work, object, entry, options));
    }
    const auto bytes = read_file(object / "bzImage");
    if (!bytes) {
        return fail(Code::environment, "{} {} has no kernel image in it", from.image.name,
                    from.image.version);
    }
    auto image = cache.store_image(*bytes, exact_spec(entry), options);
    if (!image)
        return wrap(image.error(), "the kernel in {} {}", from.image.name, from.image.version);
    entry.image_id = image->id;
    std::error_code ignored;
    fs::remove(object / "bzImage", ignored);
    if (auto digest = sha256_file(object / "config")) entry.sha256["config"] = *digest;
    if (auto digest = modules_digest(object / "modules")) entry.sha256["modules"] = *digest;
    return cache.store_debian(object, entry);
}

struct Search {
    const Cache& cache;
    const Apt& apt;
    const DebianSpec& wanted;
    std::string_view spec;
    const DebianEntry* cached = nullptr;
};

Result<Kernel> use(const Search& search, const DebianEntry& entry, std::string note = {}) {
    auto kernel = kernel_of(search.cache, entry);
    if (!kernel) return fail(Code::corrupt, "{}: its image is missing", entry.folder.string());
    kernel->provenance.spec = search.spec;
    kernel->provenance.exact_spec = exact_spec(entry);
    if (!note.empty()) kernel->provenance.notes.push_back(std::move(note));
    return std::move(*kernel);
}

Result<Kernel> use_cached_anyway(const Search& search, const Error& why) {
    return use(search, *search.cached,
               fmt::format("A newer kernel may match {}; Debian's archive couldn't be asked: {}.",
                           search.spec, why.text()));
}

// Is there reason to ask the network before answering?
bool wants_refresh(const Search& search, const DebianKernel* found) {
    const auto age = search.apt.age();
    if (!age || *age < std::chrono::seconds(0)) return true;
    if (found != nullptr || search.cached != nullptr) return *age > kIndexAge;
    return *age > kRetryAge;  // not in the index: it may have come since
}

bool tried_lately(const Search& search) {
    const auto age = search.apt.since_try();
    return age && *age >= std::chrono::seconds(0) && *age < kRetryAge;
}

Result<Kernel> from_archive(const Search& search, const Options& options) {
    auto packages = search.apt.index();
    std::vector<DebianKernel> kernels = debian_kernels(packages.value_or(std::vector<Package>{}));
    const DebianKernel* found = choose(kernels, search.wanted);
    std::optional<Error> trouble;
    if (wants_refresh(search, found)) {
        if (search.cached != nullptr && tried_lately(search)) {
            trouble = Error{Code::environment, "the last try, a few minutes ago, failed", nullptr};
        } else if (auto done = search.apt.refresh(options); !done) {
            trouble = done.error();
        } else if (*done) {
            trouble = Error{Code::environment, **done, nullptr};
        }
        if (trouble && trouble->code == Code::interrupted) return tl::unexpected(*trouble);
        packages = search.apt.index();
        kernels = debian_kernels(packages.value_or(std::vector<Package>{}));
        found = choose(kernels, search.wanted);
    }
    if (found == nullptr) {
        if (search.cached != nullptr) {
            return trouble ? use_cached_anyway(search, *trouble) : use(search, *search.cached);
        }
        if (trouble) return wrap(*trouble, "{} isn't cached here", search.spec);
        return fail(Code::not_found,
                    "Debian's archive has no kernel {} in the flavour {}; it has: {}",
                    search.wanted.version, search.wanted.flavour,
                    series_of(kernels, search.wanted.flavour));
    }
    if (search.cached != nullptr && !newer(found->image.version, search.cached->version)) {
        return trouble ? use_cached_anyway(search, *trouble) : use(search, *search.cached);
    }
    auto entry = fetch(search.cache, search.apt, *found, options);
    if (entry && !trouble) return use(search, *entry);
    if (entry) {
        return use(search, *entry,
                   fmt::format("Not all of Debian's suites could be asked: {}.", trouble->text()));
    }
    if (search.cached != nullptr && entry.error().code == Code::environment) {
        return use_cached_anyway(search, entry.error());
    }
    return wrap(entry.error(), "{}", search.spec);
}

}  // namespace

std::optional<Kernel> kernel_of(const Cache& cache, const DebianEntry& entry) {
    const auto image = cache.image(entry.image_id);
    if (!image) return std::nullopt;
    Kernel kernel = kernel_of(*image);
    Provenance& from = kernel.provenance;
    from.exact_spec = exact_spec(entry);
    from.spec = from.exact_spec;
    from.packages = entry.packages;
    from.notes.insert(from.notes.end(), entry.notes.begin(), entry.notes.end());
    for (const auto& [file, digest] : entry.sha256)
        from.sha256[file] = digest;
    if (entry.modules) kernel.modules = entry.modules;
    if (entry.config) {
        kernel.config = entry.config;
        if (const auto digest = entry.sha256.find("config"); digest != entry.sha256.end()) {
            from.config_sha256 = digest->second;
        }
    }
    return kernel;
}

Result<Kernel> resolve_debian(std::string_view spec, const Options& options) {
    MANO_ASSIGN(const DebianSpec wanted, parse_debian_spec(spec));
    const Cache cache(options.cache);
    const Apt apt(cache.root() / "apt", options.system_apt);
    std::vector<DebianEntry> entries = cache.all_debian();
    // An entry whose image is damaged or gone counts as not there: fetching it mends it.
    std::erase_if(entries, [&](const DebianEntry& one) { return !cache.image(one.image_id); });
    Search search{cache, apt, wanted, spec, best_cached(entries, wanted)};
    if (search.cached != nullptr && wanted.exact()) return use(search, *search.cached);
    if (options.offline) {
        if (search.cached != nullptr) {
            return use(search, *search.cached, std::string(kOfflineNote));
        }
        return fail(Code::environment,
                    "{} isn't cached here, and the network isn't to be used; 'manometer kernel add "
                    "NAME {}' fetches it",
                    spec, spec);
    }
    return from_archive(search, options);
}

}  // namespace mano::kernels
