// SPDX-License-Identifier: GPL-2.0-or-later
#include "substrate/model/trial.h"

#include <algorithm>
#include <cmath>

#include "model/arrange.h"
#include "model/load/kernel_load.h"
#include "substrate/model/loads.h"

namespace mano::substrate::model {
namespace {

namespace pm = mano::model;
using measure::Ending;
using measure::Moment;

// Pages that a kernel of the lab takes before the allocator sees them: its image and what it
// reserves; and 64 bytes of struct page for each frame (a 1 GiB guest has 253,801 of 262,144).
constexpr std::uint64_t kImagePages = 4247;
constexpr std::uint64_t kFramesAPage = 64;
constexpr double kBackgroundRate = 2000;  // small allocations of daemons a second
constexpr double kHour = 3.6e12;
constexpr std::uint64_t kStepsBetweenLooks = 4096;  // at the stop

// One trial while it runs.
class Run {
  public:
    Run(const plan::Plan& plan, const plan::TrialPlan& trial, std::uint64_t seed,
        const Rules& rules, const TrialProgress& progress, const std::function<bool()>& stop)
        : trial_(trial),
          arm_(rules.arm),
          dump_(rules.dump),
          progress_(progress),
          stop_(stop),
          rng_(seed),
          memory_(machine_of(plan.shape, trial, rules), *arm_.variant, rng_.split(1).next()),
          engine_(memory_, arm_.costs, arm_.preemption) {
        record_.ending = Ending::goodbye;
        state(plan);
    }

    Result<measure::TrialRecord> whole() {
        begin();
        engine_.add(pm::make_background(engine_.machine().cpus() - 1, kBackgroundRate,
                                        rng_.split(2).next()),
                    0);
        MANO_TRY(press());
        if (record_.ending != Ending::goodbye) return std::move(record_);
        const LoadedProbe probe(engine_, trial_.probe, arm_, rng_.split(3).next());
        for (std::uint32_t i = 0; i < trial_.iterations; ++i) {
            progress_(fmt::format("probe {}/{}", i + 1, trial_.iterations));
            MANO_TRY(iterate(*probe.get(), i));
        }
        if (std::string breach = memory_.validate(); !breach.empty())
            return fail(Code::internal, "the model broke an invariant: {}", breach);
        return std::move(record_);
    }

  private:
    // Memory as it is before anything runs.
    void begin() {
        if (!dump_) return pm::boot(memory_, {});
        Rng rng = rng_.split(5);
        for (std::size_t zone = 0; zone < dump_->zones.size(); ++zone) {
            const std::uint64_t lost = pm::arrange(memory_, zone, dump_->zones[zone], rng);
            if (lost == 0) continue;
            record_.losses.push_back({"model.dump", lost,
                                      fmt::format("free pages of zone {} of the dump found no "
                                                  "place beside the others: they are in use",
                                                  zone)});
        }
    }

    void state(const plan::Plan& plan) {
        const auto fact = [&](std::string key, std::string value) {
            record_.facts.push_back({std::move(key), std::move(value)});
        };
        fact("kernel.release", "model " + arm_.text);
        fact("state.memory", fmt::format("{}", plan.shape.memory_bytes));
        fact("state.cpus", fmt::format("{}", plan.shape.cpus));
        fact("state.page_bytes", fmt::format("{}", pm::kPageBytes));
        fact("state.thp", plan.shape.thp);
        for (const auto& [bytes, mode] : plan.shape.mthp)
            fact(fmt::format("state.mthp.{}kB", bytes / 1024), mode);
        fact("state.lru_gen", engine_.machine().shape().lru_gen ? "0x0001" : "0x0000");
        fact("state.psi", "on");
        fact("state.preemption", std::string(name_of(arm_.preemption)));
        fact("state.swap", plan.shape.zram_bytes == 0
                               ? std::string("none")
                               : fmt::format("zram {} bytes", plan.shape.zram_bytes));
    }

    // Until `done` or the stop.
    Status advance(const std::function<bool()>& done, double limit) {
        std::uint64_t steps = 0;
        bool stopped = false;
        const bool there = engine_.run_until(
            [&] {
                if (++steps % kStepsBetweenLooks == 0 && stop_()) stopped = true;
                return stopped || done();
            },
            limit);
        if (stopped) return fail(Code::interrupted, "stopped");
        if (!there && !done()) {
            record_.ending = Ending::wall_clock;
            record_.evidence = "the model came to no end within an hour of its own time";
        }
        return {};
    }

    Status press() {
        pressure_ = make_pressure(engine_, trial_.pressure, arm_, rng_.split(4).next());
        if (pressure_ == nullptr) return {};
        progress_("pressure");
        const double limit = trial_.pressure_limit_ns > 0
                                 ? engine_.now() + static_cast<double>(trial_.pressure_limit_ns)
                                 : kHour;
        MANO_TRY(advance([&] { return pressure_->up() || pressure_->killed(); }, limit));
        if (pressure_->killed()) {
            record_.ending = Ending::worker_oom_killed;
            record_.evidence = "a worker of the pressure found no memory at all";
        } else if (!pressure_->up()) {
            record_.ending = Ending::pressure_missed;
            record_.evidence = "the pressure wasn't up within its time";
        }
        return {};
    }

    void sample(std::string name, double value, std::uint32_t iteration, Moment moment) {
        record_.samples.push_back({std::move(name), iteration, moment, value});
    }

    // What is read before and after the probe.
    void read(const pm::Probe& probe, std::uint32_t iteration, Moment moment) {
        const pm::Counters& counters = engine_.machine().counters();
        double stalls = 0;
        for (std::size_t i = 0; i < pm::kCounters; ++i) {
            const auto counter = static_cast<pm::Counter>(i);
            const std::string name(name_of(counter));
            const auto value = static_cast<double>(counters[counter]);
            if (name.starts_with("vmstat.allocstall_")) stalls += value;
            // Tracepoints are the experiment's to name.
            if (!name.starts_with("tp.")) sample(name, value, iteration, moment);
        }
        sample("vmstat.allocstall", stalls, iteration, moment);
        for (const auto& [name, value] : probe.counters())
            sample(name, value, iteration, moment);
        for (const plan::CounterPlan& counter : trial_.counters)
            read_tracepoint(counter, iteration, moment);
        if (pressure_ == nullptr) return;
        for (const auto& [name, value] : pressure_->figures())
            sample(name, value, iteration, moment);
    }

    void read_tracepoint(const plan::CounterPlan& counter, std::uint32_t iteration, Moment moment) {
        struct Known {
            std::string_view event, filter;
            pm::Counter counter;
        };
        using C = pm::Counter;
        constexpr Known kKnown[] = {
            {"kmem/mm_page_alloc", "", C::mm_page_alloc},
            {"kmem/mm_page_alloc", "order == 0", C::mm_page_alloc_order0},
            {"kmem/mm_page_alloc_zone_locked", "", C::zone_locked},
            {"kmem/mm_page_alloc_zone_locked", "order == 0", C::zone_locked_order0},
            {"kmem/mm_page_alloc_extfrag", "", C::extfrag},
            {"kmem/mm_page_alloc_extfrag", "alloc_order == 0", C::extfrag_order0},
            {"kmem/mm_page_pcpu_drain", "", C::pcpu_drain},
        };
        for (const Known& known : kKnown) {
            if (counter.event != known.event || counter.filter != known.filter) continue;
            sample(counter.metric, static_cast<double>(engine_.machine().counters()[known.counter]),
                   iteration, moment);
            return;
        }
        if (iteration > 0 || moment != Moment::before) return;
        record_.losses.push_back({counter.metric, 1,
                                  fmt::format("the model has no tracepoint {} with the filter '{}'",
                                              counter.event, counter.filter)});
    }

    // Exactly as a pressure file is read: once before and once after, each collecting.
    struct PsiRead {
        pm::PsiTotals probe, system;
        double nonidle_ns = 0;
    };
    PsiRead read_psi() {
        PsiRead out;
        out.probe = engine_.read_psi(pm::Group::probe);
        out.system = engine_.read_system_psi();
        out.nonidle_ns = engine_.nonidle_ns(pm::Group::probe);
        return out;
    }
    void sample_psi(const PsiRead& before, const PsiRead& after, std::uint32_t iteration) {
        constexpr double kUs = 1e3;
        const auto both = [&](const char* name, double first, double second) {
            sample(name, std::floor(first / kUs), iteration, Moment::before);
            sample(name, std::floor(second / kUs), iteration, Moment::after);
        };
        both("psi.probe.memory.some.total_us", before.probe.some_ns, after.probe.some_ns);
        both("psi.probe.memory.full.total_us", before.probe.full_ns, after.probe.full_ns);
        both("psi.system.memory.some.total_us", before.system.some_ns, after.system.some_ns);
        both("psi.system.memory.full.total_us", before.system.full_ns, after.system.full_ns);
        both("model.probe.true_stall_us", before.probe.true_some_ns, after.probe.true_some_ns);
    }

    Status iterate(pm::Probe& probe, std::uint32_t iteration) {
        if (record_.ending != Ending::goodbye) return {};
        const double gap = static_cast<double>(trial_.iteration_gap_ns) * (0.5 + rng_.unit());
        const double go = engine_.now() + std::max(gap, 1e6);
        MANO_TRY(advance([&] { return engine_.now() >= go; }, kHour));
        const PsiRead psi = read_psi();
        read(probe, iteration, Moment::before);
        probe.begin(engine_);
        MANO_TRY(advance([&] { return probe.ended(); }, engine_.now() + kHour));
        if (record_.ending != Ending::goodbye) return {};
        const PsiRead after = read_psi();
        read(probe, iteration, Moment::after);
        sample_psi(psi, after, iteration);
        for (const auto& [name, value] : probe.figures())
            sample(name, value, iteration, Moment::whole);
        return {};
    }

    const plan::TrialPlan& trial_;
    const pm::Arm& arm_;
    const std::optional<Dump>& dump_;
    const TrialProgress& progress_;
    const std::function<bool()>& stop_;
    Rng rng_;
    pm::Memory memory_;
    pm::Engine engine_;
    std::unique_ptr<pm::Pressure> pressure_;
    measure::TrialRecord record_;
};

}  // namespace

pm::MachineShape machine_of(const plan::GuestShape& shape, const plan::TrialPlan& trial,
                            const Rules& rules) {
    constexpr std::uint64_t kDma32End = std::uint64_t{3} << 18;  // 3 GiB
    const std::uint64_t frames = shape.memory_bytes / pm::kPageBytes;
    const std::uint64_t taken = frames / kFramesAPage + kImagePages;
    const std::uint64_t managed = frames > 2 * taken ? frames - taken : frames / 2;
    pm::MachineShape out;
    if (rules.dump) {
        out = rules.dump->shape;
    } else {
        // Evenly over the nodes; what lies below 4 GiB is the first one's.
        const unsigned nodes = std::min(rules.arm.nodes, std::max(1U, shape.cpus));
        for (unsigned i = 0; i < nodes; ++i) {
            pm::NodeShape node;
            node.cpus = shape.cpus / nodes + (i < shape.cpus % nodes ? 1 : 0);
            const std::uint64_t pages = managed / nodes;
            node.managed[pm::kDma32] = i == 0 ? std::min(pages, kDma32End) : 0;
            node.managed[pm::kNormal] = pages - node.managed[pm::kDma32];
            out.nodes.push_back(node);
        }
    }
    // khugepaged runs, and has raised min_free_kbytes, as soon as any size is enabled.
    // A dump shows what it was raised to.
    const bool sizes = std::any_of(shape.mthp.begin(), shape.mthp.end(),
                                   [](const auto& size) { return size.second != "never"; });
    out.boot.thp = !rules.dump && (shape.thp != "never" || sizes);
    out.lru_gen = rules.arm.lru_gen.value_or(shape.lru_gen.value_or(true));
    out.swap_pages = shape.zram_bytes / pm::kPageBytes;
    out.swap_ratio = swap_ratio_of(trial.pressure);
    return out;
}

Result<measure::TrialRecord> run_trial(const plan::Plan& plan, const plan::TrialPlan& trial,
                                       std::uint64_t seed, const Rules& rules,
                                       const TrialProgress& progress,
                                       const std::function<bool()>& stop) {
    Run run(plan, trial, seed, rules, progress, stop);
    return run.whole();
}

}  // namespace mano::substrate::model
