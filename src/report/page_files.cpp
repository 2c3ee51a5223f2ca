// SPDX-License-Identifier: GPL-2.0-or-later
// page_files FOLDER [--large]: writes reports for the test with a browser (tests/page), each as
// NAME.html and, what it must agree with, NAME.json: the run sets of the golden files, one whose
// every text is hostile, one with iterations; with --large instead one of 1,000 trials.
#include <cstdio>
#include <filesystem>
#include <string_view>

#include "base/file.h"
#include "base/rng.h"
#include "report/html.h"
#include "report/test_runsets.h"

namespace mano::report {
namespace {

const std::string kMarkup =
    "</script><script>window.pwned=1</script><img src=x onerror=\"window.pwned=1\">"
    "<b id=pwned>'\"&amp;<!-- \xff \x1b[31m";

store::RunSet hostile() {
    testing::Builder builder({"base" + kMarkup, "head" + kMarkup}, {"case" + kMarkup});
    builder.fill("vmstat.pgfault", {{1, 2, 3, 4, 5, 6}, {11, 12, 13, 14, 15, 16}});
    builder.fill("tp." + kMarkup, {{1, 2, 3, 4, 5, 6}, {11, 12, 13, 14, 15, 16}});
    builder.loss("source" + kMarkup, 3, "meaning" + kMarkup);
    builder.fact("state.swap", "swap" + kMarkup);
    builder.trial(1).ends(measure::Ending::panic, "evidence" + kMarkup);
    builder.trial(0).ends(measure::Ending::harness_fault, "reason" + kMarkup);
    plan::Plan& plan = builder.runset.plan;
    plan.experiment = "experiment" + kMarkup;
    plan.question = "question" + kMarkup;
    plan.key_metrics = {testing::key(
        testing::metric("vmstat.pgfault", "count" + kMarkup, measure::Better::lower), true)};
    builder.runset.name = "name" + kMarkup;
    builder.runset.command_line = "manometer run '" + kMarkup + "'";
    builder.runset.remarks = {"remark" + kMarkup};
    builder.runset.identity["accel"] = "accel" + kMarkup;
    return std::move(builder.runset);
}

// Two arms in two cases with eight iterations a trial: stalls, reclaim, free blocks.
store::RunSet iterations() {
    Rng rng(7);
    testing::Builder builder({"before", "after"}, {"demand=90%", "demand=95%"});
    for (std::uint32_t case_ = 0; case_ < 2; ++case_) {
        for (std::uint32_t trial = 0; trial < 14; ++trial) {
            const std::uint32_t arm = trial % 2;
            builder.trial(arm, case_);
            for (std::uint32_t i = 0; i < 8; ++i) {
                const double load = static_cast<double>((case_ + 1) * (2 - arm) * (i + 1));
                const auto around = [&](double middle) {
                    return std::optional(middle * load + static_cast<double>(rng.below(50)));
                };
                builder.counter("psi.probe.memory.some.total_us", around(1000), i);
                builder.counter("psi.probe.memory.full.total_us", around(500), i);
                builder.counter("vmstat.pgscan_direct", around(300), i);
                builder.counter("vmstat.pgsteal_direct", around(200), i);
                builder.counter("vmstat.allocstall", around(9), i);
                builder.counter("probe.time_ns", 2e8, i);
                for (int order = 0; order <= 10; ++order) {
                    builder.counter("buddy.total.order" + std::to_string(order),
                                    around(order == 10 ? 40 : 5), i);
                }
            }
        }
    }
    builder.runset.plan.key_metrics = {
        testing::key(
            testing::metric("psi.probe.memory.some.total_us", "us", measure::Better::lower), true),
        testing::key(testing::metric("vmstat.pgscan_direct", "pages", measure::Better::lower)),
        testing::key(testing::metric("vmstat.allocstall", "count", measure::Better::lower))};
    builder.runset.plan.question = "Does the probe stall less?";
    builder.runset.command_line =
        "manometer run iterations -k before=debian:7.1 -k after=debian:7.3";
    return std::move(builder.runset);
}

// 1,000 trials of 500 metrics.
store::RunSet large() {
    Rng rng(11);
    testing::Builder builder({"before", "after"});
    for (std::uint32_t trial = 0; trial < 1000; ++trial) {
        builder.trial(trial % 2);
        for (int metric = 0; metric < 500; ++metric) {
            builder.counter("vmstat.made_up_" + std::to_string(metric),
                            static_cast<double>(10000 + rng.below(20000) + trial % 2 * 100));
        }
    }
    for (int metric = 0; metric < 5; ++metric) {
        builder.runset.plan.key_metrics.push_back(
            testing::key(testing::metric("vmstat.made_up_" + std::to_string(metric), "count",
                                         measure::Better::lower),
                         metric == 0));
    }
    return std::move(builder.runset);
}

Status write(const std::filesystem::path& folder, const std::string& name,
             const store::RunSet& runset) {
    MANO_ASSIGN(const ReportData data, build(runset, {}));
    MANO_ASSIGN(const std::string html, render_html(data, runset));
    MANO_TRY(write_file_atomic(folder / (name + ".html"), html));
    return write_file_atomic(folder / (name + ".json"), render_json(data));
}

Status write_all_files(const std::filesystem::path& folder, bool big) {
    if (big) return write(folder, "large", large());
    for (const auto& [name, runset] : testing::golden_runsets())
        MANO_TRY(write(folder, name, runset));
    MANO_TRY(write(folder, "hostile", hostile()));
    return write(folder, "iterations", iterations());
}

}  // namespace
}  // namespace mano::report

int main(int argc, char** argv) {
    if (argc < 2) return 1;
    const bool large = argc > 2 && std::string_view(argv[2]) == "--large";
    const mano::Status done = mano::report::write_all_files(argv[1], large);
    if (!done) std::fprintf(stderr, "page_files: %s\n", done.error().text().c_str());
    return done ? 0 : 1;
}
