// SPDX-License-Identifier: GPL-2.0-or-later
#include "kernels/cache.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/digest.h"
#include "kernels/bzimage.h"
#include "kernels/elf.h"

namespace mano::kernels {

namespace fs = std::filesystem;
using nlohmann::json;

namespace {

constexpr std::size_t kJsonLimit = std::size_t{1} << 20;
constexpr int kFormat = 1;  // of image.json and entry.json; another number counts as not there

bool is_regular(const fs::path& path) {
    std::error_code ignored;
    return fs::is_regular_file(path, ignored);
}

bool is_folder(const fs::path& path) {
    std::error_code ignored;
    return fs::is_directory(path, ignored);
}

// Is the file there with just that size? A machine that lost power can leave one that isn't.
bool has_size(const fs::path& path, std::uint64_t size) {
    std::error_code error;
    return is_regular(path) && fs::file_size(path, error) == size && !error;
}

std::optional<json> read_json(const fs::path& path) {
    const auto text = read_file(path, kJsonLimit);
    if (!text) return std::nullopt;
    json value = json::parse(*text, nullptr, false);
    if (!value.is_object() || value.value("format", 0) != kFormat) return std::nullopt;
    return value;
}

std::vector<fs::path> folders_in(const fs::path& parent) {
    std::vector<fs::path> out;
    std::error_code error;
    for (fs::directory_iterator it(parent, error), end; !error && it != end; it.increment(error)) {
        if (is_folder(it->path())) out.push_back(it->path());
    }
    std::sort(out.begin(), out.end());
    return out;
}

}  // namespace

bool hex_id(std::string_view id) {
    return id.size() == 64 && id.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

std::optional<ImageEntry> Cache::image(std::string_view id) const {
    if (!hex_id(id)) return std::nullopt;
    const fs::path folder = images() / id;
    const auto value = read_json(folder / "image.json");
    if (!value) return std::nullopt;
    try {
        ImageEntry out;
        out.id = id;
        out.origin = value->at("origin").get<std::string>();
        out.release = value->at("release").get<std::string>();
        out.banner = value->at("banner").get<std::string>();
        out.compiler = value->at("compiler").get<std::string>();
        out.pvh = value->at("pvh").get<bool>();
        out.notes = value->at("notes").get<std::vector<std::string>>();
        out.image = folder / "bzImage";
        if (!has_size(out.image, value->at("image_bytes").get<std::uint64_t>()))
            return std::nullopt;
        if (const json& bytes = value->at("elf_bytes"); !bytes.is_null()) {
            out.elf = folder / "vmlinux";
            if (!has_size(*out.elf, bytes.get<std::uint64_t>())) return std::nullopt;
        }
        if (is_regular(folder / "config")) out.config = folder / "config";
        return out;
    } catch (const json::exception&) {
        return std::nullopt;
    }
}

std::vector<ImageEntry> Cache::all_images() const {
    std::vector<ImageEntry> out;
    for (const fs::path& folder : folders_in(images())) {
        if (auto entry = image(folder.filename().string())) out.push_back(std::move(*entry));
    }
    return out;
}

std::optional<DebianEntry> Cache::debian_entry(std::string_view key) const {
    if (!hex_id(key)) return std::nullopt;
    const fs::path folder = debian() / key;
    const auto value = read_json(folder / "entry.json");
    if (!value) return std::nullopt;
    try {
        DebianEntry out;
        out.key = key;
        out.folder = folder;
        out.image_id = value->at("image").get<std::string>();
        out.release = value->at("release").get<std::string>();
        out.flavour = value->at("flavour").get<std::string>();
        out.version = value->at("version").get<std::string>();
        out.packages = value->at("packages").get<std::map<std::string, std::string>>();
        out.sha256 = value->at("sha256").get<std::map<std::string, std::string>>();
        out.notes = value->at("notes").get<std::vector<std::string>>();
        if (is_folder(folder / "modules")) out.modules = folder / "modules";
        if (is_regular(folder / "config")) out.config = folder / "config";
        return out;
    } catch (const json::exception&) {
        return std::nullopt;
    }
}

std::vector<DebianEntry> Cache::all_debian() const {
    std::vector<DebianEntry> out;
    for (const fs::path& folder : folders_in(debian())) {
        if (auto entry = debian_entry(folder.filename().string())) out.push_back(std::move(*entry));
    }
    return out;
}

Status publish(const fs::path& finished, const fs::path& place,
               const std::function<bool()>& is_whole) {
    MANO_TRY(make_folders(place.parent_path()));
    for (int attempt = 0; attempt < 2; ++attempt) {
        if (::rename(finished.c_str(), place.c_str()) == 0) return {};
        if (errno != ENOTEMPTY && errno != EEXIST) return fail_errno(errno, place.string());
        if (is_whole()) return {};
        // What lies there is damaged: out of the way with it.
        const fs::path aside = finished.parent_path() / "damaged";
        if (::rename(place.c_str(), aside.c_str()) != 0) return fail_errno(errno, place.string());
    }
    return fail(Code::environment, "{}: couldn't be put into place", place.string());
}

namespace {

struct Unpacked {
    ImageEntry entry;
    std::optional<std::string> elf;
    std::optional<std::string> config;
};

// Code::invalid, as the rest of a sentence that begins with the path, for a damaged image: a guest
// that doesn't boot from it would count against the kernel.
Result<Unpacked> unpack(std::string_view bytes, const BzImage& image) {
    Unpacked out;
    out.entry.release = image.release;
    auto elf = extract_elf(bytes, image);
    if (!elf && elf.error().code == Code::corrupt) {
        return fail(Code::invalid, "is damaged: {}", elf.error().text());
    }
    if (!elf) {
        out.entry.notes.push_back(fmt::format(
            "The kernel can't be taken out of its bzImage, so the guest unpacks it while booting: "
            "{}.",
            elf.error().text()));
        return out;
    }
    out.elf = std::move(*elf);
    out.entry.pvh = has_pvh_note(*out.elf);
    if (!out.entry.pvh) {
        out.entry.notes.emplace_back(
            "The kernel has no PVH entry (CONFIG_PVH), so it boots through its bzImage.");
    }
    if (const auto banner = find_banner(*out.elf)) {
        out.entry.banner = *banner;
        out.entry.compiler = compiler_of(*banner);
        if (const std::string release = release_of(*banner); !release.empty()) {
            out.entry.release = release;
        }
    }
    out.config = find_config(*out.elf);
    return out;
}

json image_json(const ImageEntry& entry, std::size_t image_bytes,
                const std::optional<std::string>& elf) {
    json value = {{"format", kFormat},          {"origin", entry.origin},
                  {"release", entry.release},   {"banner", entry.banner},
                  {"compiler", entry.compiler}, {"pvh", entry.pvh},
                  {"notes", entry.notes},       {"image_bytes", image_bytes}};
    value["elf_bytes"] = elf ? json(elf->size()) : json(nullptr);
    return value;
}

std::string dumped(const json& value) {
    return value.dump(1, ' ', false, json::error_handler_t::replace) + "\n";
}

}  // namespace

Result<ImageEntry> Cache::store_image(std::string_view bytes, std::string_view origin,
                                      const Options& options) const {
    const std::string id = sha256(bytes);
    if (auto there = image(id)) return std::move(*there);
    MANO_ASSIGN(const BzImage parsed, parse_bzimage(bytes));
    MANO_ASSIGN(const Fd held, lock("image-" + id, options));
    if (auto there = image(id)) return std::move(*there);
    if (options.progress) options.progress("unpacking the kernel", 0, 0);
    MANO_ASSIGN(Unpacked made, unpack(bytes, parsed));
    made.entry.origin = origin;
    MANO_ASSIGN(const WorkFolder work, WorkFolder::make(*this));
    const fs::path folder = work.path() / "image";
    MANO_TRY(write_file_atomic(folder / "bzImage", bytes));
    if (made.elf) MANO_TRY(write_file_atomic(folder / "vmlinux", *made.elf));
    if (made.config) MANO_TRY(write_file_atomic(folder / "config", *made.config));
    MANO_TRY(write_file_atomic(folder / "image.json",
                               dumped(image_json(made.entry, bytes.size(), made.elf))));
    MANO_TRY(publish(folder, images() / id, [&] { return image(id).has_value(); }));
    auto stored = image(id);
    if (!stored) return fail(Code::internal, "the image {} isn't readable after storing it", id);
    return std::move(*stored);
}

Result<DebianEntry> Cache::store_debian(const fs::path& folder, const DebianEntry& entry) const {
    const json value = {{"format", kFormat},        {"image", entry.image_id},
                        {"release", entry.release}, {"flavour", entry.flavour},
                        {"version", entry.version}, {"packages", entry.packages},
                        {"sha256", entry.sha256},   {"notes", entry.notes}};
    MANO_TRY(write_file_atomic(folder / "entry.json", dumped(value)));
    MANO_TRY(
        publish(folder, debian() / entry.key, [&] { return debian_entry(entry.key).has_value(); }));
    auto stored = debian_entry(entry.key);
    if (!stored) {
        return fail(Code::internal, "{} isn't readable after storing it",
                    (debian() / entry.key).string());
    }
    return std::move(*stored);
}

Result<Fd> wait_for_lock(const fs::path& path, bool shared, const Options& options) {
    MANO_TRY(make_folders(path.parent_path()));
    MANO_ASSIGN(Fd fd, open_file(path, O_RDWR | O_CREAT));
    bool said = false;
    while (::flock(fd.get(), (shared ? LOCK_SH : LOCK_EX) | LOCK_NB) != 0) {
        if (errno != EWOULDBLOCK && errno != EINTR) return fail_errno(errno, path.string());
        if (options.stop && options.stop()) {
            return fail(Code::interrupted, "stopped while waiting for another process");
        }
        if (!said && options.progress) {
            options.progress("waiting for another process that fetches kernels", 0, 0);
        }
        said = true;
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
    return fd;
}

Result<Fd> Cache::lock(std::string_view what, const Options& options) const {
    const fs::path path = root_ / "locks" / (sha256(what).substr(0, 32) + ".lock");
    auto held = wait_for_lock(path, false, options);
    if (!held && held.error().code == Code::environment) {
        return wrap(held.error(), "the cache of kernels, {}, can't be written", root_.string());
    }
    return held;
}

namespace {

// Removes what owners that live no more left behind. Whoever holds the lock lives.
void remove_stale(const fs::path& tmp) {
    std::error_code error;
    std::vector<fs::path> locks;
    for (fs::directory_iterator it(tmp, error), end; !error && it != end; it.increment(error)) {
        if (it->path().extension() == ".lock") locks.push_back(it->path());
    }
    for (const fs::path& lock : locks) {
        const auto fd = open_file(lock, O_RDWR);
        if (!fd || ::flock(fd->get(), LOCK_EX | LOCK_NB) != 0) continue;
        fs::path folder = lock;
        folder.replace_extension();
        std::error_code ignored;
        fs::remove_all(folder, ignored);
        // The lock last: as long as it is there, the folder is found again.
        if (!fs::exists(folder, ignored)) fs::remove(lock, ignored);
    }
}

}  // namespace

Result<WorkFolder> WorkFolder::make(const Cache& cache) {
    const fs::path tmp = cache.root() / "tmp";
    MANO_TRY(make_folders(tmp));
    remove_stale(tmp);
    for (int attempt = 0; attempt < 100; ++attempt) {
        std::string pattern = (tmp / "work-XXXXXX.lock").string();
        const int number = ::mkostemps(pattern.data(), 5, O_CLOEXEC);
        if (number < 0) return fail_errno(errno, tmp.string());
        WorkFolder out;
        out.lock_ = Fd(number);
        // Between making and locking it another process may have taken it for a dead one's.
        struct stat status = {};
        if (::flock(number, LOCK_EX | LOCK_NB) != 0 || ::fstat(number, &status) != 0 ||
            status.st_nlink == 0) {
            continue;
        }
        out.lock_path_ = pattern;
        out.path_ = out.lock_path_;
        out.path_.replace_extension();
        MANO_TRY(make_folders(out.path_));
        return out;
    }
    return fail(Code::environment, "{}: no folder for temporary files could be made", tmp.string());
}

WorkFolder::~WorkFolder() {
    if (path_.empty()) return;
    std::error_code ignored;
    fs::remove_all(path_, ignored);
    fs::remove(lock_path_, ignored);
}

std::uint64_t bytes_on_disk(const fs::path& path) {
    std::uint64_t sum = 0;
    std::error_code error;
    if (fs::is_regular_file(path, error)) return fs::file_size(path, error);
    for (fs::recursive_directory_iterator it(path, error), end; !error && it != end;
         it.increment(error)) {
        std::error_code ignored;
        if (it->is_regular_file(ignored)) {
            const auto size = it->file_size(ignored);
            if (!ignored) sum += size;
        }
    }
    return sum;
}

}  // namespace mano::kernels
