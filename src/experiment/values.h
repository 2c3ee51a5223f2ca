// SPDX-License-Identifier: GPL-2.0-or-later
// Text ⇄ the value of one parameter, by its ParamDef. The only place that knows how units are
// written. Used for experiment files and for --set, so that both complain in the same words.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/error.h"
#include "plan/schema.h"

namespace mano::experiment {

struct Held {
    std::int64_t number = 0;  // in the unit that ParamDef holds
    std::string text;         // of type text
    bool operator==(const Held&) const = default;
};

// `choices`: the only texts allowed; empty: any printable ASCII. Code::invalid, whose message
// quotes the value and says what was expected.
Result<Held> parse_value(const plan::ParamDef& param, std::span<const std::string_view> choices,
                         std::string_view text);
// The shortest text that parse_value reads back as the same value: "64KiB", "250ms", "90%".
std::string show_value(const plan::ParamDef& param, const Held& held);
// As plans hold it for programs: a share as "0.9", everything else as show_value.
std::string plain_value(const plan::ParamDef& param, const Held& held);
// "5% to 150%", "always, madvise, never", "true or false".
std::string show_range(const plan::ParamDef& param, std::span<const std::string_view> choices);

// Printable ASCII, blanks included, nothing else, 1 to `limit` characters: what may travel to a
// guest or a terminal.
bool is_plain_text(std::string_view text, std::size_t limit);
// The same with only letters, digits, '_', and the characters of `also`.
bool is_made_of(std::string_view text, std::string_view also, std::size_t limit);

}  // namespace mano::experiment
