// SPDX-License-Identifier: GPL-2.0-or-later
// watch: pressure, reclaim and free blocks of this host or of one of its cgroups, as time goes by.
#include <poll.h>
#include <time.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <deque>

#include "base/units.h"
#include "cli/arguments.h"
#include "cli/output.h"
#include "cli/stop.h"
#include "cli/verb.h"
#include "substrate/live/cgroups.h"
#include "watch/watch.h"

namespace mano::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kKept = 40;      // looks on the screen
constexpr unsigned kHeadingEach = 20;  // lines of a pipe

struct Options {
    std::string group, interval = "1s", count;
    bool json = false;
    bool lines = false;
};

// Reading a group's pressure makes the kernel drop stalls shorter than a jiffy: whoever watches a
// group that a trial measures would change what is measured.
bool is_measured(const fs::path& group) {
    for (const fs::path& part : group) {
        if (part.string().starts_with("manometer-")) return true;
    }
    return false;
}

// "/user.slice", "user.slice" or a whole path below where cgroups are mounted.
Result<watch::Target> find_target(const std::string& group) {
    watch::Target target{std::nullopt, std::nullopt, "host"};
    if (group.empty()) return target;
    if (group.find("..") != std::string::npos || group.find('\0') != std::string::npos) {
        return fail(Code::invalid, "'{}': expected a cgroup such as /user.slice", group);
    }
    const auto here = substrate::live::read_hierarchies();
    std::string looked;
    const auto look_in =
        [&](const std::optional<substrate::live::Hierarchy>& in) -> std::optional<fs::path> {
        if (!in) return std::nullopt;
        const std::string mount = in->mount.string();
        const bool whole = group.starts_with(mount + "/") || group == mount;
        const fs::path folder = whole ? fs::path(group) : fs::path(mount + "/" + group);
        looked += (looked.empty() ? "" : ", ") + folder.string();
        std::error_code error;
        return fs::is_regular_file(folder / "cgroup.procs", error) ? std::optional(folder)
                                                                   : std::nullopt;
    };
    target.group = look_in(here.v2);
    target.memory = look_in(here.v1_memory ? here.v1_memory : here.v2);
    if (!target.group && !target.memory) {
        return fail(Code::invalid,
                    "no cgroup '{}' here (cgroups: {}; looked for {}); expected one such as "
                    "/user.slice, as the last part of a line in /proc/PID/cgroup",
                    group, here.kind(), looked.empty() ? "nothing, none is mounted" : looked);
    }
    if (is_measured(group)) {
        return fail(Code::invalid,
                    "{}: a live trial is measuring this group, and each look at its pressure "
                    "would lose stalls shorter than a jiffy; watch the host instead",
                    group);
    }
    target.name = group;
    return target;
}

std::string time_text(const char* form, bool utc) {
    const time_t now = ::time(nullptr);
    tm parts = {};
    if (utc)
        ::gmtime_r(&now, &parts);
    else
        ::localtime_r(&now, &parts);
    char text[40];
    return {text, ::strftime(text, sizeof text, form, &parts)};
}

// false: the user wants to stop.
bool wait_for(std::uint64_t ns) {
    constexpr std::uint64_t kStep = 100'000'000;
    while (ns > 0 && !stop_requested()) {
        const std::uint64_t step = std::min(ns, kStep);
        const timespec wait{0, static_cast<long>(step)};
        ::nanosleep(&wait, nullptr);
        ns -= step;
    }
    return !stop_requested();
}

// Goes on until the reader is gone, the user stops it or `count` looks are shown.
Result<int> go_on(const Options& options, const watch::Target& target, std::uint64_t interval_ns,
                  std::uint64_t count) {
    const bool terminal = ::isatty(1) != 0 && !options.lines && !options.json;
    const auto charset = terminal_takes_utf8() ? report::Charset::utf8 : report::Charset::ascii;
    std::deque<watch::Change> changes;
    watch::Look before = watch::look(target);
    for (std::uint64_t shown = 0; count == 0 || shown < count; ++shown) {
        if (!wait_for(interval_ns)) break;
        watch::Look now = watch::look(target);
        watch::Change change = watch::between(target, before, now);
        before = std::move(now);
        if (options.json) {
            MANO_TRY(
                print(watch::json_line(target, change, time_text("%Y-%m-%dT%H:%M:%SZ", true))));
        } else if (!terminal) {
            if (shown == 0) {
                for (const std::string& lost : change.lost)
                    print_error(printable("lost: " + lost) + "\n");
            }
            if (shown % kHeadingEach == 0) MANO_TRY(print(watch::heading()));
            MANO_TRY(print(watch::line(change, time_text("%H:%M:%S", false))));
        } else {
            changes.push_back(std::move(change));
            if (changes.size() > kKept) changes.pop_front();
            MANO_TRY(print(
                "\x1b[H\x1b[J" +
                printable(watch::screen(target, changes, time_text("%H:%M:%S", false), charset))));
        }
        // A pipe whose reader has gone: `watch | head`.
        pollfd out{1, POLLOUT, 0};
        if (::poll(&out, 1, 0) > 0 && (out.revents & (POLLERR | POLLHUP)) != 0) break;
    }
    return 0;
}

Result<int> run(const Options& options) {
    const auto interval = parse_duration_ns(options.interval);
    if (!interval) return wrap(interval.error(), "--interval {}", options.interval);
    constexpr std::uint64_t kLeast = 100'000'000;
    constexpr std::uint64_t kMost = 3'600'000'000'000;
    if (*interval < kLeast || *interval > kMost) {
        return fail(Code::invalid, "--interval {}: expected 100ms to 60min", options.interval);
    }
    std::uint64_t count = 0;
    if (!options.count.empty()) {
        MANO_ASSIGN(count, parse_count("--count", options.count, 1, 1'000'000'000));
    }
    MANO_ASSIGN(const watch::Target target, find_target(options.group));
    catch_signals();
    return go_on(options, target, *interval, count);
}

}  // namespace

void add_watch(CLI::App& app, const Chosen& chosen) {
    auto* verb = app.add_subcommand(
        "watch", "pressure, reclaim and free blocks of this host or of a cgroup, live");
    auto options = std::make_shared<Options>();
    verb->add_option("CGROUP", options->group,
                     "a cgroup such as /user.slice; left out, the whole host");
    verb->add_option("--interval", options->interval, "between two looks: 1s");
    verb->add_option("--count", options->count, "ends after so many looks (none: with Ctrl-C)");
    verb->add_flag("--json", options->json, "one JSON object a line");
    verb->add_flag("--lines", options->lines, "a line a look on a terminal too, as in a pipe");
    verb->footer(
        "\nShares of time in which some (or all) tasks stalled, from PSI; reclaim, stalls and "
        "refaults per\nsecond; free blocks by order. What a machine doesn't have is '-' or null, "
        "and said. Changes nothing;\nneeds no root. `blocks` in a pipe: free blocks of order 4 and "
        "up; `available`: of a group, what it has.\n"
        "\nExamples:\n"
        "  manometer watch\n"
        "  manometer watch /user.slice --interval 5s\n"
        "  manometer watch --json --count 60 > minute.jsonl\n"
        "\nExit codes: 0; 1 usage or no such cgroup.\n");
    verb->callback(
        [options, chosen] { *chosen = [options](const Call&) { return run(*options); }; });
}

}  // namespace mano::cli
