// SPDX-License-Identifier: GPL-2.0-or-later
// The vfree policies that come with the model. Called by the table in policies.cpp alone.
#pragma once

#include "model/policy/policy.h"

namespace mano::model {

const VfreePolicy* vfree_per_page();
const VfreePolicy* vfree_contiguous();
const VfreePolicy* vfree_threshold();
const VfreePolicy* vfree_to_zone();
const VfreePolicy* vfree_adaptive();

}  // namespace mano::model
