// SPDX-License-Identifier: GPL-2.0-or-later
// Every SQL statement that reads or writes rows, by name. Parameters and columns are in the order
// in which store.cpp and load.cpp use them. Nothing else in the project holds SQL.
#pragma once

#include <string_view>

namespace mano::store::query {

// Writing.
constexpr std::string_view kAddRunSet =
    "INSERT INTO runsets (id, name, experiment, started, state, command_line, version, plan_json, "
    "plan_hash) VALUES (?, ?, ?, ?, 'partial', ?, ?, ?, ?)";
constexpr std::string_view kAddArm =
    "INSERT INTO arms (runset, position, name, kernel_json) VALUES (?, ?, ?, ?)";
constexpr std::string_view kAddCase = "INSERT INTO cases (runset, position, name) VALUES (?, ?, ?)";
constexpr std::string_view kAddIdentity =
    "INSERT INTO identity (runset, key, value) VALUES (?, ?, ?)";
constexpr std::string_view kAddRemark =
    "INSERT INTO remarks (runset, position, text) VALUES (?, ?, ?)";
constexpr std::string_view kAddEnding =
    "INSERT OR IGNORE INTO endings (number, name, standing) VALUES (?, ?, ?)";
constexpr std::string_view kAddTrial =
    "INSERT INTO trials (runset, position, arm, case_, row, seed) VALUES (?, ?, ?, ?, ?, ?)";
constexpr std::string_view kAddMetric = "INSERT OR IGNORE INTO metrics (name) VALUES (?)";
constexpr std::string_view kAddSample =
    "INSERT INTO samples (trial, position, metric, iteration, moment, value) "
    "VALUES (?, ?, ?, ?, ?, ?)";
constexpr std::string_view kAddFact =
    "INSERT INTO facts (trial, position, key, value) VALUES (?, ?, ?, ?)";
constexpr std::string_view kAddLoss =
    "INSERT INTO losses (trial, position, source, count, meaning) VALUES (?, ?, ?, ?, ?)";
constexpr std::string_view kAddAttachment =
    "INSERT INTO attachments (trial, what, bytes, zstd) VALUES (?, ?, ?, ?)";
constexpr std::string_view kAddTrace = "INSERT INTO traces (trial, bytes, zstd) VALUES (?, ?, ?)";
constexpr std::string_view kEndTrial =
    "UPDATE trials SET ending = ?, ended = ?, evidence = ?, host_ns = ? WHERE key = ?";
constexpr std::string_view kEndRunSet =
    "UPDATE runsets SET state = 'complete', finished = ? WHERE key = ?";
constexpr std::string_view kRemoveRunSet = "DELETE FROM runsets WHERE key = ?";

// Reading.
constexpr std::string_view kKeyOfId = "SELECT key FROM runsets WHERE id = ?";
constexpr std::string_view kIdNewest =
    "SELECT id FROM runsets ORDER BY started DESC, key DESC LIMIT 1";
constexpr std::string_view kIdOfName =
    "SELECT id FROM runsets WHERE name = ? ORDER BY started DESC, key DESC LIMIT 1";
// Not LIKE: '%' and '_' in what the user typed must not match anything else.
constexpr std::string_view kIdsWithPrefix =
    "SELECT id FROM runsets WHERE substr(id, 1, length(?1)) = ?1 "
    "ORDER BY started DESC, key DESC LIMIT ?2";
constexpr std::string_view kIdsAndNames =
    "SELECT id, name FROM runsets ORDER BY started DESC, key DESC LIMIT ?";
constexpr std::string_view kStateOfRunSet = "SELECT state FROM runsets WHERE key = ?";
constexpr std::string_view kRunSet =
    "SELECT key, name, started, finished, state, command_line, version, plan_json, plan_hash "
    "FROM runsets WHERE id = ?";
constexpr std::string_view kRunSets =
    "SELECT key, id, name, experiment, started, state FROM runsets "
    "ORDER BY started DESC, key DESC";
constexpr std::string_view kArms =
    "SELECT name, kernel_json FROM arms WHERE runset = ? ORDER BY position";
constexpr std::string_view kIdentity = "SELECT key, value FROM identity WHERE runset = ?";
constexpr std::string_view kRemarks = "SELECT text FROM remarks WHERE runset = ? ORDER BY position";
constexpr std::string_view kTrialKey =
    "SELECT key, ending FROM trials WHERE runset = ? AND position = ?";
constexpr std::string_view kTrials =
    "SELECT key, position, arm, case_, row, seed, ending, evidence, host_ns FROM trials "
    "WHERE runset = ? ORDER BY position";
constexpr std::string_view kTrialsLeft =
    "SELECT count(*) FROM trials WHERE runset = ? AND ending IS NULL";
constexpr std::string_view kTrialsByEnding =
    "SELECT ending, count(*) FROM trials WHERE runset = ? GROUP BY ending";
constexpr std::string_view kMetrics = "SELECT key, name FROM metrics";
constexpr std::string_view kMetricKey = "SELECT key FROM metrics WHERE name = ?";
constexpr std::string_view kSamples =
    "SELECT metric, iteration, moment, value FROM samples WHERE trial = ? ORDER BY position";
constexpr std::string_view kFacts =
    "SELECT key, value FROM facts WHERE trial = ? ORDER BY position";
constexpr std::string_view kLosses =
    "SELECT source, count, meaning FROM losses WHERE trial = ? ORDER BY position";
constexpr std::string_view kTrace = "SELECT bytes, zstd FROM traces WHERE trial = ?";
constexpr std::string_view kAttachment =
    "SELECT bytes, zstd FROM attachments WHERE trial = ? AND what = ?";

}  // namespace mano::store::query
