// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/result.h"

#include <array>
#include <CLI/CLI.hpp>
#include <map>
#include <set>

#include "cli/output.h"
#include "measure/metric.h"

namespace mano::cli {
namespace {

constexpr std::array<std::string_view, 3> kFormats{"text", "json", "csv"};

// An arm of which every trial lacked a precondition has no answer, and the reader must see that and
// the mend before any table.
std::string missing_preconditions(const report::ReportData& data) {
    const std::string_view missing = measure::name_of(measure::Ending::precondition_missing);
    std::string text;
    for (const report::ArmReport& arm : data.arms) {
        if (arm.trials > 0 || arm.spoiled == 0) continue;
        std::set<std::string> reasons;
        bool all = true;
        for (const report::Mishap& each : data.spoiled) {
            if (each.arm != arm.name) continue;
            all = all && each.how == missing;
            reasons.insert(each.evidence);
        }
        if (!all) continue;
        text += fill(
            fmt::format("No answer for {}: in every trial a precondition is missing.", arm.name),
            0);
        for (const std::string& reason : reasons)
            text += fill(printable(reason), 2);
    }
    return text.empty() ? text : text + '\n';
}

}  // namespace

void declare_format(CLI::App& app, FormatOptions& options) {
    app.add_option("--format", options.format, "text, json or csv");
    app.add_flag("--json", options.json, "the same as --format json");
}

Result<Format> chosen_format(const FormatOptions& options) {
    if (options.json || options.format == "json") return Format::json;
    if (options.format == "text") return Format::text;
    if (options.format == "csv") return Format::csv;
    const std::string near = measure::nearest_name(options.format, kFormats);
    return fail(Code::invalid, "--format {}: expected text, json or csv{}", options.format,
                near.empty() ? "" : "; did you mean '" + near + "'?");
}

Result<int> print_result(const store::RunSet& runset, const report::Options& options,
                         Format format) {
    report::Options how = options;
    // With one arm nothing has changed, so "the changed others" would be a thousand rows.
    if (runset.plan.arms.size() == 1 && how.metrics.empty() && !how.all && format == Format::text) {
        for (const plan::KeyMetric& key : runset.plan.key_metrics)
            how.metrics.push_back(key.metric.name);
    }
    MANO_ASSIGN(const report::ReportData data, report::build(runset, how));
    switch (format) {
        case Format::json:
            MANO_TRY(print(report::render_json(data)));
            break;
        case Format::csv: {
            MANO_ASSIGN(const std::string csv, report::render_csv(runset));
            MANO_TRY(print(csv));
            break;
        }
        case Format::text:
            MANO_TRY(print(missing_preconditions(data) + report::render_text(data)));
            break;
    }
    return report::exit_code(data);
}

}  // namespace mano::cli
