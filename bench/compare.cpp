// SPDX-License-Identifier: GPL-2.0-or-later
// 3,000 metrics, 2 arms, 20 trials: rank tests, verdicts, tests with ties, bootstrap intervals,
// each beside scipy's and R's on the same values, and lkp-tests' comparison where LKP_SRC names it.
#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/process.h"
#include "base/rng.h"
#include "stats/bootstrap.h"
#include "stats/stats.h"

namespace {

using namespace mano;
using Values = std::vector<double>;

constexpr std::size_t kMetrics = 3000;
constexpr std::size_t kTrials = 20;
constexpr int kRepeats = 7;

double normal(Rng& rng) {
    return std::sqrt(-2 * std::log(1 - rng.unit())) * std::cos(2 * M_PI * rng.unit());
}

struct Data {
    std::vector<Values> base, other;
};

// Of the metrics a tenth rises by 10 %. `step`: values are rounded to its multiples (ties in every
// metric); 0: as they come.
Data make(double step, std::uint64_t seed) {
    Rng rng(seed);
    Data data;
    const auto draw = [&](double factor) {
        Values values(kTrials);
        for (double& value : values) {
            value = 1000 * (1 + 0.1 * normal(rng)) * factor;
            if (step > 0) value = std::round(value / step) * step;
        }
        return values;
    };
    for (std::size_t i = 0; i < kMetrics; ++i) {
        data.base.push_back(draw(1));
        data.other.push_back(draw(i % 10 == 0 ? 1.1 : 1));
    }
    return data;
}

double milliseconds(clockid_t clock) {
    timespec time = {};
    clock_gettime(clock, &time);
    return 1e3 * static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_nsec);
}

struct Times {
    double lowest, median, highest, cpu;  // ms; cpu: median of the process's own time
};

// Some runs after one that fills the caches.
template <typename Work>
Times measure(int repeats, Work&& work) {
    work();
    std::vector<double> wall;
    std::vector<double> cpu;
    for (int i = 0; i < repeats; ++i) {
        const double begun = milliseconds(CLOCK_MONOTONIC);
        const double spent = milliseconds(CLOCK_PROCESS_CPUTIME_ID);
        work();
        wall.push_back(milliseconds(CLOCK_MONOTONIC) - begun);
        cpu.push_back(milliseconds(CLOCK_PROCESS_CPUTIME_ID) - spent);
    }
    std::sort(wall.begin(), wall.end());
    std::sort(cpu.begin(), cpu.end());
    return {wall.front(), wall[wall.size() / 2], wall.back(), cpu[cpu.size() / 2]};
}

double peak_mib() {
    rusage usage = {};
    getrusage(RUSAGE_SELF, &usage);
    return static_cast<double>(usage.ru_maxrss) / 1024;
}

volatile double sink = 0;  // so that nothing is computed for nobody

double rank_tests(const Data& data) {
    double sum = 0;
    for (std::size_t i = 0; i < kMetrics; ++i)
        sum += stats::mann_whitney(data.base[i], data.other[i]).p;
    return sum;
}

// Estimates, shift with interval, test, adjustment over all, verdict: what a table needs of each
// row.
std::size_t verdicts(const Data& data) {
    std::vector<stats::Comparison> comparisons;
    std::vector<double> p;
    std::vector<double> best;
    for (std::size_t i = 0; i < kMetrics; ++i) {
        comparisons.push_back(stats::compare(data.base[i], data.other[i]));
        p.push_back(comparisons.back().test->p);
        best.push_back(comparisons.back().test->best_attainable_p);
    }
    const auto adjusted = stats::benjamini_hochberg(p);
    const auto best_adjusted = stats::benjamini_hochberg(best);
    std::size_t told = 0;
    for (std::size_t i = 0; i < kMetrics; ++i) {
        comparisons[i].p_adjusted = adjusted[i];
        const auto base = stats::summarize(data.base[i]);
        const auto other = stats::summarize(data.other[i]);
        const auto ruling = stats::judge(comparisons[i], best_adjusted[i], base, other,
                                         {.direction = -1, .margin = 50});
        if (ruling.verdict == stats::Verdict::worse) ++told;
    }
    return told;
}

double bootstraps(const Data& data) {
    double sum = 0;
    for (std::size_t i = 0; i < kMetrics; ++i) {
        const auto result = stats::median_change_pct(data.base[i], data.other[i]);
        sum += result.ci95 ? result.ci95->first : 0;
    }
    return sum;
}

void row(const std::string& what, const Times& ms, const std::string& goal) {
    fmt::print("  {:<52} {:>8.1f} ms  ({:.1f} to {:.1f}; CPU {:.1f}; goal {})\n", what, ms.median,
               ms.lowest, ms.highest, ms.cpu, goal);
    std::fflush(stdout);
}

// One value a column, one metric and arm a row.
std::string as_text(const Data& data) {
    std::string text;
    for (std::size_t i = 0; i < kMetrics; ++i) {
        for (const Values* values : {&data.base[i], &data.other[i]}) {
            for (std::size_t j = 0; j < kTrials; ++j)
                text += fmt::format("{}{:.17g}", j == 0 ? "" : "\t", (*values)[j]);
            text += '\n';
        }
    }
    return text;
}

void run_peer(const std::string& name, const std::vector<std::string>& arguments) {
    fmt::print("{}\n", name);
    std::fflush(stdout);
    const auto done = run_program(arguments);
    if (!done) {
        fmt::print("  not run: {}\n", done.error().text());
        return;
    }
    fmt::print("{}{}", done->out, done->err);
}

}  // namespace

int main() {
    const Data smooth = make(0, 1);
    const Data tied = make(20, 2);
    fmt::print("{} metrics, 2 arms, {} trials; median of {} (lowest to highest)\n\nmanometer\n",
               kMetrics, kTrials, kRepeats);
    row("rank tests, no ties", measure(kRepeats, [&] { sink = rank_tests(smooth); }), "10 ms");
    row("estimates, shifts, tests, verdicts, no ties",
        measure(kRepeats, [&] { sink = static_cast<double>(verdicts(smooth)); }), "50 ms");
    fmt::print("  {:<52} {:>8.1f} MiB (data included; goal 20 MB)\n", "peak memory so far",
               peak_mib());
    row("rank tests, ties in every metric", measure(kRepeats, [&] { sink = rank_tests(tied); }),
        "500 ms");
    row("BCa of the median change, 9,999 resamples", measure(1, [&] { sink = bootstraps(smooth); }),
        "5,000 ms");
    auto folder = TempFolder::make(std::filesystem::temp_directory_path(), "manometer-bench");
    if (!folder) return 1;
    const std::string plain = (folder->path() / "smooth.tsv").string();
    const std::string ties = (folder->path() / "tied.tsv").string();
    if (!write_file_atomic(plain, as_text(smooth)) || !write_file_atomic(ties, as_text(tied))) {
        return 1;
    }
    const std::string here = MANO_BENCH_SOURCE;
    run_peer("\nscipy", {"/usr/bin/python3", here + "/compare_scipy.py", plain, ties});
    run_peer("\nR", {"Rscript", "--vanilla", here + "/compare.R", plain, ties});
    if (const char* lkp = std::getenv("LKP_SRC"); lkp != nullptr) {  // NOLINT
        run_peer("\nlkp-tests", {"ruby", here + "/compare_lkp.rb", lkp, plain});
    } else {
        fmt::print(
            "\nlkp-tests\n  not here: set LKP_SRC to a checkout (needs Ruby with the gems "
            "tty-command and activesupport)\n");
    }
    return 0;
}
