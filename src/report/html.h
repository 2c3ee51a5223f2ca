// SPDX-License-Identifier: GPL-2.0-or-later
// ReportData and its run set → one HTML file that needs nothing else: the page of web/, which the
// build embeds, with the data in it. Called by `report`.
//
// The data are two JSON blocks: the comparison as render_json() gives it, and page_json(). What
// comes from guests and files can't leave its block: '<' never appears in one as itself. The page
// makes all of its elements from them by text, and its own script is the only one that it may run
// (Content-Security-Policy with the script's digest).
#pragma once

#include <string>
#include <string_view>

#include "base/error.h"
#include "report/report.h"

namespace mano::report {

// The page without data; empty when this program was built without it.
std::string_view page_template();
// Why there is no page, and the mend.
std::string page_missing();

// Code::environment when this program was built without the page. `runset` must hold samples.
Result<std::string> render_html(const ReportData& data, const store::RunSet& runset);
// The same with a page of the caller's: each @@NAME@@ of TITLE, TEXT, COMPARE and PAGE is filled in
// one pass.
std::string fill_page(std::string_view page, const ReportData& data, const store::RunSet& runset);

// What the page shows beside the comparison, schema manometer.page/1 (web/src/data.ts): sentences,
// trials, each trial's course. At most kMostReadings readings; the trials that have no place are
// counted.
constexpr std::size_t kMostReadings = 200'000;
std::string page_json(const ReportData& data, const store::RunSet& runset,
                      std::size_t most_readings = kMostReadings);

// For an element's text or an attribute's value.
std::string html_text(std::string_view text);
// JSON for a script element: blanks between its parts left out, '<', '>' and '&' as \u003c …
std::string html_json(std::string_view json);

}  // namespace mano::report
