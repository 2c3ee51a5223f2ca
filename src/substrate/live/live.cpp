// SPDX-License-Identifier: GPL-2.0-or-later
#include "substrate/live/live.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <set>

#include "base/units.h"
#include "substrate/guest/decode.h"
#include "substrate/guest/host_clock.h"
#include "substrate/live/host.h"
#include "substrate/live/watched.h"
#include "substrate/trial_log.h"

namespace mano::substrate::live {

using measure::Ending;
using plan::LoadId;

namespace {

// What stays for the rest of the host while loads run: a twentieth of the memory, but not less.
constexpr std::uint64_t kLeastFloor = 256 * kMiB;
constexpr std::uint64_t kFloorPart = 20;

std::uint64_t floor_of(std::uint64_t total) {
    return std::max(kLeastFloor, total / kFloorPart);
}

bool is_calm(LoadId probe) {
    return probe == LoadId::idle || probe == LoadId::command;
}

// What this substrate can't do for a plan, whoever says yes.
Status check_loads(const plan::TrialPlan& trial) {
    if (trial.pressure.id == LoadId::pageout) {
        return fail(Code::invalid,
                    "the pressure pageout takes a swap device of its own, which a live host isn't "
                    "given: use guests (--substrate guest)");
    }
    if (trial.probe.id != LoadId::aux) return {};
    if (trial.probe.text.empty()) {
        return fail(Code::invalid,
                    "the probe aux needs hardware on a live host, where Manometer's own software "
                    "PMU isn't loaded: --set probe.pmu=intel_pt (or cs_etm, arm_spe_0)");
    }
    const std::string folder = "/sys/bus/event_source/devices/" + trial.probe.text;
    if (::access(folder.c_str(), F_OK) == 0) return {};
    return fail(Code::environment, "this machine has no PMU {} ({})", trial.probe.text, folder);
}

std::vector<plan::Setting> settings_of(const plan::Arm& arm, const plan::Case& one) {
    return plan::trial_of(one.trial, arm).settings;
}

}  // namespace

std::string dangers(const plan::Plan& plan) {
    std::set<std::string> found;
    for (const plan::Case& one : plan.cases) {
        const plan::LoadDef* pressure = plan::find_load(one.trial.pressure.id);
        const plan::LoadDef* probe = plan::find_load(one.trial.probe.id);
        if (one.trial.pressure.id != LoadId::none && pressure != nullptr) {
            found.insert(fmt::format("the pressure {}", pressure->name));
        }
        if (!is_calm(one.trial.probe.id) && probe != nullptr) {
            found.insert(fmt::format("the probe {}", probe->name));
        }
    }
    std::string text;
    for (const std::string& each : found)
        text += (text.empty() ? "" : " and ") + each;
    return text;
}

Status LiveSubstrate::look(const plan::Plan& plan) {
    for (const plan::Arm& arm : plan.arms) {
        if (auto kernel = kernel_of(arm.kernel_spec); !kernel) {
            return wrap(kernel.error(), "arm {}", arm.name);
        }
        if (!arm.cmdline.empty()) {
            return fail(Code::invalid,
                        "arm {}: cmdline= is for guests; this host was booted with its own command "
                        "line: boot it with another, and run again with --arm NAME",
                        arm.name);
        }
    }
    if (!plan.added_files.empty()) {
        return fail(Code::invalid, "--add: a live host has its own files; leave it out");
    }
    for (const plan::Case& one : plan.cases) {
        MANO_TRY(check_loads(one.trial));
        for (const plan::Arm& arm : plan.arms) {
            MANO_TRY(plan::check_workers(plan::trial_of(one.trial, arm)));
            if (auto read = read_changes(settings_of(arm, one)); !read) {
                return wrap(read.error(), "arm {}", arm.name);
            }
        }
    }
    const std::string dangerous = dangers(plan);
    if (!dangerous.empty() && !options_.yes_this_host) {
        return fail(Code::invalid,
                    "{} would load this very host: say --yes-this-host if you mean it, or use "
                    "guests (--substrate guest)",
                    dangerous);
    }
    site_ = choose_site(options_.hierarchies ? *options_.hierarchies : read_hierarchies());
    limit_bytes_ = plan.shape.memory_bytes;
    floor_bytes_ = 0;
    const bool loads = !dangerous.empty();
    if ((loads || limit_bytes_ > 0) && !site_.memory) {
        return fail(Code::environment,
                    "there is no group here whose memory can be limited, without which no load "
                    "runs on a live host. {}",
                    site_.lost.empty() ? std::string() : site_.lost.back());
    }
    if (!loads) return {};
    floor_bytes_ = floor_of(total_memory());
    const std::uint64_t available = available_memory();
    if (available < floor_bytes_ + limit_bytes_) {
        return fail(Code::environment,
                    "the loads may take {} and {} must stay for the rest of this host, but only {} "
                    "are available: lower guest.memory (--set guest.memory=256MiB)",
                    show_bytes(limit_bytes_), show_bytes(floor_bytes_), show_bytes(available));
    }
    return {};
}

namespace {

std::vector<std::string> remarks_for(const Site& site, const plan::Plan& plan,
                                     std::uint64_t limit_bytes) {
    std::vector<std::string> remarks{
        "A live host: all trials share one boot, so that what differs from boot to boot isn't in "
        "their spread; and whatever else runs here is in the values."};
    remarks.push_back(fmt::format("cgroups: {}", site.kind));
    for (const std::string& text : site.lost)
        remarks.push_back("lost: " + text);
    for (const measure::Loss& lost : lost_pressure(site, std::nullopt)) {
        if (lost.source == "psi.system") remarks.push_back("lost: psi.*: " + lost.meaning);
    }
    if (limit_bytes > 0) {
        remarks.push_back(
            fmt::format("pressure and probe have {} of memory together (guest.memory)",
                        show_bytes(limit_bytes)));
    }
    if (std::any_of(plan.arms.begin(), plan.arms.end(),
                    [](const plan::Arm& arm) { return !arm.settings.empty(); })) {
        remarks.emplace_back("The arms' settings are made before and put back after each trial.");
    }
    return remarks;
}

}  // namespace

Status LiveSubstrate::prepare(const plan::Plan& plan, const std::vector<kernels::Kernel>&) {
    MANO_TRY(look(plan));
    remarks_ = remarks_for(site_, plan, limit_bytes_);
    identity_ = host_identity();
    if (!claim_) {
        MANO_ASSIGN(claim_, Claim::take(options_.folder.empty() ? live_folder() : options_.folder));
    }
    MANO_ASSIGN(const bool stale, claim_->is_stale());
    if (!stale) return {};
    MANO_TRY(put_back("a run that was killed"));
    remarks_.emplace_back("What a killed run had left changed on this host was put back first.");
    return {};
}

Status LiveSubstrate::put_back(const std::string& why) {
    MANO_ASSIGN(const std::vector<std::string> complaints, Watched::restore(*claim_));
    if (complaints.empty()) return {};
    std::string text;
    for (const std::string& complaint : complaints)
        text += (text.empty() ? "" : "; ") + complaint;
    return fail(Code::environment, "what {} changed on this host couldn't be put back: {}. See {}",
                why, text, claim_->path().string());
}

std::pair<unsigned, std::string> LiveSubstrate::jobs(const plan::Plan&, unsigned wanted) const {
    return {1, wanted > 1 ? "trials on a live host run one after the other" : ""};
}

Result<std::vector<std::string>> LiveSubstrate::intentions(const plan::Plan& plan) {
    MANO_TRY(look(plan));
    std::vector<std::string> lines;
    lines.push_back(fmt::format("would run: {} trials on this host, kernel {}", plan.trials.size(),
                                host_kernel().provenance.release));
    const Groups groups = plan_groups(site_, "manometer-PID-N");
    for (const std::filesystem::path& folder : groups.folders()) {
        lines.push_back("would make, and remove after each trial: group " + folder.string());
    }
    if (limit_bytes_ > 0) {
        lines.push_back(fmt::format(
            "would limit: memory of pressure and probe together to {}{}", show_bytes(limit_bytes_),
            floor_bytes_ == 0 ? std::string()
                              : fmt::format("; ends a trial when less than {} are available to the "
                                            "host",
                                            show_bytes(floor_bytes_))));
    }
    std::set<std::string> told;
    for (const plan::Case& one : plan.cases) {
        for (const plan::Arm& arm : plan.arms) {
            MANO_ASSIGN(const std::vector<Change> changes, read_changes(settings_of(arm, one)));
            for (const Change& change : changes) {
                std::string line =
                    change.then.empty()
                        ? fmt::format("may change along with it, and is put back: {}, now '{}'",
                                      change.path, change.now)
                        : fmt::format(
                              "would set, and put back after each trial: {} from '{}' to '{}' "
                              "(arm {})",
                              change.path, change.now, change.then, arm.name);
                if (told.insert(line).second) lines.push_back(std::move(line));
            }
        }
    }
    if (told.empty()) lines.emplace_back("would set: nothing");
    for (const std::string& remark : remarks_for(site_, plan, 0))
        lines.push_back(remark);
    return lines;
}

namespace {

// One trial as it goes on.
struct Going {
    Watched& watched;
    TrialLog& log;
    const TrialProgress& progress;
    std::uint64_t wall_ns = 0;
    std::uint64_t hang_ns = 0;
    std::uint64_t floor_bytes = 0;
};

void wait_a_moment(const Watched& watched) {
    pollfd polled{watched.exit_fd(), POLLIN, 0};
    ::poll(&polled, 1, 10);
}

End end_of(Ending ending, std::string evidence) {
    return {ending, std::move(evidence)};
}

// Follows it to its end; Code::interrupted when `stop` says so.
Result<End> follow(const Going& going, const std::function<bool()>& stop) {
    const std::uint64_t start = guest::host_now_ns();
    std::uint64_t beat = 0;
    std::uint64_t beat_ns = start;
    std::string said;
    while (true) {
        if (const auto told = going.log.read()) return *told;
        if (going.watched.has_ended()) {
            // What it wrote last may have come in between.
            if (const auto told = going.log.read()) return *told;
            return end_of(
                Ending::harness_fault,
                fmt::format("the agent ended in phase {} without a goodbye", going.log.where()));
        }
        if (stop && stop()) return fail(Code::interrupted, "stopped");
        const std::uint64_t now = guest::host_now_ns();
        const std::uint64_t sign = going.log.reader().heartbeat() + going.log.size();
        if (sign != beat) {
            beat = sign;
            beat_ns = now;
        }
        if (std::string phase = going.log.where(); phase != said) {
            said = std::move(phase);
            if (going.progress) going.progress(said);
        }
        if (going.wall_ns > 0 && now - start > going.wall_ns) {
            return end_of(Ending::wall_clock,
                          fmt::format("the trial took more than its {} s (phase {}); raise it with "
                                      "--timeout",
                                      going.wall_ns / 1'000'000'000, going.log.where()));
        }
        if (now - beat_ns > going.hang_ns) {
            return end_of(Ending::harness_fault,
                          fmt::format("the agent gave no sign for {} s in phase {}",
                                      going.hang_ns / 1'000'000'000, going.log.where()));
        }
        if (going.floor_bytes > 0) {
            const std::uint64_t available = available_memory();
            if (available < going.floor_bytes) {
                return end_of(Ending::harness_fault,
                              fmt::format("only {} of memory were left for the rest of the host, "
                                          "the floor is {}: the loads were ended",
                                          show_bytes(available), show_bytes(going.floor_bytes)));
            }
        }
        wait_a_moment(going.watched);
    }
}

void add_losses(const Site& site, const std::vector<measure::Loss>& pressure,
                measure::TrialRecord& record) {
    record.losses.insert(record.losses.end(), pressure.begin(), pressure.end());
    for (const std::string& text : site.lost) {
        if (!text.starts_with("psi.probe")) record.losses.push_back({"cgroup", 1, text});
    }
    add_unknown_pressure(record);
}

}  // namespace

Result<measure::TrialRecord> LiveSubstrate::run(const TrialRequest& request,
                                                const TrialProgress& progress,
                                                const std::function<bool()>& stop) {
    const std::uint64_t begun = guest::host_now_ns();
    const plan::Arm& arm = request.plan.arms.at(request.trial.arm);
    plan::TrialPlan trial = plan::trial_of(request.plan.cases.at(request.trial.case_).trial, arm);
    trial.seed = request.trial.seed;
    MANO_ASSIGN(const std::string bytes, plan::encode(trial));
    MANO_ASSIGN(const Fd plan_file, memory_file("manometer-plan", bytes));
    MANO_ASSIGN(const Fd log_file, memory_file("manometer-log", {}));
    MANO_ASSIGN(const LogMemory memory, LogMemory::make(log_file, options_.log_bytes, "the log"));
    const Groups groups =
        plan_groups(site_, fmt::format("manometer-{}-{}", ::getpid(), request.trial.position));
    MANO_ASSIGN(const std::vector<Change> changes, read_changes(trial.settings));
    // The guard is there before anything is written down, and that before anything is changed.
    MANO_ASSIGN(Watched watched,
                Watched::start({*claim_, plan_file.get(), log_file.get(), groups, limit_bytes_}));
    const std::optional<std::filesystem::path> probe_group =
        groups.v2 ? std::optional(*groups.v2 / "probe") : std::nullopt;
    std::vector<measure::Loss> pressure;
    const auto begin = [&]() -> Status {
        MANO_TRY(claim_->write(journal_text(changes, groups.folders())));
        MANO_TRY(make_groups(groups, limit_bytes_));
        pressure = lost_pressure(site_, probe_group);
        return watched.go();
    };
    if (auto begun_well = begin(); !begun_well) {
        if (!watched.end().empty()) MANO_TRY(put_back("the trial's beginning"));
        return tl::unexpected<Error>(begun_well.error());
    }
    TrialLog log(memory.span());
    const Result<End> end = follow(
        {watched, log, progress, request.plan.wall_limit_ns, options_.hang_ns, floor_bytes_}, stop);
    // The journal is empty when the guard has put everything back. One that was killed hasn't.
    if (const auto complaints = watched.end(); !complaints.empty()) MANO_TRY(put_back("the trial"));
    if (!end) return tl::unexpected<Error>(end.error());
    measure::TrialRecord record;
    record.ending = end->ending;
    record.evidence = end->evidence;
    record.host_ns = guest::host_now_ns() - begun;
    record.facts.push_back({"state.memory", fmt::format("{}", total_memory())});
    guest::decode_frames(log.take_frames(), trial, record);
    add_losses(site_, pressure, record);
    return record;
}

}  // namespace mano::substrate::live
