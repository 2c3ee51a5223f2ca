// SPDX-License-Identifier: GPL-2.0-or-later
#include "model/counters.h"

namespace mano::model {
namespace {

constexpr std::array<std::string_view, kCounters> kNames{
#define MANO_MODEL_COUNTER_TEXT(id, name) name,
    MANO_MODEL_COUNTERS(MANO_MODEL_COUNTER_TEXT)
#undef MANO_MODEL_COUNTER_TEXT
};

struct WorkText {
    std::string_view name;
    double ns;
    std::string_view meaning;
};
constexpr std::array<WorkText, kWorks> kWork{{
#define MANO_MODEL_WORK_TEXT(id, name, ns, meaning) {name, ns, meaning},
    MANO_MODEL_WORK(MANO_MODEL_WORK_TEXT)
#undef MANO_MODEL_WORK_TEXT
}};

constexpr std::array kUnderLock{Work::refill, Work::drain, Work::buddy_op, Work::lock};

}  // namespace

std::string_view name_of(Counter counter) {
    return kNames[static_cast<std::size_t>(counter)];
}
std::string_view name_of(Work work) {
    return kWork[static_cast<std::size_t>(work)].name;
}
std::string_view meaning_of(Work work) {
    return kWork[static_cast<std::size_t>(work)].meaning;
}

Costs::Costs() : ns_{} {
    for (std::size_t i = 0; i < kWorks; ++i)
        ns_[i] = kWork[i].ns;
}

double WorkDone::time(const Costs& costs) const {
    double sum = 0;
    for (std::size_t i = 0; i < kWorks; ++i)
        sum += counts_[i] * costs[static_cast<Work>(i)];
    return sum;
}

double WorkDone::under_lock(const Costs& costs) const {
    double sum = 0;
    for (const Work work : kUnderLock)
        sum += (*this)[work] * costs[work];
    return sum;
}

}  // namespace mano::model
