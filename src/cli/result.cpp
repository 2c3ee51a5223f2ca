// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/result.h"

#include <CLI/CLI.hpp>
#include <set>

#include "cli/arguments.h"
#include "cli/output.h"
#include "measure/metric.h"

namespace mano::cli {
namespace {

std::string format_names() {
    std::string text;
    for (const report::Renderer& each : report::renderers())
        text += (text.empty() ? "" : ", ") + std::string(each.name);
    return text;
}

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

report::Charset charset() {
    return terminal_takes_utf8() ? report::Charset::utf8 : report::Charset::ascii;
}

void declare_format(CLI::App& app, FormatOptions& options) {
    app.add_option("--format", options.format, format_names() + " (docs/formats)");
    app.add_flag("--json", options.json, "the same as --format json");
}

void declare_choice(CLI::App& app, ChoiceOptions& options) {
    app.add_option("--base", options.base, "the arm that others are compared with (the first)");
    app.add_option("--arms", options.arms, "only these arms, as A,B");
    app.add_option("--cases", options.cases, "only these cases, as A,B");
}

Status add_choice(const ChoiceOptions& options, report::Options& out) {
    if (options.base) out.base = *options.base;
    if (options.arms) {
        MANO_ASSIGN(out.arms, parse_list("--arms", *options.arms));
    }
    if (options.cases) {
        MANO_ASSIGN(out.cases, parse_list("--cases", *options.cases));
    }
    return {};
}

Result<Format> chosen_format(const FormatOptions& options) {
    const std::string wanted = options.json ? "json" : options.format;
    if (const Format found = report::find_renderer(wanted); found != nullptr) return found;
    std::vector<std::string_view> names;
    for (const report::Renderer& each : report::renderers())
        names.push_back(each.name);
    const std::string near =
        measure::nearest_name(wanted, std::span<const std::string_view>(names));
    return fail(Code::invalid, "--format {}: expected {}{}", wanted, format_names(),
                near.empty() ? "" : "; did you mean '" + near + "'?");
}

Result<store::RunSet> load_runsets(store::Store& store, const std::vector<std::string>& references,
                                   bool force) {
    std::vector<store::RunSet> runsets;
    for (const std::string& reference : references) {
        MANO_ASSIGN(store::RunSet runset, store.load(reference, true, false));
        for (const store::RunSet& other : runsets) {
            if (other.id == runset.id) {
                return fail(Code::invalid, "{} is given twice", runset.id);
            }
        }
        runsets.push_back(std::move(runset));
    }
    if (runsets.size() == 1) return std::move(runsets.front());
    return report::merge(runsets, force);
}

Result<int> print_result(const store::RunSet& runset, const report::Options& options, Format format,
                         bool plot, const Amend& amend) {
    report::Options how = options;
    // With one arm nothing has changed, so "the changed others" would be a thousand rows.
    const bool table = format->name == "text" || format->name == "markdown";
    if (runset.plan.arms.size() == 1 && how.metrics.empty() && !how.all && table) {
        how.key_only = !runset.plan.key_metrics.empty();
    }
    MANO_ASSIGN(report::ReportData data, report::build(runset, how));
    if (amend) MANO_TRY(amend(data));
    if (format->name == "text") MANO_TRY(print(missing_preconditions(data)));
    MANO_ASSIGN(const std::string text, format->render(data, runset, how));
    MANO_TRY(print(text));
    if (plot) {
        // Where nothing is judged (an import), what is shown is all there is to draw.
        const bool others = !options.metrics.empty() || runset.plan.key_metrics.empty();
        MANO_TRY(print(report::render_plots(data, charset(), others)));
    }
    return report::exit_code(data);
}

}  // namespace mano::cli
