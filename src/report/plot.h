// SPDX-License-Identifier: GPL-2.0-or-later
// Values → pictures made of characters, at most 80 columns wide: strips of dots, sparklines, bars.
// Called by `compare --plot` and `show`. Knows no terminal: the caller says which characters it
// takes.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "report/report.h"

namespace mano::report {

enum class Charset : std::uint8_t { ascii, utf8 };

// Each metric that `data` judges, case by case: a strip an arm on a common axis in which every
// trial is a mark (stacked where several fall together), and below it the median with its 95 %
// interval. The axis is logarithmic where the values span more than two powers of ten. `others`:
// also the rows that aren't judged but shown (those that the user named). Text from outside appears
// as ASCII.
std::string render_plots(const ReportData& data, Charset charset, bool others = false);

// One character a value, as high as the value between the ends of `range`; without one, between the
// least and the greatest known value. All equal: the middle. An unknown value is '?'. More values
// than `width` are averaged in groups.
std::string sparkline(std::span<const std::optional<double>> values, Charset charset,
                      std::optional<std::pair<double, double>> range = std::nullopt,
                      std::size_t width = 60);

// A bar a line, the longest `width` characters: "label  number  ####". A value above 0 has at least
// one character; an unknown one says so. Negative values count as 0.
std::string bars(const std::vector<std::pair<std::string, std::optional<double>>>& values,
                 Charset charset, std::size_t width = 40);

}  // namespace mano::report
