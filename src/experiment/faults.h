// SPDX-License-Identifier: GPL-2.0-or-later
// Collects every fault of an experiment file, so that one look at the messages mends them all.
// Used by the parser alone.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace mano::experiment {

struct Place {
    std::uint32_t line = 1;
    std::uint32_t column = 1;
    auto operator<=>(const Place&) const = default;
};

class Faults {
  public:
    explicit Faults(std::string_view file) : file_(file) {}

    void add(Place place, std::string text);
    bool none() const { return faults_.empty(); }
    // All of them, "FILE:LINE:COLUMN: text", in the order of the file, one a line.
    Error error() const;

  private:
    struct Fault {
        Place place;
        std::string text;
        auto operator<=>(const Fault&) const = default;
    };
    std::string file_;
    std::vector<Fault> faults_;
    std::size_t left_out_ = 0;
};

// "expected one of a, b, c; did you mean 'b'?", the question only where a name is near.
std::string expected_one_of(std::string_view name, const std::vector<std::string_view>& names);

}  // namespace mano::experiment
