// SPDX-License-Identifier: GPL-2.0-or-later
// The page-allocator model as a library: everything that a program of one's own needs. Start with
// Machine (machine.h): zones, per-CPU lists and the fast path, without time. Memory adds what owns
// pages, Engine adds time and tasks; policy/policy.h is where a kernel patch's decisions go.
//     find_package(pagemodel) ; target_link_libraries(mine PRIVATE pagemodel::mano_model)
#pragma once

#include "model/arm.h"
#include "model/engine.h"
#include "model/load/aux_probe.h"
#include "model/load/hold.h"
#include "model/load/kernel_load.h"
#include "model/load/mthp_probe.h"
#include "model/load/pageout.h"
#include "model/load/ring_probe.h"
#include "model/load/shm_probe.h"
#include "model/load/timer_probe.h"
#include "model/policy/policy.h"
