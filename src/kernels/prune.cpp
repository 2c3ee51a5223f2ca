// SPDX-License-Identifier: GPL-2.0-or-later
#include "kernels/prune.h"

#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <set>

#include "kernels/built.h"
#include "kernels/resolve.h"
#include "kernels/workshop.h"

namespace mano::kernels {

namespace fs = std::filesystem;

namespace {

using Inodes = std::set<std::pair<dev_t, ino_t>>;

// Bytes that removing the folder would free, more or less: a file with several names counts where
// it is met first.
std::uint64_t usage(const fs::path& path, Inodes& seen) {
    std::uint64_t sum = 0;
    std::error_code error;
    for (fs::recursive_directory_iterator it(path, error), end; !error && it != end;
         it.increment(error)) {
        struct stat status = {};
        if (::lstat(it->path().c_str(), &status) != 0) continue;
        if (status.st_nlink > 1 && S_ISREG(status.st_mode) &&
            !seen.emplace(status.st_dev, status.st_ino).second) {
            continue;
        }
        sum += static_cast<std::uint64_t>(status.st_blocks) * 512;
    }
    return sum;
}

struct Candidate {
    std::string what;
    fs::path folder;
    std::string kernel;  // id of the image, for kernels; empty: it only saves time
    std::string lock;    // held while it is worked in
    fs::file_time_type used;
    std::uint64_t bytes = 0;
};

fs::file_time_type used(const fs::path& folder) {
    std::error_code error;
    const auto time = fs::last_write_time(folder, error);
    return error ? fs::file_time_type::min() : time;
}

std::vector<Candidate> workshops(const Cache& cache) {
    std::vector<Candidate> out;
    std::error_code error;
    for (fs::directory_iterator it(cache.build(), error), end; !error && it != end;
         it.increment(error)) {
        const std::string name = it->path().filename().string();
        out.push_back({"source tree and objects " + name, it->path(), "", "build-" + name,
                       used(it->path()), 0});
    }
    if (fs::exists(cache.ccache(), error)) {
        // Its files tell when it was used, its folder doesn't; it is the last to go of its kind.
        out.push_back({"compiler cache", cache.ccache(), "", "",
                       out.empty() ? used(cache.ccache()) : out.back().used, 0});
    }
    return out;
}

std::vector<Candidate> kernels_in(const Cache& cache) {
    std::vector<Candidate> out;
    std::set<std::string> covered;
    for (const BuiltEntry& entry : all_built(cache)) {
        covered.insert(entry.image_id);
        out.push_back(
            {"kernel " + entry.spec, entry.folder, entry.image_id, "", used(entry.folder), 0});
    }
    for (const DebianEntry& entry : cache.all_debian()) {
        covered.insert(entry.image_id);
        out.push_back(
            {"kernel " + entry.release, entry.folder, entry.image_id, "", used(entry.folder), 0});
    }
    for (const ImageEntry& image : cache.all_images()) {
        if (covered.contains(image.id)) continue;
        const fs::path folder = cache.images() / image.id;
        out.push_back({"kernel " + image.origin, folder, image.id, "", used(folder), 0});
    }
    return out;
}

// Images of kernels with a name: they are the user's.
std::set<std::string> named_images(const Cache& cache, const Options& options) {
    std::set<std::string> out;
    Options how = options;
    how.offline = true;
    how.progress = {};
    const auto names = read_names(cache);
    if (!names) return out;
    for (const auto& [name, spec] : *names) {
        if (const auto kernel = resolve(spec, how)) out.insert(kernel->id);
    }
    return out;
}

Status discard(const Candidate& one, const Cache& cache, const Options& options) {
    // Out of sight in one step, then gone.
    MANO_ASSIGN(const WorkFolder work, WorkFolder::make(cache));
    const auto vanish = [&](const fs::path& folder, const char* as) -> Status {
        std::error_code error;
        if (!fs::exists(folder, error)) return {};
        fs::rename(folder, work.path() / as, error);
        if (error) return fail(Code::environment, "{}: {}", folder.string(), error.message());
        return {};
    };
    if (one.kernel.empty()) return vanish(one.folder, "folder");
    MANO_ASSIGN(const Fd held, cache.lock("image-" + one.kernel, options));
    MANO_TRY(vanish(one.folder, "folder"));
    return vanish(cache.images() / one.kernel, "image");
}

}  // namespace

Result<PruneResult> prune(std::uint64_t bytes, bool only_show, const Options& options) {
    const Cache cache(options.cache);
    PruneResult out;
    Inodes seen;
    std::vector<Candidate> all = workshops(cache);
    for (Candidate& one : kernels_in(cache))
        all.push_back(std::move(one));
    std::uint64_t sum = usage(cache.root() / "apt", seen);
    for (Candidate& one : all) {
        one.bytes = usage(one.folder, seen);
        if (!one.kernel.empty() && one.folder.parent_path() != cache.images()) {
            one.bytes += usage(cache.images() / one.kernel, seen);
        }
        sum += one.bytes;
    }
    out.before = sum;
    std::stable_sort(all.begin(), all.end(),
                     [](const Candidate& a, const Candidate& b) { return a.used < b.used; });
    const std::set<std::string> named = named_images(cache, options);
    const auto recent = fs::file_time_type::clock::now() - std::chrono::hours(kKeptHours);
    for (const Candidate& one : all) {
        if (sum <= bytes) break;
        if (!one.kernel.empty() && named.contains(one.kernel)) {
            out.kept.push_back(one.what + " has a name (manometer kernel remove NAME).");
            continue;
        }
        if (!one.kernel.empty() && one.used > recent) {
            out.kept.push_back(one.what + " was used within the last day; a run may need it.");
            continue;
        }
        Fd held;
        if (!one.lock.empty()) {
            Options now = options;
            now.progress = {};
            now.stop = [] { return true; };
            auto lock = cache.lock(one.lock, now);
            if (!lock) {
                out.kept.push_back(one.what + " is in use by a build.");
                continue;
            }
            held = std::move(*lock);
        }
        if (!only_show) MANO_TRY(discard(one, cache, options));
        out.removed.push_back({one.what, one.bytes});
        sum -= std::min(sum, one.bytes);
    }
    out.after = sum;
    if (sum <= bytes) out.kept.clear();
    return out;
}

}  // namespace mano::kernels
