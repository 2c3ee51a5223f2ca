// SPDX-License-Identifier: GPL-2.0-or-later
// A run set → what `run` and `compare` print in the end, and the exit code.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "report/plot.h"
#include "report/renderers.h"
#include "report/report.h"
#include "store/store.h"

namespace CLI {
class App;
}

namespace mano::cli {

// An entry of the table of renderers.
using Format = const report::Renderer*;

struct FormatOptions {
    std::string format = "text";
    bool json = false;
};
// Which arms and cases of a run set, and against which of them.
struct ChoiceOptions {
    std::optional<std::string> base, arms, cases;
};
void declare_choice(CLI::App& app, ChoiceOptions& options);
Status add_choice(const ChoiceOptions& options, report::Options& out);

// Of plots on standard output.
report::Charset charset();

void declare_format(CLI::App& app, FormatOptions& options);
Result<Format> chosen_format(const FormatOptions& options);

// Those that were named, with samples; several as one (report::merge). One given twice:
// Code::invalid.
Result<store::RunSet> load_runsets(store::Store& store, const std::vector<std::string>& references,
                                   bool force);

// Prints the comparison and returns its exit code: 0, 3 or 4. `plot`: also the plots of the metrics
// that are judged, and of those that the options name. `amend` adds to the report before that.
using Amend = std::function<Status(report::ReportData&)>;
Result<int> print_result(const store::RunSet& runset, const report::Options& options, Format format,
                         bool plot = false, const Amend& amend = {});

}  // namespace mano::cli
