// SPDX-License-Identifier: GPL-2.0-or-later
// The small languages of the command line: NAME=SPEC, arms, numbers, lists; and back into words
// that a shell reads the same way. Pure. Every error is Code::invalid and names the option.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "plan/plan.h"

namespace mano::cli {

// "[NAME=]SPEC". What is before the first '=' is a name only if it is made of letters, digits and
// "._+-": "bzImage,config=FILE" has none. Without one the name comes from the SPEC.
Result<plan::Arm> parse_kernel_option(std::string_view text);
// "debian:7.1" → "7.1", "../boot/bzImage,modules=DIR" → "bzImage".
std::string arm_name_of(std::string_view spec);
// "NAME=KEY=VALUE KEY=VALUE …" with the keys kernel, cmdline, sysctl.NAME, thp, lru_gen. Without a
// kernel, `base` gives it (the first -k).
Result<plan::Arm> parse_arm_option(std::string_view text, const std::optional<plan::Arm>& base);

// On a live host, which runs one kernel: "NAME", or as parse_arm_option().
Result<plan::Arm> parse_live_arm(std::string_view text, std::string_view kernel_spec);

// A whole number from `least` to `most`.
Result<std::uint64_t> parse_count(std::string_view option, std::string_view text,
                                  std::uint64_t least, std::uint64_t most);
// "PARAM=VALUE", each PARAM once.
Result<std::map<std::string, std::string>> parse_settings(const std::vector<std::string>& texts);
// "a,b,c" → its parts; an empty part is an error.
Result<std::vector<std::string>> parse_list(std::string_view option, std::string_view text);

// One word, quoted where a shell would mind a character.
std::string quoted(std::string_view word);
// Words joined by blanks, each quoted where necessary.
std::string shell_line(const std::vector<std::string>& words);
// The words after "--" as the probe `command` takes them: one word stays a whole line (it may hold
// a shell's own signs), several are quoted one by one.
std::string probe_command(const std::vector<std::string>& words);

}  // namespace mano::cli
