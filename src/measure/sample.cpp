// SPDX-License-Identifier: GPL-2.0-or-later
#include "measure/sample.h"

#include <array>

namespace mano::measure {
namespace {

struct EndingDef {
    Ending ending;
    std::string_view name;
    Standing standing;
};

// By number: an Ending's value is its index.
constexpr std::array kEndings{
    EndingDef{Ending::goodbye, "goodbye", Standing::counted},
    EndingDef{Ending::probe_refused, "probe refused", Standing::failed},
    EndingDef{Ending::worker_oom_killed, "worker OOM-killed", Standing::failed},
    EndingDef{Ending::probe_oom_killed, "probe OOM-killed", Standing::failed},
    EndingDef{Ending::panic, "panic", Standing::failed},
    EndingDef{Ending::hung, "hung", Standing::failed},
    EndingDef{Ending::precondition_missing, "precondition missing", Standing::spoiled},
    EndingDef{Ending::pressure_missed, "pressure missed", Standing::spoiled},
    EndingDef{Ending::wall_clock, "wall-clock limit", Standing::spoiled},
    EndingDef{Ending::qemu_died, "QEMU died", Standing::spoiled},
    EndingDef{Ending::qemu_missing, "QEMU missing", Standing::spoiled},
    EndingDef{Ending::log_full, "log full", Standing::spoiled},
    EndingDef{Ending::log_torn, "log torn", Standing::spoiled},
    EndingDef{Ending::harness_fault, "harness fault", Standing::spoiled},
    EndingDef{Ending::no_boot, "no boot", Standing::failed},
    EndingDef{Ending::probe_failed, "probe failed", Standing::failed},
};

const EndingDef* find(Ending ending) {
    const auto index = static_cast<std::size_t>(ending);
    return index < kEndings.size() ? &kEndings[index] : nullptr;
}

}  // namespace

std::string_view name_of(Ending ending) {
    const EndingDef* def = find(ending);
    return def != nullptr ? def->name : "unknown ending";
}

std::optional<Ending> ending_from(std::string_view name) {
    for (const EndingDef& def : kEndings) {
        if (def.name == name) return def.ending;
    }
    return std::nullopt;
}

Standing standing(Ending ending) {
    const EndingDef* def = find(ending);
    return def != nullptr ? def->standing : Standing::spoiled;
}

std::string_view name_of(Standing standing) {
    switch (standing) {
        case Standing::counted:
            return "counted";
        case Standing::failed:
            return "failed";
        case Standing::spoiled:
            return "spoiled";
    }
    return "spoiled";
}

}  // namespace mano::measure
