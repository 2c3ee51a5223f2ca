// SPDX-License-Identifier: GPL-2.0-or-later
#include "substrate/live/cgroups.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/file.h"

namespace mano::substrate::live {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxText = std::size_t{1} << 20;
constexpr std::string_view kGroups[] = {"control", "load", "probe"};

std::string_view take(std::string_view& rest, char separator) {
    const std::size_t end = std::min(rest.find(separator), rest.size());
    const std::string_view part = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    return part;
}

bool has_word(std::string_view list, std::string_view word, char separator) {
    while (!list.empty()) {
        if (take(list, separator) == word) return true;
    }
    return false;
}

// mountinfo writes blanks, tabs, newlines and backslashes as \ooo (proc(5)).
std::string unescape(std::string_view text) {
    std::string out;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const auto digit = [&](std::size_t at) {
            return i + at < text.size() && text[i + at] >= '0' && text[i + at] <= '7';
        };
        if (text[i] != '\\' || !digit(1) || !digit(2) || !digit(3)) {
            out += text[i];
            continue;
        }
        out += static_cast<char>((text[i + 1] - '0') * 64 + (text[i + 2] - '0') * 8 +
                                 (text[i + 3] - '0'));
        i += 3;
    }
    return out;
}

struct Mount {
    std::string root, point, type, options;
};

// "36 35 98:0 ROOT POINT OPTIONS … - TYPE SOURCE SUPER_OPTIONS"; nullopt: not such a line.
std::optional<Mount> parse_mount(std::string_view line) {
    const std::size_t dash = line.find(" - ");
    if (dash == std::string_view::npos) return std::nullopt;
    std::string_view front = line.substr(0, dash);
    std::string_view back = line.substr(dash + 3);
    for (int skipped = 0; skipped < 3; ++skipped)
        take(front, ' ');
    Mount mount;
    mount.root = unescape(take(front, ' '));
    mount.point = unescape(take(front, ' '));
    mount.type = take(back, ' ');
    take(back, ' ');
    mount.options = back;
    if (!mount.root.starts_with('/') || !mount.point.starts_with('/')) return std::nullopt;
    return mount;
}

// A group's path in its hierarchy → its folder. What isn't below the mount's root can't be seen
// here.
fs::path own_folder(const Mount& mount, std::string_view path) {
    const std::string_view root = mount.root == "/" ? std::string_view() : mount.root;
    const bool below =
        path.starts_with(root) && (path.size() == root.size() || path[root.size()] == '/');
    const bool leaves = path.find("/..") != std::string_view::npos;
    if (!path.starts_with('/') || !below || leaves) return mount.point;
    std::string_view rest = path.substr(root.size());
    while (rest.ends_with('/'))
        rest.remove_suffix(1);
    return rest.empty() ? fs::path(mount.point) : fs::path(mount.point + std::string(rest));
}

// The path of this process's group: of v2 ("0::PATH"), or of v1's memory ("4:memory:PATH").
std::optional<std::string> membership_of(std::string_view text, bool v2) {
    while (!text.empty()) {
        std::string_view line = take(text, '\n');
        const std::string_view number = take(line, ':');
        const std::string_view controllers = take(line, ':');
        const bool match =
            v2 ? number == "0" && controllers.empty() : has_word(controllers, "memory", ',');
        if (match && line.starts_with('/')) return std::string(line);
    }
    return std::nullopt;
}

bool may_write(const fs::path& folder) {
    return ::access(folder.c_str(), W_OK | X_OK) == 0;
}

bool has_memory(const fs::path& folder) {
    const auto text = read_file(folder / "cgroup.subtree_control", 4096);
    if (!text) return false;
    std::string_view words(*text);
    if (words.ends_with('\n')) words.remove_suffix(1);
    return has_word(words, "memory", ' ');
}

void choose_v2(const Hierarchy& v2, bool memory_wanted, Site& site) {
    std::optional<fs::path> nearest;
    for (fs::path folder = v2.own;; folder = folder.parent_path()) {
        const bool writable = may_write(folder);
        if (writable && !nearest) nearest = folder;
        if (writable && memory_wanted && has_memory(folder)) {
            site.v2 = folder;
            site.memory = folder;
            return;
        }
        if (folder == v2.mount || folder == folder.parent_path()) break;
    }
    site.v2 = nearest;
}

Status write_to(const fs::path& path, std::string_view text) {
    MANO_ASSIGN(const Fd fd, open_file(path, O_WRONLY));
    return write_all(fd.get(), text, path.string());
}

Status make_folder(const fs::path& path) {
    if (::mkdir(path.c_str(), 0755) == 0) return {};
    return fail_errno(errno, "mkdir " + path.string());
}

}  // namespace

std::string Hierarchies::kind() const {
    if (v2) return any_v1 ? "v1 and v2 (hybrid)" : "v2";
    return any_v1 ? "v1" : "none";
}

Hierarchies parse_hierarchies(std::string_view mountinfo, std::string_view membership) {
    Hierarchies found;
    const auto v2_path = membership_of(membership, true);
    const auto memory_path = membership_of(membership, false);
    while (!mountinfo.empty()) {
        const auto mount = parse_mount(take(mountinfo, '\n'));
        if (!mount) continue;
        if (mount->type == "cgroup2" && !found.v2) {
            found.v2 = {mount->point, own_folder(*mount, v2_path.value_or("/"))};
        }
        if (mount->type != "cgroup") continue;
        found.any_v1 = true;
        if (has_word(mount->options, "memory", ',') && !found.v1_memory) {
            found.v1_memory = {mount->point, own_folder(*mount, memory_path.value_or("/"))};
        }
    }
    return found;
}

Hierarchies read_hierarchies() {
    const auto mounts = read_file("/proc/self/mountinfo", kMaxText);
    const auto groups = read_file("/proc/self/cgroup", kMaxText);
    return parse_hierarchies(mounts ? *mounts : std::string(), groups ? *groups : std::string());
}

Site choose_site(const Hierarchies& here) {
    Site site;
    site.kind = here.kind();
    if (here.v2) choose_v2(*here.v2, !here.v1_memory, site);
    if (here.v1_memory && may_write(here.v1_memory->own)) {
        site.memory = here.v1_memory->own;
        site.memory_is_v1 = true;
        site.lost.emplace_back(
            "memcg.*: memory is counted by cgroup v1, whose memory.stat has no counts of reclaim "
            "and names sizes its own way (rss, cache)");
    }
    if (!here.v2) {
        site.lost.emplace_back(
            "psi.probe.*, cpu.probe.*: pressure of a group is a matter of cgroup v2, which isn't "
            "mounted here; mount it beside v1 (mount -t cgroup2 none FOLDER) or boot with "
            "systemd.unified_cgroup_hierarchy=1");
    } else if (!site.v2) {
        site.lost.emplace_back(fmt::format(
            "psi.probe.*, cpu.probe.*: {} can't be written by this user, so there is no group of "
            "our own; run as root, or in a group that is yours: systemd-run --user --scope -p "
            "Delegate=yes manometer ...",
            here.v2->own.string()));
    }
    if (!site.memory) {
        site.lost.emplace_back(
            here.v1_memory
                ? fmt::format("memcg.*, memory limit: {} can't be written by this user; run as "
                              "root",
                              here.v1_memory->own.string())
                : std::string("memcg.*, memory limit: no group that we may make here has the "
                              "memory controller (cgroup.subtree_control of its parent)"));
    }
    return site;
}

Groups plan_groups(const Site& site, std::string_view name) {
    Groups groups;
    groups.memory_is_v1 = site.memory_is_v1;
    if (site.v2) groups.v2 = *site.v2 / name;
    if (site.memory) groups.memory = *site.memory / name;
    return groups;
}

std::vector<fs::path> Groups::folders() const {
    std::vector<fs::path> all;
    if (v2) all.push_back(*v2);
    if (memory && memory != v2) all.push_back(*memory);
    return all;
}

Status make_groups(const Groups& groups, std::uint64_t limit_bytes) {
    for (const fs::path& folder : groups.folders()) {
        MANO_TRY(make_folder(folder));
        if (folder == groups.v2) {
            // One by one: a controller that isn't to be had here is absent from the readings.
            for (const std::string_view controller : {"+memory", "+cpu", "+io"})
                static_cast<void>(write_to(folder / "cgroup.subtree_control", controller));
        }
        for (const std::string_view name : kGroups)
            MANO_TRY(make_folder(folder / name));
    }
    if (limit_bytes == 0) return {};
    if (!groups.memory) {
        return fail(Code::environment, "there is no group here whose memory can be limited");
    }
    const fs::path file =
        *groups.memory / (groups.memory_is_v1 ? "memory.limit_in_bytes" : "memory.max");
    return write_to(file, fmt::format("{}", limit_bytes));
}

}  // namespace mano::substrate::live
