// SPDX-License-Identifier: GPL-2.0-or-later
#include "measure/formula.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

namespace mano::measure {
namespace {

// An experiment file may come from anybody: bounds keep the parser's recursion and the evaluation's
// stack small.
constexpr std::size_t kMaxText = 1024;
constexpr std::size_t kMaxDepth = 32;

// By hand, not <cctype>: those depend on the locale.
bool is_digit(char c) {
    return c >= '0' && c <= '9';
}
bool is_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
bool is_name_part(char c) {
    return is_letter(c) || is_digit(c) || c == '.';
}

}  // namespace

class FormulaParser {
  public:
    explicit FormulaParser(std::string_view text) : text_(text) {}

    Result<Formula> run() {
        if (text_.size() > kMaxText) {
            return fail(Code::invalid, "column {}: formula longer than {} characters", kMaxText + 1,
                        kMaxText);
        }
        MANO_TRY(sum(0));
        if (at_ < text_.size()) return expected("an operator (+ - * /) or the end");
        formula_.text_ = std::string(text_);
        return std::move(formula_);
    }

  private:
    using Op = Formula::Step::Op;

    tl::unexpected<Error> expected(std::string_view what) {
        if (at_ >= text_.size()) {
            return fail(Code::invalid, "column {}: the formula ends, expected {}", at_ + 1, what);
        }
        const char c = text_[at_];
        const bool printable = c > ' ' && c <= '~';
        return fail(Code::invalid, "column {}: unexpected {}, expected {}", at_ + 1,
                    printable ? fmt::format("'{}'", c) : "character", what);
    }

    void skip_blanks() {
        while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t'))
            ++at_;
    }

    bool take(char c) {
        skip_blanks();
        if (at_ >= text_.size() || text_[at_] != c) return false;
        ++at_;
        return true;
    }

    void emit(Op op) { formula_.steps_.push_back({op, 0, 0}); }

    Status sum(std::size_t depth) {
        MANO_TRY(product(depth));
        for (;;) {
            if (take('+')) {
                MANO_TRY(product(depth));
                emit(Op::add);
            } else if (take('-')) {
                MANO_TRY(product(depth));
                emit(Op::subtract);
            } else {
                return {};
            }
        }
    }

    Status product(std::size_t depth) {
        MANO_TRY(factor(depth));
        for (;;) {
            if (take('*')) {
                MANO_TRY(factor(depth));
                emit(Op::multiply);
            } else if (take('/')) {
                MANO_TRY(factor(depth));
                emit(Op::divide);
            } else {
                return {};
            }
        }
    }

    Status factor(std::size_t depth) {
        skip_blanks();
        if (depth >= kMaxDepth) {
            return fail(Code::invalid, "column {}: nested deeper than {} levels", at_ + 1,
                        kMaxDepth);
        }
        if (take('-')) {
            MANO_TRY(factor(depth + 1));
            emit(Op::negate);
            return {};
        }
        if (take('(')) {
            MANO_TRY(sum(depth + 1));
            if (!take(')')) return expected("')'");
            return {};
        }
        if (at_ >= text_.size()) return expected("a number, a metric's name or '('");
        const char c = text_[at_];
        if (is_digit(c) || c == '.') return number();
        if (c == '"' || c == '\'') return quoted_name(c);
        if (is_letter(c)) return plain_name();
        return expected("a number, a metric's name or '('");
    }

    Status number() {
        double value = 0;
        const char* begin = text_.data() + at_;
        const char* limit = text_.data() + text_.size();
        const auto [end, error] = std::from_chars(begin, limit, value);
        const bool runs_on = end != limit && is_name_part(*end);
        if (error != std::errc{} || !std::isfinite(value) || runs_on) {
            return expected("a number such as 100 or 0.5");
        }
        at_ += static_cast<std::size_t>(end - begin);
        formula_.steps_.push_back({Op::number, value, 0});
        return {};
    }

    Status plain_name() {
        const std::size_t begin = at_;
        while (at_ < text_.size() && is_name_part(text_[at_]))
            ++at_;
        return add_name(text_.substr(begin, at_ - begin));
    }

    Status quoted_name(char quote) {
        const std::size_t begin = ++at_;
        while (at_ < text_.size() && (is_name_part(text_[at_]) || text_[at_] == '-'))
            ++at_;
        const std::string_view name = text_.substr(begin, at_ - begin);
        if (name.empty()) return expected("a metric's name");
        if (at_ >= text_.size() || text_[at_] != quote) return expected("the closing quote");
        ++at_;
        return add_name(name);
    }

    Status add_name(std::string_view name) {
        std::vector<std::string>& names = formula_.names_;
        const auto found = std::find(names.begin(), names.end(), name);
        const auto index = static_cast<std::size_t>(found - names.begin());
        if (found == names.end()) names.emplace_back(name);
        formula_.steps_.push_back({Op::name, 0, index});
        return {};
    }

    std::string_view text_;
    std::size_t at_ = 0;
    Formula formula_;
};

Result<Formula> Formula::parse(std::string_view text) {
    return FormulaParser(text).run();
}

std::optional<double> Formula::evaluate(
    const std::function<std::optional<double>(std::string_view)>& value_of) const {
    std::vector<double> stack;
    stack.reserve(steps_.size());
    for (const Step& step : steps_) {
        if (step.op == Step::Op::number) {
            stack.push_back(step.number);
            continue;
        }
        if (step.op == Step::Op::name) {
            const std::optional<double> value = value_of(names_[step.name]);
            if (!value) return std::nullopt;
            stack.push_back(*value);
            continue;
        }
        if (step.op == Step::Op::negate) {
            stack.back() = -stack.back();
            continue;
        }
        const double right = stack.back();
        stack.pop_back();
        double& left = stack.back();
        switch (step.op) {
            case Step::Op::add:
                left += right;
                break;
            case Step::Op::subtract:
                left -= right;
                break;
            case Step::Op::multiply:
                left *= right;
                break;
            default:
                left /= right;
                break;
        }
        // Stop here: inf / inf and 1 / inf would make a finite or a NaN result of a division by 0.
        if (!std::isfinite(left)) return std::nullopt;
    }
    if (stack.size() != 1 || !std::isfinite(stack.back())) return std::nullopt;
    return stack.back();
}

}  // namespace mano::measure
