// SPDX-License-Identifier: GPL-2.0-or-later
#include "report/renderers.h"

#include <algorithm>
#include <array>

namespace mano::report {
namespace {

using Text = Result<std::string>;

Text text(const ReportData& data, const store::RunSet&, const Options&) {
    return render_text(data) + render_rules(data);
}
Text markdown(const ReportData& data, const store::RunSet&, const Options&) {
    return render_markdown(data);
}
Text json(const ReportData& data, const store::RunSet&, const Options&) {
    return render_json(data);
}
Text csv(const ReportData&, const store::RunSet& runset, const Options& options) {
    return render_csv(runset, options);
}
Text lkp(const ReportData& data, const store::RunSet&, const Options&) {
    return render_lkp(data);
}
Text mmtests(const ReportData& data, const store::RunSet&, const Options&) {
    return render_mmtests(data);
}
Text gobench(const ReportData& data, const store::RunSet&, const Options&) {
    return render_gobench(data);
}
Text ktap(const ReportData& data, const store::RunSet&, const Options&) {
    return render_ktap(data);
}

constexpr std::array<Renderer, 8> kRenderers{{
    {"text", "80 columns for a mail", text},
    {"markdown", "tables for a web page", markdown},
    {"json", "schema manometer.compare/1", json},
    {"csv", "raw values, one row each", csv},
    {"lkp", "the table of LKP's robot", lkp},
    {"mmtests", "vmstat under mmtests' names", mmtests},
    {"gobench", "for benchstat", gobench},
    {"ktap", "for the kernel's test robots", ktap},
}};

}  // namespace

std::span<const Renderer> renderers() {
    return kRenderers;
}

const Renderer* find_renderer(std::string_view name) {
    const auto* const found = std::find_if(kRenderers.begin(), kRenderers.end(),
                                           [&](const Renderer& each) { return each.name == name; });
    return found == kRenderers.end() ? nullptr : found;
}

}  // namespace mano::report
