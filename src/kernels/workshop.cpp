// SPDX-License-Identifier: GPL-2.0-or-later
#include "kernels/workshop.h"

#include <sys/stat.h>

#include <nlohmann/json.hpp>

namespace mano::kernels {

namespace fs = std::filesystem;
using nlohmann::json;

namespace {

constexpr int kFormat = 1;
constexpr std::size_t kMaxSource = std::size_t{64} << 20;  // bytes of one source file

// Is every part of the path above the last one a real folder (or missing)?
bool through_link(const fs::path& root, const std::string& path) {
    fs::path at = root;
    for (const fs::path& part : fs::path(path).parent_path()) {
        at /= part;
        std::error_code error;
        if (fs::is_symlink(fs::symlink_status(at, error))) return true;
    }
    return false;
}

bool regular(const fs::path& path) {
    std::error_code error;
    return fs::is_regular_file(fs::symlink_status(path, error));
}

bool executable(const fs::path& path) {
    struct stat status = {};
    return ::stat(path.c_str(), &status) == 0 && (status.st_mode & S_IXUSR) != 0;
}

Status discard(const fs::path& path) {
    std::error_code error;
    fs::remove_all(path, error);
    if (error) return fail(Code::environment, "{}: {}", path.string(), error.message());
    return {};
}

Status move_to(const fs::path& from, const fs::path& to) {
    std::error_code error;
    fs::rename(from, to, error);
    if (error) return fail(Code::environment, "{}: {}", to.string(), error.message());
    return {};
}

}  // namespace

Result<Workshop> Workshop::open(const Cache& cache, std::string_view name, const Options& options) {
    Workshop out;
    out.folder_ = cache.build() / name;
    MANO_ASSIGN(out.lock_, cache.lock(fmt::format("build-{}", name), options));
    MANO_TRY(make_folders(out.folder_));
    const auto text = read_file(out.folder_ / "state.json", kMaxSource);
    if (!text) return out;
    const json value = json::parse(*text, nullptr, false);
    try {
        if (value.at("format").get<int>() != kFormat) return out;
        for (const auto& [path, was] : value.at("changed").items()) {
            out.changed_[path] = {was.at("existed").get<bool>(), was.at("executable").get<bool>()};
        }
        out.source_ = value.at("source").get<std::string>();
    } catch (const json::exception&) {
        out.changed_.clear();  // damaged: as if nothing were there
    }
    return out;
}

Status Workshop::save() const {
    json changed = json::object();
    for (const auto& [path, was] : changed_)
        changed[path] = {{"existed", was.existed}, {"executable", was.executable}};
    const json value = {{"format", kFormat}, {"source", source_}, {"changed", changed}};
    return write_file_atomic(folder_ / "state.json",
                             value.dump(1, ' ', false, json::error_handler_t::replace) + "\n");
}

Status Workshop::fill(std::string_view source, const Unpack& unpack) {
    source_.clear();
    changed_.clear();
    MANO_TRY(save());
    const fs::path fresh = folder_ / "tree.new";
    for (const fs::path& old : {tree(), fresh, folder_ / "pristine"})
        MANO_TRY(discard(old));
    MANO_TRY(make_folders(fresh));
    if (const auto done = unpack(fresh); !done) {
        // Half a tree only takes space, which may be what is missing.
        static_cast<void>(discard(fresh));
        return done;
    }
    MANO_TRY(move_to(fresh, tree()));
    source_ = source;
    return save();
}

Status Workshop::update(std::string_view source, const std::vector<std::string>& removed,
                        const Unpack& unpack) {
    const auto restored = apply({});
    if (!restored) return tl::unexpected<Error>(restored.error());
    source_.clear();  // until all of it is there
    MANO_TRY(save());
    for (const std::string& path : removed) {
        if (!safe_path(path) || through_link(tree(), path)) continue;
        std::error_code error;
        fs::remove(tree() / path, error);
    }
    MANO_TRY(unpack(tree()));
    source_ = source;
    return save();
}

Result<std::optional<std::string>> Workshop::pristine(const std::string& path) const {
    if (!safe_path(path)) return fail(Code::invalid, "'{}' leads out of the tree", path);
    const auto was = changed_.find(path);
    if (was != changed_.end() && !was->second.existed) return std::optional<std::string>();
    const fs::path root = was != changed_.end() ? folder_ / "pristine" : tree();
    if (through_link(root, path) || !regular(root / path)) return std::optional<std::string>();
    MANO_ASSIGN(std::string bytes, read_file(root / path, kMaxSource));
    return std::optional<std::string>(std::move(bytes));
}

// Puts the pristine form of a file aside, before its first change.
Status Workshop::keep(const std::string& path) {
    if (changed_.contains(path)) return {};
    if (!safe_path(path) || through_link(tree(), path)) {
        return fail(Code::invalid, "'{}' leads out of the kernel's tree through a link", path);
    }
    const fs::path file = tree() / path;
    std::error_code error;
    const bool exists = fs::exists(fs::symlink_status(file, error));
    if (exists && !regular(file)) {
        return fail(Code::invalid, "'{}' is a link or a folder in this tree, not a file", path);
    }
    if (exists) {
        MANO_ASSIGN(const std::string bytes, read_file(file, kMaxSource));
        MANO_TRY(write_file_atomic(folder_ / "pristine" / path, bytes));
    }
    changed_[path] = {exists, exists && executable(file)};
    return {};
}

Status Workshop::write(const std::string& path, const NewFile& file) {
    const fs::path target = tree() / path;
    std::error_code error;
    if (!file.bytes) {
        fs::remove(target, error);
        if (error) return fail(Code::environment, "{}: {}", target.string(), error.message());
        return {};
    }
    // By a rename: what is linked to the old file (the headers of kernels built before) keeps it.
    MANO_TRY(write_file_atomic(target, *file.bytes));
    const mode_t mode = file.executable.value_or(changed_.at(path).executable) ? 0755 : 0644;
    if (::chmod(target.c_str(), mode) != 0) return fail_errno(errno, target.string());
    return {};
}

Result<std::vector<std::string>> Workshop::apply(const Changes& changes) {
    for (const auto& [path, file] : changes)
        MANO_TRY(keep(path));
    MANO_TRY(save());
    std::vector<std::string> written;
    std::vector<std::string> restored;
    for (const auto& [path, was] : changed_) {
        NewFile wanted;
        if (const auto change = changes.find(path); change != changes.end()) {
            wanted = change->second;
        } else {
            MANO_ASSIGN(wanted.bytes, pristine(path));
            restored.push_back(path);
        }
        std::optional<std::string> now;
        if (regular(tree() / path)) {
            MANO_ASSIGN(now, read_file(tree() / path, kMaxSource));
        }
        // An untouched file keeps its time, so nothing is built again for it.
        if (now == wanted.bytes) continue;
        MANO_TRY(write(path, wanted));
        written.push_back(path);
    }
    for (const std::string& path : restored)
        changed_.erase(path);
    // Only then the copies: until the state says otherwise they may be needed.
    MANO_TRY(save());
    for (const std::string& path : restored) {
        std::error_code error;
        fs::remove(folder_ / "pristine" / path, error);
    }
    return written;
}

}  // namespace mano::kernels
