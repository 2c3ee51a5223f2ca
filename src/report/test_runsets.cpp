// SPDX-License-Identifier: GPL-2.0-or-later
#include "report/test_runsets.h"

namespace mano::report::testing {

using measure::Better;
using measure::Ending;

Builder::Builder(std::vector<std::string> arms, std::vector<std::string> cases) {
    runset.id = "20261130-154434-shm-churn-3f2a";
    runset.started = "2026-11-30T15:44:34Z";
    runset.finished = "2026-11-30T15:52:01Z";
    runset.state = store::RunState::complete;
    runset.version = "0.1.0";
    runset.command_line = "manometer run shm-churn";
    runset.identity = {{"accel", "tcg"}, {"qemu", "7.2.22"}, {"cpus", "4"}};
    plan::Plan& plan = runset.plan;
    plan.experiment = "shm-churn";
    plan.experiment_sha256 = std::string(64, 'a');
    plan.question = "Does order-0 memory come from the zone, under its lock, more often?";
    plan.exact = true;
    plan.shape.memory_bytes = std::uint64_t{1} << 30;
    plan.shape.cpus = 4;
    plan.shape.zram_bytes = std::uint64_t{512} << 20;
    plan.shape.zram_compressor = "lz4";
    plan.shape.lru_gen = true;
    for (const std::string& name : arms) {
        plan::Arm arm;
        arm.name = name;
        arm.kernel_spec = "debian:" + name;
        runset.command_line += " -k " + name + "=" + arm.kernel_spec;
        plan.arms.push_back(arm);
        runset.arms.push_back(
            {name, R"({"release":")" + name + R"(.4+deb13-cloud-amd64","spec":"debian:)" + name +
                       R"(","compiler":"gcc-14 (Debian 14.2.0-19) 14.2.0","config_sha256":")" +
                       std::string(64, name.back()) + R"("})"});
    }
    runset.command_line += " --exact --trials 6";
    for (const std::string& name : cases) {
        plan::Case each;
        each.name = name;
        if (const std::size_t equals = name.find('='); equals != std::string::npos) {
            each.parameters["pressure." + name.substr(0, equals)] = name.substr(equals + 1);
        }
        plan.cases.push_back(each);
    }
}

Builder& Builder::trial(std::uint32_t arm, std::uint32_t case_) {
    store::StoredTrial trial;
    trial.done = true;
    trial.planned.position = static_cast<std::uint32_t>(runset.trials.size());
    trial.planned.arm = arm;
    trial.planned.case_ = case_;
    for (const store::StoredTrial& other : runset.trials) {
        if (other.planned.arm == arm && other.planned.case_ == case_) ++trial.planned.row;
    }
    trial.planned.seed = 1 + trial.planned.row;
    trial.record.ending = Ending::goodbye;
    trial.standing = measure::Standing::counted;
    runset.plan.trials.push_back(trial.planned);
    runset.trials.push_back(std::move(trial));
    return *this;
}

Builder& Builder::counter(const std::string& name, std::optional<double> grown,
                          std::uint32_t iteration) {
    constexpr double kStart = 1000;
    last().record.samples.push_back({name, iteration, measure::Moment::before, kStart});
    last().record.samples.push_back({name, iteration, measure::Moment::after,
                                     grown ? std::optional(kStart + *grown) : std::nullopt});
    return *this;
}

Builder& Builder::value(const std::string& name, std::optional<double> value) {
    last().record.samples.push_back({name, std::nullopt, measure::Moment::whole, value});
    return *this;
}

Builder& Builder::fact(const std::string& name, const std::string& value) {
    last().record.facts.push_back({name, value});
    return *this;
}

Builder& Builder::loss(const std::string& source, std::uint64_t count, const std::string& meaning) {
    last().record.losses.push_back({source, count, meaning});
    return *this;
}

Builder& Builder::ends(Ending ending, const std::string& evidence) {
    last().record.ending = ending;
    last().record.evidence = evidence;
    last().standing = measure::standing(ending);
    return *this;
}

Builder& Builder::fill(const std::string& name, const std::vector<std::vector<double>>& values,
                       std::uint32_t case_) {
    for (std::size_t row = 0; row < values.front().size(); ++row) {
        for (std::uint32_t arm = 0; arm < values.size(); ++arm) {
            if (row < values[arm].size()) trial(arm, case_).counter(name, values[arm][row]);
        }
    }
    return *this;
}

measure::Metric metric(const std::string& name, const std::string& unit, Better better,
                       double margin_pct, double floor, measure::Kind kind) {
    measure::Metric made;
    made.name = name;
    made.unit = unit;
    made.kind = kind;
    made.better = better;
    made.margin_pct = margin_pct;
    made.floor = floor;
    made.meaning = "made for a test";
    return made;
}

plan::KeyMetric key(measure::Metric metric, bool primary, std::string formula) {
    plan::KeyMetric made;
    made.metric = std::move(metric);
    made.primary = primary;
    made.formula = std::move(formula);
    return made;
}

namespace {

// The figures seen by hand on 7.1 and 7.3, spread over six seeds.
store::RunSet worse() {
    Builder builder({"7.1", "7.3"});
    auto& plan = builder.runset.plan;
    plan.key_metrics = {
        key(metric("zone_locked_pct", "%", Better::lower, 2, 0, measure::Kind::ratio), true,
            "100 * tp.zone_locked / tp.alloc"),
        key(metric("probe.ops", "count", Better::higher)),
        key(metric("tp.pcpu_drain", "count", Better::lower, 5, 100))};
    plan.not_observable = {{"probe.ops", "exact mode runs the CPUs in turn: no lock is contended"}};
    const std::vector<std::vector<double>> locked = {{17451, 17120, 17801, 17333, 17602, 17265},
                                                     {30554, 30120, 30990, 30241, 30777, 30402}};
    const std::vector<std::vector<double>> drains = {{8791, 8610, 8955, 8702, 8834, 8689},
                                                     {21236, 20981, 21533, 21110, 21402, 21187}};
    for (std::size_t row = 0; row < 6; ++row) {
        for (std::uint32_t arm = 0; arm < 2; ++arm) {
            builder.trial(arm)
                .counter("tp.zone_locked", locked[arm][row])
                .counter("tp.alloc", arm == 0 ? 295595 + 31.0 * static_cast<double>(row)
                                              : 289132 - 17.0 * static_cast<double>(row))
                .counter("tp.pcpu_drain", drains[arm][row])
                .counter("probe.ops", 177 + static_cast<double>(row % 2))
                .counter("vmstat.compact_stall", static_cast<double>(row + 2 * arm))
                .counter("vmstat.pgfault", 400000 + 13.0 * static_cast<double>(row * (1 + arm)))
                .counter("psi.probe.memory.some.total_us",
                         60000 + 70000.0 * arm + 311.0 * static_cast<double>(row))
                .value("probe.time_ns", 3e9)
                .fact("state.swap", "zram 536870912 bytes")
                .fact("state.zram.compressor", "lz4")
                .fact("state.lru_gen", arm == 0 ? "0x0003" : "0x0007")
                .fact("sysctl.vm/compaction_proactiveness", arm == 0 ? "20" : "0");
        }
    }
    return builder.runset;
}

store::RunSet cases() {
    Builder builder({"before", "after"}, {"demand=0.9", "demand=0.95", "demand=1"});
    auto& plan = builder.runset.plan;
    plan.experiment = "aux-alloc";
    plan.question = "";
    plan.key_metrics = {
        key(metric("psi.probe.memory.some.total_us", "us", Better::lower, 5, 4000), true),
        key(metric("vmstat.compact_stall", "count", Better::lower, 5, 10))};
    const std::vector<std::vector<std::vector<double>>> psi = {
        {{0, 0, 0, 0, 0, 0, 0, 0}, {0, 0, 0, 0, 0, 0, 0, 0}},
        {{64099, 51200, 70033, 0, 58000, 61234, 66001, 49000}, {430, 0, 0, 0, 0, 0, 610, 0}},
        {{98343, 40100, 120500, 88000, 99012, 79000, 101002, 85500},
         {90298, 60104, 99000, 101000, 93000, 84000, 71002, 95500}}};
    for (std::uint32_t c = 0; c < 3; ++c) {
        for (std::size_t row = 0; row < 8; ++row) {
            for (std::uint32_t arm = 0; arm < 2; ++arm) {
                builder.trial(arm, c)
                    .counter("psi.probe.memory.some.total_us", psi[c][arm][row])
                    .counter("vmstat.compact_stall",
                             c == 0 || arm == 1 ? 0 : 60 + static_cast<double>(row))
                    .value("pressure.level_pct", 90 + 5.0 * c + 0.1 * static_cast<double>(arm));
            }
        }
    }
    return builder.runset;
}

store::RunSet too_few() {
    Builder builder({"7.1", "7.3"});
    builder.runset.plan.key_metrics = {key(metric("probe.ops", "count", Better::higher), true),
                                       key(metric("vmstat.allocstall", "count", Better::lower))};
    builder.fill("probe.ops", {{100, 104, 98}, {60, 63, 58}});
    builder.runset.state = store::RunState::partial;
    builder.trial(1);
    builder.runset.trials.back().done = false;
    return builder.runset;
}

store::RunSet one_trial() {
    Builder builder({"7.1", "7.3"});
    builder.runset.plan.key_metrics = {key(metric("probe.ops", "count", Better::higher), true)};
    builder.fill("probe.ops", {{100}, {60}});
    return builder.runset;
}

store::RunSet not_comparable() {
    Builder builder({"7.1", "7.3"});
    builder.runset.plan.key_metrics = {key(metric("probe.ops", "count", Better::higher), true)};
    const std::vector<std::vector<double>> ops = {{100, 101, 102, 103, 104, 105},
                                                  {60, 61, 62, 63, 64, 65}};
    for (std::size_t row = 0; row < 6; ++row) {
        for (std::uint32_t arm = 0; arm < 2; ++arm) {
            builder.trial(arm)
                .counter("probe.ops", ops[arm][row])
                .fact("state.thp", arm == 0 ? "never" : "always")
                .fact("state.swap", "none");
        }
    }
    return builder.runset;
}

store::RunSet mishaps() {
    Builder builder({"7.1", "7.3"});
    builder.runset.plan.exact = false;
    builder.runset.plan.key_metrics = {
        key(metric("probe.ops", "count", Better::higher), true),
        key(metric("vmstat.allocstall_normal", "count", Better::lower))};
    for (std::size_t row = 0; row < 6; ++row) {
        builder.trial(0)
            .counter("probe.ops", 100 + static_cast<double>(row))
            .counter("vmstat.allocstall_normal", 50 + static_cast<double>(row));
        builder.trial(1).counter("vmstat.allocstall_normal", 52 + static_cast<double>(row));
        if (row < 5) {
            builder.counter("probe.ops", std::nullopt)
                .loss("psi", 2, "iterations with fewer than 10 non-idle jiffies")
                .ends(Ending::panic,
                      "Kernel panic - not syncing: System is deadlocked on memory\n\x1b[31mtrace");
        } else {
            builder.counter("probe.ops", 99);
        }
    }
    builder.trial(1).ends(Ending::pressure_missed,
                          "reached 81.2 % of the demand within 60 s of guest time, wanted 90 %");
    return builder.runset;
}

store::RunSet three_arms() {
    Builder builder({"7.1", "7.2", "7.3"});
    builder.runset.plan.key_metrics = {
        key(metric("probe.ops", "count", Better::higher), true),
        key(metric("mthp.64kB.anon_fault_fallback_charge_with_a_very_long_name", "count",
                   Better::lower))};
    const std::vector<std::vector<double>> ops = {{1000, 1010, 990, 1005, 995, 1002},
                                                  {1001, 1009, 993, 1004, 997, 1000},
                                                  {1100, 1110, 1090, 1105, 1095, 1102}};
    for (std::size_t row = 0; row < 6; ++row) {
        for (std::uint32_t arm = 0; arm < 3; ++arm) {
            builder.trial(arm)
                .counter("probe.ops", ops[arm][row])
                .counter("mthp.64kB.anon_fault_fallback_charge_with_a_very_long_name", 7.0 + arm);
        }
    }
    return builder.runset;
}

store::RunSet one_arm() {
    Builder builder({"7.3"});
    builder.runset.plan.key_metrics = {key(metric("probe.ops", "count", Better::higher), true)};
    builder.fill("probe.ops", {{100, 104, 98, 101}});
    return builder.runset;
}

}  // namespace

std::vector<std::pair<std::string, store::RunSet>> golden_runsets() {
    return {{"worse", worse()},
            {"cases", cases()},
            {"too-few", too_few()},
            {"one-trial", one_trial()},
            {"not-comparable", not_comparable()},
            {"mishaps", mishaps()},
            {"three-arms", three_arms()},
            {"one-arm", one_arm()}};
}

}  // namespace mano::report::testing
