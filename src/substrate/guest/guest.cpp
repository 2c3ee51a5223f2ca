// SPDX-License-Identifier: GPL-2.0-or-later
#include "substrate/guest/guest.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <set>
#include <thread>

#include "base/digest.h"
#include "base/file.h"
#include "base/meminfo.h"
#include "base/units.h"
#include "kernels/module_build.h"
#include "substrate/guest/decode.h"
#include "substrate/guest/image.h"

namespace mano::substrate::guest {

using measure::Ending;

namespace {

// Even alone such a guest can't be had, and QEMU would say so once a trial.
Status check_fits(const plan::Plan& plan) {
    const auto total = meminfo_bytes("MemTotal");
    if (!total || plan.shape.memory_bytes < *total) return {};
    return fail(Code::environment,
                "guest.memory is {}, and this host has {} in all: give a smaller one with --set "
                "guest.memory",
                show_bytes(plan.shape.memory_bytes), show_bytes(*total));
}

}  // namespace

Status GuestSubstrate::prepare(const plan::Plan& plan,
                               const std::vector<kernels::Kernel>& kernels) {
    for (const plan::Case& one : plan.cases) {
        for (const plan::Arm& arm : plan.arms)
            MANO_TRY(plan::check_workers(plan::trial_of(one.trial, arm)));
    }
    MANO_TRY(check_fits(plan));
    remove_stale_folders();
    MANO_ASSIGN(Qemu qemu, find_qemu());
    qemu_ = std::move(qemu);
    kvm_ = false;
    remarks_.clear();
    if (plan.exact && plan.accel == plan::Accel::kvm) {
        return fail(Code::invalid,
                    "--exact counts instructions, which only TCG can: leave out "
                    "--accel kvm");
    }
    if (!plan.exact && plan.accel != plan::Accel::tcg && !kernels.empty()) {
        MANO_ASSIGN(const KvmAnswer answer,
                    prove_kvm(*qemu_, kernels[0], options_.cache, options_.stop));
        kvm_ = answer.usable;
        if (!kvm_ && plan.accel == plan::Accel::kvm) {
            return fail(Code::environment, "{}; use --accel tcg, or --exact", answer.reason);
        }
        if (!kvm_) remarks_.push_back(answer.reason);
    }
    MANO_TRY(build_modules(plan, kernels));
    if (plan.exact && plan.shape.cpus > 1) {
        remarks_.push_back(
            fmt::format("Exact mode runs the guest's CPUs in turns of {} us: counters are exact, "
                        "lock contention "
                        "and parallel latencies are not those of hardware.",
                        kTurnUs));
    }
    identity_ = {{"substrate", "guest"},
                 {"accel", kvm_ ? "kvm" : "tcg"},
                 {"exact", plan.exact ? "yes" : "no"},
                 {"qemu", qemu_->version},
                 {"cpus", fmt::format("{}", plan.shape.cpus)},
                 {"memory_bytes", fmt::format("{}", plan.shape.memory_bytes)},
                 {"nodes", "1"}};
    if (plan.exact) {
        identity_["turn_us"] = fmt::format("{}", kTurnUs);
        identity_["qemu_clock"] = "still";
    }
    return {};
}

// A kernel that they can't be built for is left to the agent's precondition, and said beforehand.
Status GuestSubstrate::build_modules(const plan::Plan& plan,
                                     const std::vector<kernels::Kernel>& kernels) {
    kernels::Options how;
    how.cache = options_.cache;
    how.stop = options_.stop;
    how.progress = options_.progress;
    modules_.clear();
    for (const std::string& name : plan.shape.modules) {
        MANO_ASSIGN(const kernels::ModuleSource source, kernels::shipped_module(name));
        std::set<std::string> told;
        for (const kernels::Kernel& kernel : kernels) {
            if (modules_.contains({kernel.id, name}) || told.contains(kernel.id)) continue;
            if (!kernels::can_build_modules(kernel)) {
                told.insert(kernel.id);
                remarks_.push_back(fmt::format(
                    "The module {} can't be built for the kernel {}, which wasn't built here: its "
                    "trials will end as 'precondition missing'. Name it as source:VERSION or "
                    "tree:DIR.",
                    name, kernel.provenance.release));
                continue;
            }
            auto module = kernels::build_module(kernel, source, how);
            if (!module) return wrap(module.error(), "module {}", name);
            modules_.emplace(std::pair(kernel.id, name), std::move(*module));
        }
    }
    return {};
}

std::pair<unsigned, std::string> GuestSubstrate::jobs(const plan::Plan& plan,
                                                      unsigned wanted) const {
    const unsigned cpus = std::max(1U, std::thread::hardware_concurrency());
    // Exact mode runs all of a guest's CPUs on one host thread; otherwise each has its own.
    const unsigned threads = plan.exact ? 1U : std::min(plan.shape.cpus, cpus);
    const unsigned by_cpus = std::max(1U, cpus / threads);
    constexpr std::uint64_t kQemuBytes = 256 * kMiB;
    unsigned by_memory = wanted;
    const auto available = meminfo_bytes("MemAvailable");
    if (available) {
        const std::uint64_t each = plan.shape.memory_bytes + kQemuBytes + options_.log_bytes;
        // A tenth stays free for the host.
        by_memory = static_cast<unsigned>(std::max<std::uint64_t>(1, *available / 10 * 9 / each));
    }
    const unsigned most = std::min(by_cpus, by_memory);
    if (wanted <= most) return {wanted, {}};
    return {most, by_memory < by_cpus
                      ? fmt::format("{} guests at once: the host has {} of memory available", most,
                                    show_bytes(available.value_or(0)))
                      : fmt::format("{} guest{} at once: the host has {} CPUs", most,
                                    most == 1 ? "" : "s", cpus)};
}

namespace {

Status add_user_files(const plan::Plan& plan, std::vector<ImageFile>& files) {
    for (const std::string& text : plan.added_files) {
        const std::size_t first = text.find(' ');
        const std::size_t second = text.find(' ', first + 1);
        if (first == std::string::npos || second == std::string::npos) {
            return fail(Code::corrupt, "'{}' doesn't describe an added file", text);
        }
        const std::string path = text.substr(second + 1);
        MANO_ASSIGN(std::string bytes, read_file(path));
        if (sha256(bytes) != text.substr(0, first)) {
            return fail(Code::environment, "{} has changed since the run was planned", path);
        }
        files.push_back({text.substr(first + 1, second - first - 1), std::move(bytes), 0755, {}});
    }
    return {};
}

// A shell for `command`, where the host has a static busybox.
void add_shell(std::vector<ImageFile>& files) {
    for (const char* path : {"/bin/busybox", "/usr/bin/busybox"}) {
        auto bytes = read_file(path, 16 << 20);
        if (!bytes || !is_static_elf(*bytes)) continue;
        files.push_back({"bin/busybox", std::move(*bytes), 0755, {}});
        for (const char* name :
             {"sh",    "cat", "cp",  "dd",  "echo",  "false", "grep", "head", "kill", "ls", "mkdir",
              "mount", "rm",  "sed", "seq", "sleep", "sync",  "tail", "tr",   "true", "yes"}) {
            files.push_back({fmt::format("bin/{}", name), {}, 0777, "busybox"});
        }
        return;
    }
}

// The compressors' modules are soft dependencies of zram on older kernels; on newer ones they are
// part of it. What a kernel doesn't have as a module is left to the agent's precondition.
Result<std::vector<kernels::Module>> swap_modules(const kernels::Kernel& kernel,
                                                  const std::string& compressor) {
    std::vector<std::string> names;
    std::vector<std::vector<std::string>> wanted{{compressor}, {"zram"}};
    if (compressor == "lzo" || compressor == "lzo-rle") wanted[0] = {"lzo", "lzo-rle"};
    if (compressor == "lz4") wanted[0] = {"lz4"};
    std::vector<kernels::Module> all;
    for (const auto& group : wanted) {
        for (const std::string& name : group) {
            auto modules = kernels::modules_for(kernel, {name});
            if (!modules && modules.error().code == Code::not_found) {
                if (name != "zram") continue;
                return tl::unexpected<Error>(modules.error());
            }
            if (!modules) return tl::unexpected<Error>(modules.error());
            for (kernels::Module& module : *modules) {
                const bool have = std::any_of(all.begin(), all.end(), [&](const auto& other) {
                    return other.name == module.name;
                });
                if (!have) all.push_back(std::move(module));
            }
        }
    }
    return all;
}

void add_module(kernels::Module module, plan::TrialPlan& plan, std::vector<ImageFile>& files) {
    std::string name = module.name + ".ko";
    if (std::find(plan.modules.begin(), plan.modules.end(), name) != plan.modules.end()) return;
    files.push_back({"modules/" + name, std::move(module.bytes), 0644, {}});
    plan.modules.push_back(std::move(name));
}

// What a probe needs of the kernel and some kernels have as a module. One that is nowhere is left
// to the agent's precondition, which knows what it means.
Result<std::vector<kernels::Module>> probe_modules(const kernels::Kernel& kernel,
                                                   plan::LoadId probe) {
    if (probe != plan::LoadId::packet_ring) return std::vector<kernels::Module>();
    auto modules = kernels::modules_for(kernel, {"af_packet"});
    if (!modules && modules.error().code == Code::not_found) {
        return std::vector<kernels::Module>();
    }
    return modules;
}

// An attribution trial's records, with all of the kernel's symbols.
constexpr std::uint64_t kTracedLogBytes = std::uint64_t{128} << 20;

struct Prepared {
    std::string image;
    plan::TrialPlan plan;
};

Result<Prepared> prepare_image(const TrialRequest& request,
                               const std::vector<kernels::Module>& ours) {
    Prepared out;
    const plan::Arm& arm = request.plan.arms.at(request.trial.arm);
    out.plan = plan::trial_of(request.plan.cases.at(request.trial.case_).trial, arm);
    out.plan.seed = request.trial.seed;
    out.plan.traced = request.trial.traced;
    out.plan.spare_cpus = spare_cpus(request.plan);
    std::vector<ImageFile> files{{"init", std::string(agent_binary()), 0755, {}}};
    if (out.plan.swap.zram_bytes > 0) {
        MANO_ASSIGN(std::vector<kernels::Module> modules,
                    swap_modules(request.kernel, out.plan.swap.compressor));
        for (kernels::Module& module : modules)
            add_module(std::move(module), out.plan, files);
    }
    MANO_ASSIGN(std::vector<kernels::Module> more,
                probe_modules(request.kernel, out.plan.probe.id));
    for (kernels::Module& module : more)
        add_module(std::move(module), out.plan, files);
    for (const kernels::Module& module : ours)
        add_module(module, out.plan, files);
    if (out.plan.probe.id == plan::LoadId::command) add_shell(files);
    MANO_TRY(add_user_files(request.plan, files));
    MANO_ASSIGN(std::string bytes, plan::encode(out.plan));
    files.push_back({"plan", std::move(bytes), 0644, {}});
    MANO_ASSIGN(out.image, make_image(std::move(files)));
    return out;
}

}  // namespace

Result<measure::TrialRecord> GuestSubstrate::run(const TrialRequest& request,
                                                 const TrialProgress& progress,
                                                 const std::function<bool()>& stop) {
    if (!qemu_) return fail(Code::internal, "a guest was asked for before prepare()");
    measure::TrialRecord record;
    std::vector<kernels::Module> ours;
    for (const std::string& name : request.plan.shape.modules) {
        const auto built = modules_.find({request.kernel.id, name});
        if (built != modules_.end()) ours.push_back(built->second);
    }
    auto prepared = prepare_image(request, ours);
    if (!prepared && prepared.error().code == Code::not_found) {
        record.ending = Ending::precondition_missing;
        record.evidence = fmt::format(
            "the guest needs zram for its swap, and this kernel's modules can't be had: {}. Choose "
            "a "
            "kernel whose modules package is in the archive",
            prepared.error().text());
        return record;
    }
    if (!prepared) return tl::unexpected<Error>(prepared.error());
    Guest guest{.qemu = *qemu_,
                .plan = request.plan,
                .arm = request.plan.arms.at(request.trial.arm),
                .kernel = request.kernel,
                .kvm = kvm_,
                .image = std::move(prepared->image),
                .log_bytes = options_.log_bytes,
                .limits = options_.limits};
    if (request.trial.traced) guest.log_bytes = std::max(guest.log_bytes, kTracedLogBytes);
    if (request.plan.wall_limit_ns > 0) guest.limits.wall_ns = request.plan.wall_limit_ns;
    MANO_ASSIGN(Life life, live_untorn(guest, progress, stop));
    if (life.boots > 1) record.facts.push_back({"guest.boots", fmt::format("{}", life.boots)});
    record.ending = life.ending;
    record.evidence = std::move(life.evidence);
    record.console = std::move(life.console);
    record.host_ns = life.host_ns;
    record.facts.push_back({"state.memory", fmt::format("{}", request.plan.shape.memory_bytes)});
    record.facts.push_back({"state.accel", kvm_ ? "kvm" : "tcg"});
    decode_frames(life.frames, prepared->plan, record);
    return record;
}

Result<std::string> describe_added_file(const std::filesystem::path& file) {
    std::error_code error;
    const std::filesystem::path whole = std::filesystem::absolute(file, error);
    // A pipe would be waited for, and a device has no end.
    if (std::filesystem::exists(whole, error) && !std::filesystem::is_regular_file(whole, error)) {
        return fail(Code::invalid, "{}: expected a file, this is something else", file.string());
    }
    MANO_ASSIGN(const std::string bytes, read_file(whole));
    const std::string name = whole.filename().string();
    if (name.find(' ') != std::string::npos || name.empty()) {
        return fail(Code::invalid, "{}: a file for the guest needs a name without blanks",
                    file.string());
    }
    if (bytes.starts_with("\x7f"
                          "ELF") &&
        !is_static_elf(bytes)) {
        return fail(
            Code::invalid,
            "{} is dynamically linked, and the guest has no libraries: link it with -static",
            file.string());
    }
    return fmt::format("{} bin/{} {}", sha256(bytes), name, whole.string());
}

}  // namespace mano::substrate::guest
