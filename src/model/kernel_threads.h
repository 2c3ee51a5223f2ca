// SPDX-License-Identifier: GPL-2.0-or-later
// kswapd and kcompactd of each node, as tasks. Made by the engine.
#pragma once

#include <memory>

#include "model/engine.h"

namespace mano::model {

std::unique_ptr<Task> make_kswapd(unsigned node, unsigned cpu);
std::unique_ptr<Task> make_kcompactd(unsigned node, unsigned cpu);

}  // namespace mano::model
