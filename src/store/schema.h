// SPDX-License-Identifier: GPL-2.0-or-later
// The store's tables and how older ones become today's. All SQL that defines something is in
// schema.cpp, all that reads or writes rows in queries.h. Called when a store is opened.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "store/sql.h"

namespace mano::store {

// "Mano": tells a Manometer store from any other SQLite file.
constexpr std::int64_t kApplicationId = 0x4d616e6f;

// steps()[n] brings a store of schema version n to n + 1. A released step is never edited.
std::span<const std::string_view> steps();

// Runs the steps that are missing, all in one transaction, and sets version and application id.
// Does nothing when the version is already the newest (another process may have been quicker).
Status migrate(const Database& database, std::span<const std::string_view> all);

}  // namespace mano::store
