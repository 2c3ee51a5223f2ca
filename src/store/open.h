// SPDX-License-Identifier: GPL-2.0-or-later
// A path → an open, checked and migrated database. Knows files and SQLite's ways with them (WAL,
// read-only media), not what the tables mean. Called by Store::open.
#pragma once

#include <filesystem>
#include <memory>

#include "base/file.h"
#include "store/sql.h"

namespace mano::store {

struct Opened {
    // Outlives the database: holds the copy that is read where the file itself can't be.
    TempFolder copy;
    std::unique_ptr<Database> database;
};

// Creates and migrates what is missing. Errors name the file: a directory, no database, a foreign
// database, a newer schema (all Code::invalid but the last: Code::environment), no right to write.
Result<Opened> open_writable(const std::filesystem::path& file);
// Never creates or changes the store. A file that isn't there: Code::not_found.
Result<Opened> open_read_only(const std::filesystem::path& file);

// The file beside a store that its users lock: creation by flock, a run set that is being run by a
// byte range.
std::filesystem::path lock_path(const std::filesystem::path& file);

}  // namespace mano::store
