// SPDX-License-Identifier: GPL-2.0-or-later
// Times a store of the size of a long run: `store_bench [TRIALS [SAMPLES]]`, by default 1,000
// trials of 1,500 samples. Prints seconds and bytes; built with -DMANO_BENCH=ON.
#include <chrono>
#include <cstdio>
#include <cstdlib>

#include "store/store.h"
#include "store/test_data.h"

namespace {

using Clock = std::chrono::steady_clock;

double since(Clock::time_point start) {
    return std::chrono::duration<double>(Clock::now() - start).count();
}

int bench(std::uint32_t trials, std::uint32_t samples) {
    namespace store = mano::store;
    const mano::TempFolder folder = store::test::temp_folder();
    auto opened = store::Store::open(folder.path() / "store.db");
    const auto id = opened->create(store::test::new_runset(store::test::small_plan(1, 1, trials)));
    if (!id) return 1;
    mano::Rng rng(1);
    double writing = 0;
    for (std::uint32_t i = 0; i < trials; ++i) {
        mano::measure::TrialRecord record;
        record.ending = mano::measure::Ending::goodbye;
        for (std::uint32_t k = 0; k < samples; ++k) {
            // Two readings of about 350 names, some of them fractions.
            const double value = k % 8 == 0 ? rng.unit() : static_cast<double>(rng.below(1 << 20));
            record.samples.push_back(
                {fmt::format("vmstat.some_counter_name_{}", k / 2 % 350), k / 700,
                 k % 2 == 0 ? mano::measure::Moment::before : mano::measure::Moment::after, value});
        }
        for (int line = 0; line < 600; ++line) {
            record.console += fmt::format("[    {}.{:06}] kernel says something\n", line, line * 7);
        }
        const auto start = Clock::now();
        if (!opened->finish_trial(*id, i, record)) return 1;
        writing += since(start);
    }
    auto start = Clock::now();
    const auto whole = opened->load(*id);
    const double loading = since(start);
    start = Clock::now();
    const auto bare = opened->load(*id, false, false);
    const double header = since(start);
    start = Clock::now();
    const auto all = opened->list();
    const double listing = since(start);
    if (!whole || !bare || !all) return 1;
    std::size_t count = 0;
    for (const auto& trial : whole->trials)
        count += trial.record.samples.size();
    const auto bytes = std::filesystem::file_size(folder.path() / "store.db");
    std::printf(
        "%u trials, %zu samples: write %.2f ms a trial, load %.2f s, load without samples %.3f s, "
        "list %.4f s, %.1f bytes a sample\n",
        trials, count, 1000 * writing / trials, loading, header, listing,
        static_cast<double>(bytes) / static_cast<double>(count));
    return 0;
}

}  // namespace

int main(int count, char** arguments) {
    const auto number = [&](int index, unsigned long fallback) {
        return static_cast<std::uint32_t>(
            count > index ? std::strtoul(arguments[index], nullptr, 10) : fallback);
    };
    return bench(number(1, 1000), number(2, 1500));
}
