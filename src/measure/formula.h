// SPDX-License-Identifier: GPL-2.0-or-later
// Derived metrics: arithmetic over metric names ("100 * (a.b + c) / d"). Parsed once with the
// experiment, evaluated on folded values when a table is made (raw values are what is stored).
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace mano::measure {

// Grammar: sum = product {(+|-) product}; product = factor {(*|/) factor};
// factor = NUMBER | NAME | ( sum ) | - factor. NAME: letters, digits, '_', '.', '-' inside quotes
// or without '-'. Depth and length are bounded.
class Formula {
  public:
    // The error's message has the column (1-based) inside the text.
    static Result<Formula> parse(std::string_view text);
    const std::string& text() const { return text_; }
    const std::vector<std::string>& names() const { return names_; }
    // nullopt when a name's value is unknown or the result isn't finite (division by zero): absent
    // is not zero.
    std::optional<double> evaluate(
        const std::function<std::optional<double>(std::string_view)>& value_of) const;

  private:
    struct Step {
        enum class Op : unsigned char { number, name, add, subtract, multiply, divide, negate } op;
        double number = 0;
        std::size_t name = 0;
    };
    friend class FormulaParser;
    std::string text_;
    std::vector<std::string> names_;
    std::vector<Step> steps_;  // postfix
};

}  // namespace mano::measure
