// SPDX-License-Identifier: GPL-2.0-or-later
// One table of an experiment file while it is read: gives out values by key and type, and knows
// which keys nobody asked for. Used by the parser alone.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "experiment/faults.h"
#include "experiment/tree.h"

namespace mano::experiment {

class Section {
  public:
    // `name` as it is shown: "[guest]". A value that is no table is a fault and reads as empty.
    Section(const Node& node, std::string name, Faults& faults);

    const std::string& name() const { return name_; }
    Place place() const { return place_; }
    // The entry, marked as known; nullptr when the file hasn't got it.
    const Entry* take(std::string_view key);
    // Values of a type; another type is a fault. `required`: so is its absence.
    std::optional<std::string> text(std::string_view key, bool required, std::size_t limit = 200);
    std::optional<double> number(std::string_view key, bool required);
    std::optional<bool> boolean(std::string_view key);
    std::vector<std::string> texts(std::string_view key, std::size_t limit = 200);
    // The tables of [[key]]; a single table counts as one.
    std::vector<const Node*> tables(std::string_view key);
    // Every key that was not taken is a fault, with the keys that were as what was expected.
    void finish();

    void fault(const Entry& entry, const std::string& text);    // at the value, "key: text"
    void missing(std::string_view key, std::string_view what);  // at the section

  private:
    void wrong_type(const Entry& entry, std::string_view expected);

    const Node* node_ = nullptr;
    std::string name_;
    Faults& faults_;
    Place place_;
    std::vector<std::string> known_;
};

}  // namespace mano::experiment
