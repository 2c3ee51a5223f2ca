// SPDX-License-Identifier: GPL-2.0-or-later
#include "store/schema.h"

#include <array>

namespace mano::store {

namespace {

// docs/store.md explains every column. Triggers keep the promise that a row is never changed, but
// for a trial's final state and the end of its run set.
constexpr std::string_view kStep1 = R"sql(
CREATE TABLE runsets (
    key          INTEGER PRIMARY KEY AUTOINCREMENT,
    id           TEXT NOT NULL UNIQUE,
    name         TEXT NOT NULL,
    experiment   TEXT NOT NULL,
    started      TEXT NOT NULL,
    finished     TEXT,
    state        TEXT NOT NULL CHECK (state IN ('partial', 'complete')),
    command_line TEXT NOT NULL,
    version      TEXT NOT NULL,
    plan_json    TEXT NOT NULL,
    plan_hash    TEXT NOT NULL
) STRICT;
CREATE INDEX runsets_by_name ON runsets (name);

CREATE TABLE arms (
    runset      INTEGER NOT NULL REFERENCES runsets (key) ON DELETE CASCADE,
    position    INTEGER NOT NULL,
    name        TEXT NOT NULL,
    kernel_json TEXT NOT NULL,
    PRIMARY KEY (runset, position)
) STRICT, WITHOUT ROWID;

CREATE TABLE cases (
    runset   INTEGER NOT NULL REFERENCES runsets (key) ON DELETE CASCADE,
    position INTEGER NOT NULL,
    name     TEXT NOT NULL,
    PRIMARY KEY (runset, position)
) STRICT, WITHOUT ROWID;

CREATE TABLE identity (
    runset INTEGER NOT NULL REFERENCES runsets (key) ON DELETE CASCADE,
    key    TEXT NOT NULL,
    value  TEXT NOT NULL,
    PRIMARY KEY (runset, key)
) STRICT, WITHOUT ROWID;

CREATE TABLE remarks (
    runset   INTEGER NOT NULL REFERENCES runsets (key) ON DELETE CASCADE,
    position INTEGER NOT NULL,
    text     TEXT NOT NULL,
    PRIMARY KEY (runset, position)
) STRICT, WITHOUT ROWID;

CREATE TABLE endings (
    number   INTEGER PRIMARY KEY,
    name     TEXT NOT NULL,
    standing TEXT NOT NULL
) STRICT;

CREATE TABLE trials (
    key      INTEGER PRIMARY KEY,
    runset   INTEGER NOT NULL REFERENCES runsets (key) ON DELETE CASCADE,
    position INTEGER NOT NULL,
    arm      INTEGER NOT NULL,
    case_    INTEGER NOT NULL,
    row      INTEGER NOT NULL,
    seed     INTEGER NOT NULL,
    ending   INTEGER REFERENCES endings (number),
    ended    TEXT,
    evidence TEXT,
    host_ns  INTEGER,
    UNIQUE (runset, position),
    FOREIGN KEY (runset, arm) REFERENCES arms (runset, position) ON DELETE CASCADE,
    FOREIGN KEY (runset, case_) REFERENCES cases (runset, position) ON DELETE CASCADE
) STRICT;
CREATE INDEX trials_by_arm ON trials (runset, arm);
CREATE INDEX trials_by_case ON trials (runset, case_);

CREATE TABLE metrics (
    key  INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE
) STRICT;

CREATE TABLE samples (
    trial     INTEGER NOT NULL REFERENCES trials (key) ON DELETE CASCADE,
    position  INTEGER NOT NULL,
    metric    INTEGER NOT NULL REFERENCES metrics (key),
    iteration INTEGER,
    moment    INTEGER NOT NULL,
    value     REAL,
    PRIMARY KEY (trial, position)
) STRICT, WITHOUT ROWID;

CREATE TABLE facts (
    trial    INTEGER NOT NULL REFERENCES trials (key) ON DELETE CASCADE,
    position INTEGER NOT NULL,
    key      TEXT NOT NULL,
    value    TEXT NOT NULL,
    PRIMARY KEY (trial, position)
) STRICT, WITHOUT ROWID;

CREATE TABLE losses (
    trial    INTEGER NOT NULL REFERENCES trials (key) ON DELETE CASCADE,
    position INTEGER NOT NULL,
    source   TEXT NOT NULL,
    count    INTEGER NOT NULL,
    meaning  TEXT NOT NULL,
    PRIMARY KEY (trial, position)
) STRICT, WITHOUT ROWID;

CREATE TABLE attachments (
    trial INTEGER NOT NULL REFERENCES trials (key) ON DELETE CASCADE,
    what  TEXT NOT NULL CHECK (what IN ('console', 'evidence')),
    bytes INTEGER NOT NULL,
    zstd  BLOB NOT NULL,
    PRIMARY KEY (trial, what)
) STRICT;

CREATE TRIGGER runsets_kept BEFORE UPDATE OF key, id, name, experiment, started, command_line,
    version, plan_json, plan_hash ON runsets
BEGIN SELECT RAISE(ABORT, 'a run set is never changed'); END;
CREATE TRIGGER runsets_final BEFORE UPDATE ON runsets WHEN OLD.state = 'complete'
BEGIN SELECT RAISE(ABORT, 'a complete run set is never changed'); END;
CREATE TRIGGER trials_kept BEFORE UPDATE OF key, runset, position, arm, case_, row, seed ON trials
BEGIN SELECT RAISE(ABORT, 'a planned trial is never changed'); END;
CREATE TRIGGER trials_final BEFORE UPDATE ON trials WHEN OLD.ending IS NOT NULL
BEGIN SELECT RAISE(ABORT, 'a trial that has ended is never changed'); END;
CREATE TRIGGER samples_final BEFORE UPDATE ON samples
BEGIN SELECT RAISE(ABORT, 'a sample is never changed'); END;
CREATE TRIGGER facts_final BEFORE UPDATE ON facts
BEGIN SELECT RAISE(ABORT, 'a fact is never changed'); END;
CREATE TRIGGER losses_final BEFORE UPDATE ON losses
BEGIN SELECT RAISE(ABORT, 'a loss is never changed'); END;
CREATE TRIGGER attachments_final BEFORE UPDATE ON attachments
BEGIN SELECT RAISE(ABORT, 'an attachment is never changed'); END;

CREATE VIEW v_trials AS
SELECT r.id AS runset, r.name AS runset_name, r.experiment, t.position AS trial, a.name AS arm,
       c.name AS "case", t.row, t.seed, e.name AS ending, e.standing, t.ended, t.evidence,
       t.host_ns, t.key
FROM trials t
JOIN runsets r ON r.key = t.runset
JOIN arms a ON a.runset = t.runset AND a.position = t.arm
JOIN cases c ON c.runset = t.runset AND c.position = t.case_
LEFT JOIN endings e ON e.number = t.ending;

CREATE VIEW v_samples AS
SELECT v.runset, v.trial, v.arm, v."case", v.row, v.seed, v.standing, m.name AS metric, s.iteration,
       CASE s.moment WHEN 0 THEN 'before' WHEN 1 THEN 'after' ELSE 'whole' END AS moment, s.value
FROM v_trials v
JOIN samples s ON s.trial = v.key
JOIN metrics m ON m.key = s.metric;
)sql";

// Records of attribution trials.
constexpr std::string_view kStep2 = R"sql(
CREATE TABLE traces (
    trial INTEGER PRIMARY KEY REFERENCES trials (key) ON DELETE CASCADE,
    bytes INTEGER NOT NULL,
    zstd  BLOB NOT NULL
) STRICT;
CREATE TRIGGER traces_final BEFORE UPDATE ON traces
BEGIN SELECT RAISE(ABORT, 'a trace is never changed'); END;
)sql";

constexpr std::array<std::string_view, 2> kSteps = {kStep1, kStep2};

}  // namespace

std::span<const std::string_view> steps() {
    return kSteps;
}

Status migrate(const Database& database, std::span<const std::string_view> all) {
    MANO_ASSIGN(Transaction transaction, Transaction::begin(database));
    MANO_ASSIGN(const std::int64_t version, database.number("PRAGMA user_version"));
    const auto newest = static_cast<std::int64_t>(all.size());
    if (version < 0 || version >= newest) return {};
    for (std::int64_t step = version; step < newest; ++step) {
        MANO_TRY(database.execute(all[static_cast<std::size_t>(step)]));
    }
    MANO_TRY(database.execute(fmt::format("PRAGMA application_id = {}; PRAGMA user_version = {}",
                                          kApplicationId, newest)));
    return transaction.commit();
}

}  // namespace mano::store
