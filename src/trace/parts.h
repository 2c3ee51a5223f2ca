// SPDX-License-Identifier: GPL-2.0-or-later
// A stored trace ⇄ its parts (format.h). Called by the substrate, which puts a trace together from
// the agent's frames, and by the analysis. The bytes are hostile: sizes are checked, nothing is
// believed.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "trace/format.h"

namespace mano::trace {

struct Part {
    PartHead head = {};
    std::string_view bytes;  // into the trace
};

void add_part(std::string& trace, PartHead head, std::string_view bytes);
// Code::hostile when a size leads beyond the end or a kind is unknown.
Result<std::vector<Part>> read_parts(std::string_view trace);
// The agent's frame payload → its head and bytes; false: too short or of a kind unknown here.
bool read_frame(std::string_view payload, Part& part);

// A little-endian number at `at`; the caller has checked that it is there.
template <typename T>
T number_in(std::string_view bytes, std::size_t at) {
    T value{};
    __builtin_memcpy(&value, bytes.data() + at, sizeof value);
    return value;
}

// The trace with only those symbols that its stacks need: all of /proc/kallsyms would be most of
// it. A trace that can't be read comes back as it is.
std::string without_needless_symbols(std::string trace);

}  // namespace mano::trace
