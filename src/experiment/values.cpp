// SPDX-License-Identifier: GPL-2.0-or-later
#include "experiment/values.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "base/units.h"
#include "experiment/faults.h"

namespace mano::experiment {
namespace {

using plan::ParamDef;
using plan::ParamType;

constexpr std::size_t kMaxValueText = 4096;

struct Unit {
    std::int64_t factor;
    std::string_view name;
};
constexpr std::array kByteUnits{Unit{std::int64_t{1} << 30, "GiB"}, Unit{1 << 20, "MiB"},
                                Unit{1 << 10, "KiB"}, Unit{1, "B"}};
constexpr std::array kTimeUnits{
    Unit{3'600'000'000'000, "h"}, Unit{60'000'000'000, "min"}, Unit{1'000'000'000, "s"},
    Unit{1'000'000, "ms"},        Unit{1'000, "us"},           Unit{1, "ns"}};

template <std::size_t N>
std::string in_units(std::int64_t value, const std::array<Unit, N>& units) {
    if (value == 0) return fmt::format("0{}", units.back().name);
    for (const Unit& unit : units) {
        if (value % unit.factor == 0) return fmt::format("{}{}", value / unit.factor, unit.name);
    }
    return fmt::format("{}{}", value, units.back().name);
}

// Millionths as a decimal with as many places as needed: 905000 at 4 places → "90.5".
std::string decimal(std::int64_t value, int places) {
    std::int64_t scale = 1;
    for (int i = 0; i < places; ++i)
        scale *= 10;
    std::string text = fmt::format("{}.{:0{}}", value / scale, value % scale, places);
    while (text.back() == '0')
        text.pop_back();
    if (text.back() == '.') text.pop_back();
    return text;
}

// What a value of this type looks like, for "expected …".
std::string_view example(ParamType type) {
    switch (type) {
        case ParamType::integer:
            return "a whole number";
        case ParamType::bytes:
            return "bytes with a unit such as 8MiB";
        case ParamType::duration:
            return "a time with a unit such as 250ms";
        case ParamType::share:
            return "a share such as 90% or 0.9";
        case ParamType::boolean:
            return "true or false";
        case ParamType::choice:
            return "one of a few words";
        case ParamType::text:
            return "printable ASCII";
    }
    return "a value";
}

tl::unexpected<Error> not_a(const ParamDef& param, std::string_view text) {
    return fail(Code::invalid, "'{}' is not {}", text.substr(0, 64), example(param.type));
}

Result<std::int64_t> parse_integer(const ParamDef& param, std::string_view text) {
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc{} || end != text.data() + text.size()) return not_a(param, text);
    return number;
}

// Bytes and times: a bare number could mean anything, so a unit is asked for; but 0 is 0.
Result<std::int64_t> parse_with_unit(const ParamDef& param, std::string_view text) {
    const bool bare = !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
        return (c >= '0' && c <= '9') || c == '.';
    });
    if (text == "0") return std::int64_t{0};
    if (bare) {
        return fail(Code::invalid, "'{}' has no unit, expected {}", text.substr(0, 64),
                    example(param.type));
    }
    if (param.type == ParamType::bytes) {
        const Result<Bytes> bytes = parse_bytes(text);
        if (!bytes) return not_a(param, text);
        return static_cast<std::int64_t>(bytes->value);
    }
    const Result<std::uint64_t> duration = parse_duration_ns(text);
    if (!duration) return not_a(param, text);
    return static_cast<std::int64_t>(*duration);
}

Result<std::int64_t> parse_number(const ParamDef& param, std::string_view text) {
    switch (param.type) {
        case ParamType::integer:
            return parse_integer(param, text);
        case ParamType::bytes:
        case ParamType::duration:
            return parse_with_unit(param, text);
        case ParamType::share: {
            const Result<std::int64_t> share = parse_share_ppm(text);
            if (!share) return not_a(param, text);
            return *share;
        }
        case ParamType::boolean:
            if (text == "true") return std::int64_t{1};
            if (text == "false") return std::int64_t{0};
            return not_a(param, text);
        case ParamType::choice: {
            const auto found = std::find(param.choices.begin(), param.choices.end(), text);
            if (found != param.choices.end()) return found - param.choices.begin();
            const std::vector<std::string_view> names(param.choices.begin(), param.choices.end());
            return fail(Code::invalid, "'{}' is not known, {}", text.substr(0, 64),
                        expected_one_of(text, names));
        }
        case ParamType::text:
            break;
    }
    return fail(Code::internal, "'{}' is no number", param.name);
}

std::string_view chosen(const ParamDef& param, std::int64_t index) {
    const auto place = static_cast<std::size_t>(index);
    return place < param.choices.size() ? param.choices[place] : std::string_view("?");
}

}  // namespace

Result<Held> parse_value(const ParamDef& param, std::span<const std::string_view> choices,
                         std::string_view text) {
    if (param.type == ParamType::text) {
        if (!choices.empty()) {
            const std::vector<std::string_view> names(choices.begin(), choices.end());
            if (std::find(names.begin(), names.end(), text) == names.end()) {
                return fail(Code::invalid, "'{}' is not known, {}", text.substr(0, 64),
                            expected_one_of(text, names));
            }
        } else if (!is_plain_text(text, kMaxValueText)) {
            return fail(Code::invalid, "the text is not printable ASCII of 1 to {} characters",
                        kMaxValueText);
        }
        return Held{0, std::string(text)};
    }
    MANO_ASSIGN(const std::int64_t number, parse_number(param, text));
    if (param.type == ParamType::boolean) return Held{number, {}};
    if (number < param.minimum || number > param.maximum) {
        std::string mend;
        // The commonest slip: 90 for 90%.
        if (param.type == ParamType::share && number % 100 == 0 && number / 100 >= param.minimum &&
            number / 100 <= param.maximum) {
            mend = fmt::format("; did you mean {}?", show_value(param, {number / 100, {}}));
        }
        return fail(Code::invalid, "'{}' is out of range, expected {}{}", text.substr(0, 64),
                    show_range(param, choices), mend);
    }
    return Held{number, {}};
}

std::string show_value(const ParamDef& param, const Held& held) {
    switch (param.type) {
        case ParamType::integer:
            return fmt::format("{}", held.number);
        case ParamType::bytes:
            return in_units(held.number, kByteUnits);
        case ParamType::duration:
            return in_units(held.number, kTimeUnits);
        case ParamType::share:
            return decimal(held.number, 4) + "%";
        case ParamType::boolean:
            return held.number != 0 ? "true" : "false";
        case ParamType::choice:
            return std::string(chosen(param, held.number));
        case ParamType::text:
            return held.text;
    }
    return held.text;
}

std::string plain_value(const ParamDef& param, const Held& held) {
    if (param.type == ParamType::share) return decimal(held.number, 6);
    return show_value(param, held);
}

std::string show_range(const ParamDef& param, std::span<const std::string_view> choices) {
    if (param.type == ParamType::boolean) return "true or false";
    if (param.type == ParamType::text || param.type == ParamType::choice) {
        std::string text;
        for (const std::string_view choice :
             param.type == ParamType::choice ? param.choices : choices) {
            if (!text.empty()) text += ", ";
            text += choice;
        }
        return text.empty() ? "a name" : text;
    }
    return fmt::format("{} to {}", show_value(param, {param.minimum, {}}),
                       show_value(param, {param.maximum, {}}));
}

bool is_plain_text(std::string_view text, std::size_t limit) {
    return !text.empty() && text.size() <= limit &&
           std::all_of(text.begin(), text.end(), [](char c) { return c >= ' ' && c <= '~'; });
}

bool is_made_of(std::string_view text, std::string_view also, std::size_t limit) {
    return !text.empty() && text.size() <= limit &&
           std::all_of(text.begin(), text.end(), [also](char c) {
               return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                      c == '_' || also.find(c) != std::string_view::npos;
           });
}

}  // namespace mano::experiment
