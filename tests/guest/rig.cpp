// SPDX-License-Identifier: GPL-2.0-or-later
#include "rig.h"

#include <signal.h>
#include <unistd.h>
#include <charconv>

#include <cstdio>
#include <cstdlib>
#include <map>

#include "base/file.h"
#include "base/units.h"

namespace mano::guest_test {

kernels::Kernel kernel(std::string_view spec) {
    static std::map<std::string, kernels::Kernel, std::less<>> known;
    if (const auto found = known.find(spec); found != known.end()) return found->second;
    kernels::Options options;
    options.cache = cache_folder();
    auto resolved = kernels::resolve(spec, options);
    if (!resolved) {
        std::fprintf(stderr,
                     "\nFAILED: no kernel to test with. %.*s: %s\n"
                     "Guest tests need real kernels: give this machine network once, or copy a "
                     "filled cache to %s.\n",
                     static_cast<int>(spec.size()), spec.data(), resolved.error().text().c_str(),
                     options.cache.c_str());
        std::exit(1);
    }
    return known.emplace(spec, std::move(*resolved)).first->second;
}

OneTrial::OneTrial(std::string_view kernel_spec) : kernel(guest_test::kernel(kernel_spec)) {
    plan.accel = plan::Accel::tcg;
    plan.shape.memory_bytes = 256 * kMiB;
    plan.shape.cpus = 1;
    plan.arms.push_back({"a", std::string(kernel_spec), {}, {}});
    plan::Case only;
    only.trial.iterations = 1;
    only.trial.pressure_limit_ns = 120'000'000'000;
    only.trial.probe_limit_ns = 120'000'000'000;
    only.trial.pressure = {plan::LoadId::none, {64}, ""};
    only.trial.probe = {plan::LoadId::idle, {50'000'000}, ""};
    plan.cases.push_back(std::move(only));
    plan.trials.push_back({0, 0, 0, 0, 1});
    options.cache = cache_folder();
    // The machine that tests may be busy with much else.
    options.limits.boot_ns = 300'000'000'000;
}

OneTrial& OneTrial::program(std::string_view line) {
    const std::string name(line.substr(0, line.find(' ')));
    auto added = substrate::guest::describe_added_file(MANO_GUEST_PROGRAMS "/" + name);
    if (!added) {
        ADD_FAILURE() << added.error().text();
        return *this;
    }
    plan.added_files.push_back(std::move(*added));
    trial().probe = {plan::LoadId::command, {60'000'000'000}, std::string(line)};
    return *this;
}

OneTrial& OneTrial::seed(std::uint64_t seed) {
    plan.trials[0].seed = seed;
    return *this;
}

Ran run(OneTrial& one) {
    Ran ran;
    substrate::guest::GuestSubstrate substrate(one.options);
    if (const Status ready = substrate.prepare(one.plan, {one.kernel}); !ready) {
        ran.error = ready.error().text();
        ran.code = ready.error().code;
        return ran;
    }
    ran.identity = substrate.identity();
    auto record = substrate.run({one.plan, one.plan.trials[0], one.kernel}, one.on_phase, {});
    EXPECT_TRUE(qemu_children(::getpid()).empty()) << "a QEMU is left";
    if (!record) {
        ran.error = record.error().text();
        ran.code = record.error().code;
        return ran;
    }
    std::printf("[ GUEST    ] accelerator %s%s, QEMU %s, %s, %s CPUs: %s after %.1f s\n",
                ran.identity["accel"].c_str(), one.plan.exact ? " (exact)" : "",
                ran.identity["qemu"].c_str(), one.kernel.provenance.release.c_str(),
                ran.identity["cpus"].c_str(), std::string(name_of(record->ending)).c_str(),
                static_cast<double>(record->host_ns) / 1e9);
    std::fflush(stdout);
    if (::getenv("MANO_SHOW") != nullptr) {
        std::printf("evidence:\n%s\nconsole:\n%s\n", record->evidence.c_str(),
                    record->console.c_str());
    }
    EXPECT_EQ(ran.identity["accel"], "tcg");
    ran.record = std::move(*record);
    return ran;
}

measure::TrialRecord record_of(OneTrial& one) {
    Ran ran = run(one);
    if (!ran.record) {
        ADD_FAILURE() << "no trial: " << ran.error;
        return {};
    }
    return std::move(*ran.record);
}

namespace {

// The number at the text's start; 0: there is none.
pid_t number(std::string_view text) {
    pid_t value = 0;
    std::from_chars(text.data(), text.data() + text.size(), value);
    return value;
}

}  // namespace

std::vector<pid_t> qemu_children(pid_t parent) {
    std::vector<pid_t> found;
    std::error_code ignored;
    for (const auto& entry : std::filesystem::directory_iterator("/proc", ignored)) {
        const pid_t pid = number(entry.path().filename().string());
        if (pid <= 0) continue;
        const auto stat = read_file(entry.path() / "stat", 4096);
        if (!stat) continue;
        // "pid (name) state ppid …"; the name is the kernel's, cut to 15 characters.
        const std::size_t open = stat->find('(');
        const std::size_t close = stat->rfind(')');
        if (open == std::string::npos || close == std::string::npos) continue;
        const pid_t its_parent = number(std::string_view(*stat).substr(close + 4));
        if (its_parent == parent && stat->compare(open + 1, 5, "qemu-") == 0) found.push_back(pid);
    }
    return found;
}

bool is_alive(pid_t pid) {
    const auto stat = read_file(fmt::format("/proc/{}/stat", pid), 4096);
    if (!stat) return false;
    const std::size_t close = stat->rfind(')');
    // A zombie holds nothing but its number.
    return close != std::string::npos && stat->size() > close + 2 && (*stat)[close + 2] != 'Z';
}

std::string fact(const measure::TrialRecord& record, std::string_view key) {
    for (const measure::Fact& fact : record.facts) {
        if (fact.key == key) return fact.value;
    }
    return "(no such fact)";
}

std::optional<double> value(const measure::TrialRecord& record, std::string_view metric,
                            std::optional<std::uint32_t> iteration, measure::Moment moment) {
    for (const measure::Sample& sample : record.samples) {
        if (sample.metric == metric && sample.iteration == iteration && sample.moment == moment) {
            return sample.value;
        }
    }
    return std::nullopt;
}

namespace {

std::string text_of(const measure::Sample& sample) {
    return fmt::format("{} iteration {} moment {} = {}", sample.metric,
                       sample.iteration ? fmt::format("{}", *sample.iteration) : "-",
                       static_cast<int>(sample.moment),
                       sample.value ? fmt::format("{}", *sample.value) : "unknown");
}
std::string text_of(const measure::Fact& fact) {
    return fact.key + " = " + fact.value;
}
std::string text_of(const measure::Loss& loss) {
    return fmt::format("{}: {} {}", loss.source, loss.count, loss.meaning);
}

template <typename T>
void compare(const std::vector<T>& a, const std::vector<T>& b, std::string_view what,
             std::string& out, int& lines) {
    if (a.size() != b.size()) out += fmt::format("{} {} and {}\n", what, a.size(), b.size());
    for (std::size_t i = 0; i < a.size() && i < b.size(); ++i) {
        if (a[i] == b[i]) continue;
        if (++lines <= 10) out += fmt::format("  {}\n  {}\n", text_of(a[i]), text_of(b[i]));
    }
}

}  // namespace

std::string difference(const measure::TrialRecord& a, const measure::TrialRecord& b) {
    std::string out;
    int lines = 0;
    if (a.ending != b.ending) {
        out += fmt::format("endings: {} and {}\n", name_of(a.ending), name_of(b.ending));
    }
    if (a.evidence != b.evidence) out += "evidence: " + a.evidence + "\nand: " + b.evidence + "\n";
    compare(a.samples, b.samples, "samples", out, lines);
    compare(a.facts, b.facts, "facts", out, lines);
    compare(a.losses, b.losses, "losses", out, lines);
    if (lines > 10) out += fmt::format("and {} more\n", lines - 10);
    return out;
}

}  // namespace mano::guest_test
