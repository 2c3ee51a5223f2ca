// SPDX-License-Identifier: GPL-2.0-or-later
#include "report/html.h"

#include <array>
#include <utility>

#include "report/renderers.h"

#ifdef MANO_PAGE_FILE
// The page as bytes of this program. Both gcc and clang take the directive; as a C++ array it would
// cost the compiler hundreds of megabytes.
__asm__(
    ".section .rodata\n"
    ".balign 16\n"
    ".global mano_report_page\n"
    "mano_report_page:\n"
    ".incbin \"" MANO_PAGE_FILE
    "\"\n"
    ".global mano_report_page_end\n"
    "mano_report_page_end:\n"
    ".byte 0\n"
    ".previous\n");
extern "C" const char mano_report_page[];
extern "C" const char mano_report_page_end[];
#endif

namespace mano::report {

std::string_view page_template() {
#ifdef MANO_PAGE_FILE
    return {mano_report_page, static_cast<std::size_t>(mano_report_page_end - mano_report_page)};
#else
    return {};
#endif
}

std::string page_missing() {
#ifdef MANO_PAGE_FILE
    constexpr std::string_view kWhy = "npm couldn't fetch the page's packages when it was built";
#else
    constexpr std::string_view kWhy = "node and npm weren't there when it was built";
#endif
    return fmt::format(
        "this manometer has no page to write a report with: {}. Install Debian's packages nodejs "
        "and npm (tools/deps page), run cmake again and build anew; until then `manometer compare "
        "RUNSET --plot` draws in the terminal",
        kWhy);
}

std::string html_text(std::string_view text) {
    std::string out;
    out.reserve(text.size());
    for (const char c : text) {
        switch (c) {
            case '&':
                out += "&amp;";
                break;
            case '<':
                out += "&lt;";
                break;
            case '>':
                out += "&gt;";
                break;
            case '"':
                out += "&quot;";
                break;
            case '\'':
                out += "&#39;";
                break;
            case '\0':  // no character of HTML
                break;
            default:
                out += c;
        }
    }
    return out;
}

std::string html_json(std::string_view json) {
    std::string out;
    out.reserve(json.size());
    bool in_string = false;
    bool escaped = false;
    for (const char c : json) {
        if (!in_string && (c == ' ' || c == '\n' || c == '\t' || c == '\r')) continue;
        // Outside strings none of the three appears.
        if (c == '<') {
            out += "\\u003c";
        } else if (c == '>') {
            out += "\\u003e";
        } else if (c == '&') {
            out += "\\u0026";
        } else {
            out += c;
        }
        if (c == '"' && !escaped) in_string = !in_string;
        escaped = in_string && c == '\\' && !escaped;
    }
    return out;
}

namespace {

std::string title(const ReportData& data) {
    std::string text = data.header.plan.experiment + ": " + data.base;
    for (std::size_t i = 1; i < data.arms.size(); ++i)
        text += (i == 1 ? " → " : ", ") + data.arms[i].name;
    return text;
}

}  // namespace

std::string fill_page(std::string_view page, const ReportData& data, const store::RunSet& runset) {
    constexpr std::string_view kMark = "@@";
    const std::array<std::pair<std::string_view, std::string>, 4> places{{
        {"TITLE", html_text(title(data))},
        {"TEXT", html_text(render_text(data))},
        {"COMPARE", html_json(render_json(data))},
        {"PAGE", html_json(page_json(data, runset))},
    }};
    std::string out;
    while (!page.empty()) {
        const std::size_t at = page.find(kMark);
        const std::size_t end =
            at == std::string_view::npos ? at : page.find(kMark, at + kMark.size());
        if (end == std::string_view::npos) break;
        out += page.substr(0, at);
        const std::string_view name = page.substr(at + kMark.size(), end - at - kMark.size());
        bool known = false;
        for (const auto& [place, text] : places) {
            if (place != name) continue;
            known = true;
            out += text;
        }
        // The script may hold the mark for reasons of its own.
        if (!known) out += kMark;
        page.remove_prefix(known ? end + kMark.size() : at + kMark.size());
    }
    out += page;
    return out;
}

Result<std::string> render_html(const ReportData& data, const store::RunSet& runset) {
    if (page_template().empty()) return fail(Code::environment, "{}", page_missing());
    return fill_page(page_template(), data, runset);
}

}  // namespace mano::report
