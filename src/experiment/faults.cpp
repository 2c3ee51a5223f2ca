// SPDX-License-Identifier: GPL-2.0-or-later
#include "experiment/faults.h"

#include <algorithm>

#include "measure/metric.h"

namespace mano::experiment {
namespace {

constexpr std::size_t kMaxFaults = 100;

}  // namespace

void Faults::add(Place place, std::string text) {
    Fault fault{place, std::move(text)};
    // The same fault comes once per case of a sweep.
    if (std::find(faults_.begin(), faults_.end(), fault) != faults_.end()) return;
    if (faults_.size() >= kMaxFaults) {
        ++left_out_;
        return;
    }
    faults_.push_back(std::move(fault));
}

Error Faults::error() const {
    std::vector<Fault> sorted = faults_;
    std::sort(sorted.begin(), sorted.end());
    std::string text;
    for (const Fault& fault : sorted) {
        if (!text.empty()) text += '\n';
        text +=
            fmt::format("{}:{}:{}: {}", file_, fault.place.line, fault.place.column, fault.text);
    }
    if (left_out_ > 0) text += fmt::format("\n{}: and {} more faults", file_, left_out_);
    return Error{Code::invalid, std::move(text), nullptr};
}

std::string expected_one_of(std::string_view name, const std::vector<std::string_view>& names) {
    std::string text = "expected one of ";
    for (std::size_t i = 0; i < names.size(); ++i) {
        if (i > 0) text += ", ";
        text += names[i];
    }
    const std::string nearest = measure::nearest_name(name, names);
    if (!nearest.empty()) text += fmt::format("; did you mean '{}'?", nearest);
    return text;
}

}  // namespace mano::experiment
