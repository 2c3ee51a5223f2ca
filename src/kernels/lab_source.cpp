// SPDX-License-Identifier: GPL-2.0-or-later
#include "kernels/lab_source.h"

#include <fcntl.h>

#include <algorithm>
#include <chrono>
#include <set>

#include "base/digest.h"
#include "base/process.h"
#include "kernels/apt.h"
#include "kernels/built.h"
#include "kernels/unpack.h"

namespace mano::kernels {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view kPrefix = "linux-source-";
constexpr std::chrono::seconds kIndexAge = std::chrono::hours(24);
constexpr std::chrono::seconds kRetryAge = std::chrono::minutes(10);
// 1.8 GB of source and 0.4 GB of objects, and room for what else writes there.
constexpr std::uint64_t kTreeBytes = std::uint64_t{2500} << 20;

LabSource of_package(const Package& package) {
    LabSource out;
    out.identity = fmt::format("{} {} {}", package.name, package.version, package.sha256);
    out.workshop = package.sha256.substr(0, 16);
    out.described = package.name + " " + package.version;
    out.exact = "source:" + package.version;
    out.series =
        parse_series(std::string_view(package.name).substr(kPrefix.size())).value_or(Series{});
    out.package = package;
    return out;
}

bool source_package(const Package& package) {
    return package.name.starts_with(kPrefix) &&
           parse_series(std::string_view(package.name).substr(kPrefix.size()));
}

// Those of kernels that were built here: known without any index.
std::vector<Package> built_packages(const Cache& cache) {
    std::vector<Package> out;
    for (const BuiltEntry& entry : all_built(cache)) {
        for (const auto& [name, version] : entry.packages) {
            const auto digest = entry.sha256.find("source");
            if (digest == entry.sha256.end()) continue;
            Package package{name, version, 0, digest->second};
            if (source_package(package)) out.push_back(std::move(package));
        }
    }
    return out;
}

std::vector<LabSource> matching(const std::vector<Package>& packages, std::string_view wanted) {
    std::vector<Package> found;
    std::set<std::string> seen;
    for (const Package& package : packages) {
        if (!source_package(package) || !source_matches(wanted, package)) continue;
        if (seen.insert(package.sha256).second) found.push_back(package);
    }
    std::stable_sort(found.begin(), found.end(), [](const Package& a, const Package& b) {
        return newer(a.version, b.version);
    });
    std::vector<LabSource> out;
    for (const Package& package : found)
        out.push_back(of_package(package));
    return out;
}

std::string versions_in(const std::vector<Package>& packages) {
    std::vector<Package> sorted;
    for (const Package& package : packages) {
        if (source_package(package)) sorted.push_back(package);
    }
    std::sort(sorted.begin(), sorted.end(), [](const Package& a, const Package& b) {
        return compare_versions(a.version, b.version) < 0;
    });
    std::string out;
    std::string last;
    for (const Package& package : sorted) {
        const std::string upstream = upstream_of(package.version);
        if (upstream != last) out += (out.empty() ? "" : " ") + upstream;
        last = upstream;
    }
    return out.empty() ? "none" : out;
}

// Should Debian be asked before answering?
bool wants_refresh(const Apt& apt, bool has_sources, bool found, bool exact) {
    const auto age = apt.age();
    if (!age || *age < std::chrono::seconds(0) || !has_sources) return true;
    if (found && exact) return false;
    return *age > (found ? kIndexAge : kRetryAge);
}

Result<std::vector<LabSource>> find_packages(const LabSpec& spec, const Cache& cache,
                                             const Options& options) {
    const Apt apt(cache.root() / "apt", options.system_apt);
    std::vector<Package> packages = apt.index().value_or(std::vector<Package>{});
    const std::vector<Package> built = built_packages(cache);
    packages.insert(packages.end(), built.begin(), built.end());
    std::vector<LabSource> found = matching(packages, spec.version);
    const bool has_sources = std::any_of(packages.begin(), packages.end(), source_package);
    const bool exact = spec.version.find('-') != std::string::npos;
    std::string note;
    if (!options.offline && wants_refresh(apt, has_sources, !found.empty(), exact)) {
        const auto done = apt.refresh(options);
        if (!done && (done.error().code == Code::interrupted || found.empty())) {
            return wrap(done.error(), "source:{}", spec.version);
        }
        if (!done) {
            note = fmt::format("A newer source may match; Debian's archive couldn't be asked: {}.",
                               done.error().text());
        } else if (*done) {
            note = fmt::format("Not all of Debian's suites could be asked: {}.", **done);
        }
        packages = apt.index().value_or(std::vector<Package>{});
        packages.insert(packages.end(), built.begin(), built.end());
        found = matching(packages, spec.version);
    }
    if (found.empty()) {
        return fail(options.offline ? Code::environment : Code::not_found,
                    "{} has no kernel source {}; it has: {}",
                    options.offline ? "the package index that is cached here" : "Debian's archive",
                    spec.version, versions_in(packages));
    }
    if (!note.empty()) {
        for (LabSource& one : found)
            one.notes.push_back(note);
    }
    return found;
}

// VERSION and PATCHLEVEL of the revision's Makefile.
Result<Series> series_of(const GitRevision& git, const Options& options) {
    SpawnOptions spawn;
    spawn.folder = git.folder;
    spawn.environment = {"LC_ALL=C"};
    MANO_ASSIGN(const Output output, run_program({"git", "show", git.commit + ":Makefile"}, spawn,
                                                 kReadLimit, options.stop));
    const auto field = [&](std::string_view name) -> std::string {
        const std::string key = std::string(name) + " = ";
        std::size_t at = output.out.starts_with(key) ? 0 : output.out.find("\n" + key);
        if (at == std::string::npos) return "";
        at = output.out.find(key, at) + key.size();
        return output.out.substr(at, output.out.find('\n', at) - at);
    };
    const auto series = parse_series(field("VERSION") + "." + field("PATCHLEVEL"));
    if (!output.exit.ok() || !series) {
        return fail(Code::invalid, "{}: the Makefile of {} names no kernel version",
                    git.folder.string(), git.described);
    }
    return *series;
}

Result<LabSource> find_git(const LabSpec& spec, const Options& options) {
    MANO_ASSIGN(const TempFolder scratch, TempFolder::make(fs::temp_directory_path(), "mano-git-"));
    MANO_ASSIGN(GitRevision git,
                find_revision(spec.folder, spec.revision, scratch.path(), options));
    LabSource out;
    MANO_ASSIGN(out.series, series_of(git, options));
    out.identity = "git-tree " + git.tree;
    out.workshop = "git-" + sha256(git.git_dir.string()).substr(0, 12);
    out.described = fmt::format("{} of {}", git.described, git.folder.string());
    out.exact = fmt::format("tree:{}@{}", git.folder.string(), git.commit);
    out.notes = git.notes;
    out.git = std::move(git);
    return out;
}

Status unpack_package(const LabSource& source, const Cache& cache, const Options& options,
                      const fs::path& folder) {
    const Package& package = *source.package;
    const Apt apt(cache.root() / "apt", options.system_apt);
    MANO_ASSIGN(const WorkFolder work, WorkFolder::make(cache));
    MANO_ASSIGN(const fs::path deb, apt.download(package, work.path(), options));
    const auto place = [](std::string_view member) -> std::optional<fs::path> {
        const bool wanted = member.starts_with("usr/src/linux-source-") &&
                            member.find(".tar") != std::string_view::npos;
        return wanted ? std::optional<fs::path>("source.tar") : std::nullopt;
    };
    MANO_ASSIGN(const std::uint64_t count, extract_deb(deb, work.path(), place, options.stop));
    if (count != 1) {
        return fail(Code::environment, "{} has no source of the kernel in it", source.described);
    }
    std::error_code ignored;
    fs::remove(deb, ignored);
    const fs::path archive = work.path() / "source.tar";
    const std::uint64_t size = fs::file_size(archive, ignored);
    MANO_ASSIGN(const Fd fd, open_file(archive, O_RDONLY));
    TreeSource tree;
    tree.fd = fd.get();
    tree.what = source.described;
    tree.strip = true;
    tree.progress = [&](std::uint64_t done) {
        if (options.progress) options.progress("unpacking " + package.name, done, size);
    };
    const auto unpacked = extract_tree(tree, folder, options.stop);
    if (!unpacked) return tl::unexpected<Error>(unpacked.error());
    return {};
}

}  // namespace

bool source_matches(std::string_view wanted, const Package& package) {
    if (package.version == wanted) return true;
    const std::string upstream = upstream_of(package.version);
    if (upstream == wanted) return true;
    // A release candidate is only meant when it is named, or by "7.4" as long as it is all there is
    // (newer() puts releases first).
    return upstream.size() > wanted.size() && upstream.starts_with(wanted) &&
           (upstream[wanted.size()] == '.' || upstream[wanted.size()] == '~');
}

Result<std::vector<LabSource>> find_sources(const LabSpec& spec, const Cache& cache,
                                            const Options& options) {
    if (!spec.tree) return find_packages(spec, cache, options);
    MANO_ASSIGN(LabSource source, find_git(spec, options));
    return std::vector<LabSource>{std::move(source)};
}

Status put_source(Workshop& workshop, const LabSource& source, const Cache& cache,
                  const Options& options) {
    if (workshop.source() == source.identity) return {};
    std::error_code error;
    const fs::space_info space = fs::space(workshop.folder(), error);
    if (!error && workshop.source().empty() && space.available < kTreeBytes) {
        return fail(Code::environment,
                    "{}: {} MB are free, but the source of a kernel and its objects take {} MB: "
                    "free some space (`manometer kernel prune` empties the cache), or choose "
                    "another place with XDG_CACHE_HOME",
                    workshop.folder().string(), space.available >> 20U, kTreeBytes >> 20U);
    }
    if (source.git) {
        MANO_ASSIGN(const WorkFolder scratch, WorkFolder::make(cache));
        return checkout(workshop, *source.git, scratch.path(), options);
    }
    return workshop.fill(source.identity, [&](const fs::path& folder) {
        return unpack_package(source, cache, options, folder);
    });
}

}  // namespace mano::kernels
