// SPDX-License-Identifier: GPL-2.0-or-later
// What a Store holds: the connection and the lock around it. Shared by store.cpp (which writes) and
// load.cpp (which reads).
#pragma once

#include <filesystem>
#include <map>
#include <mutex>
#include <string>

#include "store/open.h"
#include "store/store.h"

namespace mano::store {

class Interner;

struct Store::Inner {
    std::filesystem::path file;
    bool read_only = false;
    Opened opened;
    std::mutex mutex;  // around every use of the connection
    // Names that are known to be committed: filled after a commit, never before.
    std::map<std::string, std::int64_t, std::less<>> metrics;

    const Database& database() const { return *opened.database; }
    Status writable() const;
    // The row of a run set; Code::not_found when there is no such id.
    Result<std::int64_t> key_of(std::string_view id) const;
    // find() without the lock.
    Result<std::string> find(std::string_view reference) const;

    // The three steps of a run set's life, in store.cpp. Each within a transaction of the caller's.
    Result<std::string> add_run_set(const NewRunSet& runset) const;
    Status end_trial(const std::string& runset, std::uint32_t position,
                     const measure::TrialRecord& record, Interner& interner) const;
    Status end_run_set(const std::string& runset, bool early) const;
};

// "2026-11-30T15:44:34Z", and the same moment as "20261130-154434".
struct Stamp {
    std::string iso;
    std::string compact;
};
Stamp now();

// Texts up to this size are plain columns, readable with sqlite3; longer ones are compressed.
constexpr std::size_t kPlainText = 4096;

}  // namespace mano::store
