// SPDX-License-Identifier: GPL-2.0-or-later
// The formats of a comparison: one explicit table, one file a format. A renderer lays out what
// ReportData holds. Called by `run` and `compare`. docs/formats has a page on each.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/error.h"
#include "report/report.h"

namespace mano::report {

struct Renderer {
    std::string_view name;  // as --format takes it
    std::string_view what;  // for the help
    // The run set is the one that `data` was built from, for formats that hold raw values.
    Result<std::string> (*render)(const ReportData& data, const store::RunSet& runset,
                                  const Options& options);
};

std::span<const Renderer> renderers();
// nullptr when there is none of that name.
const Renderer* find_renderer(std::string_view name);

// GitHub's Markdown: a table a case, then the notes of the text.
std::string render_markdown(const ReportData& data);
// LKP's table (`lkp ncompare`): arithmetic means, population standard deviation in % when above 2,
// change of the mean; failures as fail:runs. With Rule::lkp the rows that its rule calls changed,
// then where the two rules differ. A base of 0 prints "new".
std::string render_lkp(const ReportData& data);
// mmtests' block of /proc/vmstat under its names, efficiencies and velocities derived; means.
std::string render_mmtests(const ReportData& data);
// Go's benchmark text for benchstat: one line a trial, an arm a `arm:` key.
std::string render_gobench(const ReportData& data);
// KTAP version 1: a subtest a case, a test a judged metric and arm; worse is "not ok", no answer is
// SKIP.
std::string render_ktap(const ReportData& data);

// Where our rule and LKP's differ, as text; empty without Rule::lkp.
std::string render_rules(const ReportData& data);

}  // namespace mano::report
