// SPDX-License-Identifier: GPL-2.0-or-later
// The AUX policies that come with the model. Called by the table in policies.cpp alone.
#pragma once

#include "model/policy/policy.h"

namespace mano::model {

const AuxPolicy* aux_plain();
const AuxPolicy* aux_no_reclaim();
const AuxPolicy* aux_no_reclaim_kswapd();
const AuxPolicy* aux_sticky();
const AuxPolicy* aux_highorder();
const AuxPolicy* aux_by_watermark();
const AuxPolicy* aux_bulk_release();

}  // namespace mano::model
