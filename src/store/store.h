// SPDX-License-Identifier: GPL-2.0-or-later
// Run sets ⇄ SQLite. Raw values only; rates and ratios are derived on reading. The runner writes,
// the report and the command line read. A row is never changed, but for a trial's final state.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/file.h"
#include "measure/sample.h"
#include "plan/plan.h"

namespace mano::store {

enum class RunState : std::uint8_t { partial, complete };

// What is known of an arm's kernel, as stored (JSON of kernels::Provenance and more).
struct StoredArm {
    std::string name;
    std::string kernel_json;
};

struct StoredTrial {
    plan::PlannedTrial planned;
    bool done = false;  // false: planned, not run yet
    measure::Standing standing = measure::Standing::counted;
    measure::TrialRecord record;  // empty when not done; samples only when asked for
};

// One run set, read back whole.
struct RunSet {
    std::string id;        // "20261130-154434-shm-churn-3f2a"
    std::string name;      // the user's, may be empty
    std::string started;   // ISO 8601, UTC
    std::string finished;  // empty while partial
    RunState state = RunState::partial;
    std::string command_line;  // how it was made, for the reproduce line
    std::string version;       // of manometer
    plan::Plan plan;
    std::string plan_hash;
    std::vector<StoredArm> arms;
    std::map<std::string, std::string> identity;
    std::vector<std::string> remarks;
    std::vector<StoredTrial> trials;  // in plan order
};

struct NewRunSet {
    std::string name;
    std::string command_line;
    std::string version;
    plan::Plan plan;
    std::vector<StoredArm> arms;
    std::map<std::string, std::string> identity;
    std::vector<std::string> remarks;
};

struct Summary {
    std::string id;
    std::string name;
    std::string experiment;
    std::string started;
    RunState state = RunState::partial;
    std::vector<std::string> arms;
    std::uint64_t trials = 0;  // done
    std::uint64_t planned = 0;
    std::uint64_t spoiled = 0;
    std::uint64_t failed = 0;
};

// One store file, open. Every call is one transaction and safe from any thread; several processes
// may use one file at once. Errors name the file and the mend: no space left and no right to write
// are Code::environment, damage is Code::corrupt.
class Store {
  public:
    // Opens or creates. Migrates older schemas; a newer one, or a file that isn't a store, is an
    // error that names the file. `read_only` never creates and works on read-only media; a file
    // that isn't there is then Code::not_found.
    static Result<Store> open(const std::filesystem::path& file, bool read_only = false);
    Store(Store&&) noexcept;
    Store& operator=(Store&&) noexcept;
    ~Store();

    const std::filesystem::path& path() const;

    // In one transaction: the run set with all its trials as planned. Returns the id. A plan whose
    // trials aren't numbered 0, 1, 2 … or point to no arm or case, or a name that find() would take
    // for something else: Code::invalid.
    Result<std::string> create(const NewRunSet& runset);
    // In one transaction: a whole run set whose trials have all ended, in the plan's order. It is
    // there complete or not at all. Returns the id.
    Result<std::string> add(const NewRunSet& runset, std::span<const measure::TrialRecord> records);
    // In one transaction: everything of one trial and its final state. An error leaves the trial
    // planned. A value that isn't finite is kept as unknown, and a Loss says so. A trial that has
    // already ended: Code::invalid.
    Status finish_trial(const std::string& runset, std::uint32_t position,
                        const measure::TrialRecord& record);
    // Marks a run set as complete; Code::invalid while one of its trials hasn't ended. `early`: a
    // sequential run that may stop at a look, with the trials behind it left planned for ever.
    Status complete(const std::string& runset, bool early = false);
    // For whoever runs the trials of `runset`: holds it until the descriptor is closed or the
    // process dies. Code::environment when another process holds it.
    Result<Fd> claim(const std::string& runset);

    // Newest first.
    Result<std::vector<Summary>> list();
    // "last", an id, a name (the newest of that name), or a unique prefix of an id, tried in this
    // order. Ambiguous or unknown: Code::not_found with candidates.
    Result<std::string> find(std::string_view reference);
    // Without samples or consoles, where only the header and the endings are wanted.
    Result<RunSet> load(std::string_view reference, bool with_samples = true,
                        bool with_console = true);
    // The records of one attribution trial (load() leaves them out: they may be a hundred MB);
    // empty when it has none.
    Result<std::string> trace(const std::string& runset, std::uint32_t position);
    // The run set with all that belongs to it; its space goes back to the file system.
    Status remove(std::string_view reference);

  private:
    struct Inner;
    explicit Store(std::unique_ptr<Inner> inner);
    std::unique_ptr<Inner> inner_;
};

}  // namespace mano::store
