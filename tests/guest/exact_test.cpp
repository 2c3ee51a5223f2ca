// SPDX-License-Identifier: GPL-2.0-or-later
// Exact mode: the same trial run twice gives the same record to the last digit, whatever the host
// does meanwhile (here: run the other one). And the seed matters: another seed, another result.
#include <signal.h>

#include <atomic>
#include <cstdio>
#include <filesystem>
#include <map>
#include <set>
#include <thread>

#include "base/file.h"
#include "base/units.h"
#include "experiment/experiment.h"
#include "measure/formula.h"
#include "rig.h"

namespace mano::guest_test {
namespace {

using measure::Ending;
using measure::TrialRecord;

enum class Load { shm, huge };

struct Case {
    const char* kernel;
    unsigned cpus;
    Load load;
};

std::string name_of_case(const ::testing::TestParamInfo<Case>& info) {
    std::string name(info.param.kernel);
    for (char& c : name) {
        if (c == ':' || c == '.') c = '_';
    }
    return fmt::format("{}_{}cpus_{}", name, info.param.cpus,
                       info.param.load == Load::shm ? "shm" : "huge");
}

OneTrial trial_of(const Case& what) {
    OneTrial one(what.kernel);
    one.plan.exact = true;
    one.plan.shape.cpus = what.cpus;
    plan::TrialPlan& trial = one.trial();
    trial.iterations = 2;
    trial.iteration_gap_ns = 5'000'000;
    if (what.load == Load::shm) {
        trial.probe = {plan::LoadId::shm, {2, std::int64_t{2} << 20, 100'000'000, 8}, ""};
        trial.counters = {
            {"tp.page_alloc", "kmem/mm_page_alloc", "order == 0"},
            {"tp.zone_locked", "kmem/mm_page_alloc_zone_locked", "order == 0"},
            {"tp.pcpu_drain", "kmem/mm_page_pcpu_drain", ""},
        };
        return one;
    }
    // Before 6.8 there are huge pages of one size.
    const bool old = std::string_view(what.kernel) == "debian:6.1";
    const std::int64_t folio = old ? 0 : 65536;
    one.plan.shape.zram_bytes = 96 * kMiB;
    trial.swap = {96 * kMiB, "lz4"};
    trial.pressure = {
        plan::LoadId::hold, {950'000, 2, folio, 200'000, 16384, 750'000, 50'000'000, 10'000}, ""};
    const char* knob = old ? "/sys/kernel/mm/transparent_hugepage/enabled"
                           : "/sys/kernel/mm/transparent_hugepage/hugepages-64kB/enabled";
    trial.settings = {{knob, "madvise", true}};
    trial.probe = old ? plan::LoadPlan{plan::LoadId::thp, {8 << 20, 1}, ""}
                      : plan::LoadPlan{plan::LoadId::mthp, {65536, 8 << 20, 1, 0}, ""};
    return one;
}

// Two trials at once, each from a thread that lives as long as its guest.
std::pair<TrialRecord, TrialRecord> run_both(OneTrial& a, OneTrial& b) {
    substrate::guest::GuestSubstrate substrate(a.options);
    std::pair<TrialRecord, TrialRecord> records;
    const Status ready = substrate.prepare(a.plan, {a.kernel});
    if (!ready) {
        ADD_FAILURE() << ready.error().text();
        return records;
    }
    auto job = [&substrate](OneTrial& one, TrialRecord& into) {
        auto record = substrate.run({one.plan, one.plan.trials[0], one.kernel}, {}, {});
        if (record)
            into = std::move(*record);
        else
            into.evidence = record.error().text();
    };
    std::thread other([&] { job(b, records.second); });
    job(a, records.first);
    other.join();
    auto identity = substrate.identity();
    std::printf("[ GUEST    ] accelerator %s, exact %s, QEMU %s, %s, %s CPUs: %.1f s and %.1f s\n",
                identity["accel"].c_str(), identity["exact"].c_str(), identity["qemu"].c_str(),
                a.kernel.provenance.release.c_str(), identity["cpus"].c_str(),
                static_cast<double>(records.first.host_ns) / 1e9,
                static_cast<double>(records.second.host_ns) / 1e9);
    std::fflush(stdout);
    EXPECT_EQ(identity["accel"], "tcg");
    EXPECT_EQ(identity["exact"], "yes");
    return records;
}

// A QEMU that a busy host lets run only now and then: 30 ms, then none for 30.
class Starved {
  public:
    // Whichever child a thread of ours has, until that ends.
    Starved() : thread_([this] { work(); }) {}
    Starved(const Starved&) = delete;
    Starved& operator=(const Starved&) = delete;
    ~Starved() {
        done_ = true;
        thread_.join();
    }
    int stops() const { return stops_; }

  private:
    static pid_t some_child() {
        for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
            const auto text = read_file(task.path() / "children", 4096);
            if (text && !text->empty()) return std::stoi(*text);
        }
        return 0;
    }
    void work() {
        pid_t child = 0;
        while (!done_) {
            std::this_thread::sleep_for(std::chrono::milliseconds(30));
            if (child == 0) child = some_child();
            // A number isn't used again while its parent hasn't asked how the child ended; between
            // that and the next look 30 ms may pass, in which no host hands out all its numbers.
            if (child == 0 || ::kill(child, SIGSTOP) != 0) {
                child = 0;
                continue;
            }
            ++stops_;
            std::this_thread::sleep_for(std::chrono::milliseconds(30));
            ::kill(child, SIGCONT);
        }
    }
    std::atomic<bool> done_{false};
    std::atomic<int> stops_{0};
    std::thread thread_;
};

// By the host's clock QEMU once chose the size of its table of translations, and by that which
// pages a kernel believed to be in use.
TEST(Exact, TheHostsClockChoosesNothing) {
    OneTrial one = trial_of({"debian:7.3", 2, Load::huge});
    OneTrial again = trial_of({"debian:7.3", 2, Load::huge});
    const Starved starved;
    const auto [a, b] = run_both(one, again);
    ASSERT_EQ(a.ending, Ending::goodbye) << a.evidence << "\n" << a.console;
    EXPECT_EQ(difference(a, b), "");
    EXPECT_GT(starved.stops(), 100);
}

class ExactPair : public ::testing::TestWithParam<Case> {};

TEST_P(ExactPair, TwiceTheSame) {
    OneTrial one = trial_of(GetParam());
    OneTrial again = trial_of(GetParam());
    const auto [a, b] = run_both(one, again);
    ASSERT_EQ(a.ending, Ending::goodbye) << a.evidence << "\n" << a.console;
    EXPECT_EQ(difference(a, b), "");
    // The kernel's own messages carry its clock.
    EXPECT_EQ(a.console, b.console);
    EXPECT_GT(value(a, "probe.ops", 0).value_or(0), 0);
    EXPECT_GT(a.samples.size(), 1000U);
    if (GetParam().load == Load::huge) {
        EXPECT_NEAR(value(a, "pressure.level_pct", 0, measure::Moment::before).value_or(0), 95, 1);
    }
}

INSTANTIATE_TEST_SUITE_P(
    All, ExactPair,
    ::testing::Values(Case{"debian:7.3", 1, Load::shm}, Case{"debian:7.3", 2, Load::shm},
                      Case{"debian:7.3", 4, Load::shm}, Case{"debian:7.3", 1, Load::huge},
                      Case{"debian:7.3", 2, Load::huge}, Case{"debian:7.3", 4, Load::huge},
                      Case{"debian:6.1", 1, Load::shm}, Case{"debian:6.1", 2, Load::shm},
                      Case{"debian:6.1", 4, Load::shm}, Case{"debian:6.1", 1, Load::huge},
                      Case{"debian:6.1", 2, Load::huge}, Case{"debian:6.1", 4, Load::huge}),
    name_of_case);

// The key metrics of a plan, from a trial's samples.
std::map<std::string, std::optional<double>> key_values(const plan::Plan& plan,
                                                        const TrialRecord& record) {
    auto folded = measure::fold(record.samples);
    const auto value_of = [&folded](std::string_view name) -> std::optional<double> {
        const auto found = folded.find(std::string(name));
        return found != folded.end() ? found->second : std::nullopt;
    };
    for (const auto& [name, formula] : measure::catalogue_formulas()) {
        folded[name] = formula.evaluate(value_of);
    }
    std::map<std::string, std::optional<double>> values;
    for (const plan::KeyMetric& key : plan.key_metrics) {
        if (key.formula.empty()) {
            values[key.metric.name] = value_of(key.metric.name);
            continue;
        }
        auto formula = measure::Formula::parse(key.formula);
        if (!formula) {
            ADD_FAILURE() << formula.error().text();
            continue;
        }
        values[key.metric.name] = formula->evaluate(value_of);
    }
    return values;
}

// Two at a time, and only as many as it takes.
constexpr std::uint32_t kSeeds = 6;

plan::Plan shipped(std::string_view name, std::map<std::string, std::string> set,
                   std::vector<std::string> cases) {
    auto experiment = experiment::load(name);
    if (!experiment) {
        ADD_FAILURE() << experiment.error().text();
        return {};
    }
    experiment::PlanOptions options;
    options.arms = {{"7.3", "debian:7.3", {}, {}}};
    options.trials = kSeeds;
    options.cases = std::move(cases);
    options.set = std::move(set);
    options.exact = true;
    auto plan = experiment::make_plan(*experiment, options);
    if (!plan) {
        ADD_FAILURE() << plan.error().text();
        return {};
    }
    return std::move(*plan);
}

// Of a few seeds, two differ in each key metric (small counts may meet by chance).
void expect_seeds_matter(const plan::Plan& plan) {
    ASSERT_GE(plan.trials.size(), kSeeds);
    std::map<std::string, std::set<std::optional<double>>> seen;
    std::string text;
    bool all_differ = false;
    for (std::size_t first = 0; first + 1 < kSeeds && !all_differ; first += 2) {
        OneTrial one("debian:7.3");
        OneTrial other("debian:7.3");
        one.plan = other.plan = plan;
        one.plan.trials = {plan.trials[first]};
        other.plan.trials = {plan.trials[first + 1]};
        ASSERT_NE(one.plan.trials[0].seed, other.plan.trials[0].seed);
        const auto [a, b] = run_both(one, other);
        for (const TrialRecord* record : {&a, &b}) {
            ASSERT_EQ(record->ending, Ending::goodbye) << record->evidence;
            for (const auto& [name, value] : key_values(plan, *record)) {
                EXPECT_TRUE(value) << name << " isn't known";
                // A trigger fires once in a window at most: whole seconds of stalls may be one or
                // none.
                if (!name.starts_with("trigger.")) seen[name].insert(value);
                text += fmt::format("  {} = {}\n", name, value ? fmt::format("{}", *value) : "?");
            }
        }
        all_differ = true;
        for (const auto& [name, values] : seen)
            all_differ = all_differ && values.size() > 1;
    }
    for (const auto& [name, values] : seen) {
        EXPECT_GT(values.size(), 1U) << name << " is the same for every seed";
    }
    std::printf("%s", text.c_str());
}

TEST(Seeds, DifferInShmChurn) {
    expect_seeds_matter(shipped("shm-churn", {{"probe.duration", "1s"}}, {}));
}

TEST(Seeds, DifferInMthpFault) {
    // Smaller than shipped, but above the half GiB below which kernels switch THP's reclaim off.
    // Many holes of single pages, and a demand that leaves some of that memory free: compaction has
    // work as well as reclaim.
    expect_seeds_matter(shipped("mthp-fault",
                                {{"guest.memory", "640MiB"},
                                 {"guest.zram", "320MiB"},
                                 {"pressure.folio", "0"},
                                 {"pressure.punch", "15%"},
                                 {"pressure.punch_chunk", "4KiB"},
                                 {"probe.size", "64MiB"},
                                 {"probe.duration", "200ms"},
                                 {"run.iterations", "2"}},
                                {"demand=95%"}));
}

}  // namespace
}  // namespace mano::guest_test
