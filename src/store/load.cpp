// SPDX-License-Identifier: GPL-2.0-or-later
// Reading back: tables → RunSet. What is read is checked like input: a store may come from anybody.
#include <cmath>
#include <limits>
#include <unordered_map>

#include "store/compress.h"
#include "store/inner.h"
#include "store/queries.h"

namespace mano::store {

namespace {

constexpr std::size_t kCandidates = 5;

tl::unexpected<Error> damaged(const Database& database, std::string_view id,
                              std::string_view what) {
    return fail(Code::corrupt, "{}: run set {} is damaged: {}", database.shown(), id, what);
}

std::string joined(const std::vector<std::string>& names) {
    std::string all;
    for (const std::string& name : names) {
        if (!all.empty()) all += ", ";
        all += name;
    }
    return all;
}

// The single text of the first row; nullopt when there is no row.
template <typename... Values>
Result<std::optional<std::string>> one_text(const Database& database, std::string_view sql,
                                            const Values&... values) {
    MANO_ASSIGN(Statement look, database.prepare(sql));
    MANO_TRY(look.bind(values...));
    MANO_ASSIGN(const bool row, look.step());
    if (!row) return std::optional<std::string>();
    return std::optional<std::string>(look.text(0));
}

// What a person who mistyped may have meant: the nearest ids and names, else the newest.
Result<std::string> suggestions(const Database& database, std::string_view reference) {
    MANO_ASSIGN(Statement look, database.prepare(query::kIdsAndNames));
    MANO_TRY(look.bind(1000));
    std::vector<std::string> known;
    std::vector<std::string> newest;
    while (true) {
        MANO_ASSIGN(const bool row, look.step());
        if (!row) break;
        known.push_back(look.text(0));
        if (newest.size() < kCandidates) newest.push_back(look.text(0));
        if (!look.bytes(1).empty()) known.push_back(look.text(1));
    }
    if (known.empty()) return std::string("the store holds none yet");
    const std::string nearest = measure::nearest_name(reference, known);
    if (!nearest.empty()) return fmt::format("did you mean {}?", nearest);
    return fmt::format("the newest are {}", joined(newest));
}

// Reads one run set; each function one table.
class Reader {
  public:
    Reader(const Database& database, bool with_samples, bool with_console)
        : database_(database), with_samples_(with_samples), with_console_(with_console) {}

    Result<RunSet> read(const std::string& id) {
        RunSet runset;
        runset.id = id;
        MANO_TRY(header(runset));
        MANO_TRY(parts(runset));
        if (with_samples_) MANO_TRY(metric_names());
        MANO_TRY(trials(runset));
        return runset;
    }

  private:
    Status header(RunSet& runset) {
        MANO_ASSIGN(Statement look, database_.prepare(query::kRunSet));
        MANO_TRY(look.bind(runset.id));
        MANO_ASSIGN(const bool row, look.step());
        if (!row) return fail(Code::not_found, "{}: no run set {}", database_.shown(), runset.id);
        key_ = look.integer(0);
        runset.name = look.text(1);
        runset.started = look.text(2);
        runset.finished = look.text(3);
        runset.state = look.bytes(4) == "complete" ? RunState::complete : RunState::partial;
        runset.command_line = look.text(5);
        runset.version = look.text(6);
        auto plan = plan::from_json(look.bytes(7));
        if (!plan) {
            return wrap(Error{Code::corrupt, plan.error().text(), nullptr},
                        "{}: run set {} is damaged: its plan can't be read", database_.shown(),
                        runset.id);
        }
        runset.plan = std::move(*plan);
        runset.plan_hash = look.text(8);
        if (runset.plan_hash != plan::hash(runset.plan)) {
            return damaged(database_, runset.id,
                           "its plan isn't the one that was fixed before it ran (plan_hash)");
        }
        return {};
    }

    Status parts(RunSet& runset) {
        MANO_ASSIGN(Statement arms, database_.prepare(query::kArms));
        MANO_TRY(each(
            arms,
            [&] {
                runset.arms.push_back({arms.text(0), arms.text(1)});
            },
            key_));
        MANO_ASSIGN(Statement identity, database_.prepare(query::kIdentity));
        MANO_TRY(each(
            identity, [&] { runset.identity[identity.text(0)] = identity.text(1); }, key_));
        MANO_ASSIGN(Statement remarks, database_.prepare(query::kRemarks));
        MANO_TRY(each(
            remarks, [&] { runset.remarks.push_back(remarks.text(0)); }, key_));
        if (runset.arms.size() != runset.plan.arms.size()) {
            return damaged(database_, runset.id, "its arms aren't those of its plan");
        }
        return {};
    }

    Status metric_names() {
        MANO_ASSIGN(Statement look, database_.prepare(query::kMetrics));
        return each(look, [&] { metrics_[look.integer(0)] = look.text(1); });
    }

    Status trials(RunSet& runset) {
        MANO_ASSIGN(Statement look, database_.prepare(query::kTrials));
        MANO_ASSIGN(Statement samples, database_.prepare(query::kSamples));
        MANO_ASSIGN(Statement facts, database_.prepare(query::kFacts));
        MANO_ASSIGN(Statement losses, database_.prepare(query::kLosses));
        MANO_ASSIGN(Statement texts, database_.prepare(query::kAttachment));
        MANO_TRY(look.bind(key_));
        while (true) {
            MANO_ASSIGN(const bool row, look.step());
            if (!row) break;
            const std::size_t position = runset.trials.size();
            if (position >= runset.plan.trials.size()) {
                return damaged(database_, runset.id, "it has more trials than its plan");
            }
            StoredTrial trial;
            trial.planned = runset.plan.trials[position];
            const plan::PlannedTrial& planned = trial.planned;
            if (look.integer(1) != planned.position || look.integer(2) != planned.arm ||
                look.integer(3) != planned.case_ || look.integer(4) != planned.row ||
                look.bits(5) != planned.seed || planned.arm >= runset.plan.arms.size() ||
                planned.case_ >= runset.plan.cases.size()) {
                return damaged(database_, runset.id,
                               fmt::format("trial {} isn't that of its plan", position));
            }
            if (!look.is_null(6)) {
                Status good = ended(trial, look, samples, facts, losses, texts);
                if (!good) {
                    return wrap(good.error(), "{}: trial {} of run set {} can't be read",
                                database_.shown(), position, runset.id);
                }
            }
            runset.trials.push_back(std::move(trial));
        }
        if (runset.trials.size() != runset.plan.trials.size()) {
            return damaged(database_, runset.id, "it has fewer trials than its plan");
        }
        return {};
    }

    Status ended(StoredTrial& trial, Statement& look, Statement& samples, Statement& facts,
                 Statement& losses, Statement& texts) {
        const std::int64_t key = look.integer(0);
        measure::TrialRecord& record = trial.record;
        MANO_ASSIGN(record.ending, ending(look.integer(6)));
        trial.done = true;
        trial.standing = measure::standing(record.ending);
        record.host_ns = look.bits(8);
        if (look.is_null(7)) {
            MANO_ASSIGN(record.evidence, attachment(texts, key, "evidence"));
        } else {
            record.evidence = look.text(7);
        }
        if (with_console_) {
            MANO_ASSIGN(record.console, attachment(texts, key, "console"));
        }
        MANO_TRY(each(
            facts,
            [&] {
                record.facts.push_back({facts.text(0), facts.text(1)});
            },
            key));
        MANO_TRY(each(
            losses,
            [&] {
                record.losses.push_back({losses.text(0), losses.bits(1), losses.text(2)});
            },
            key));
        if (with_samples_) MANO_TRY(read_samples(record, samples, key));
        return {};
    }

    Status read_samples(measure::TrialRecord& record, Statement& look, std::int64_t key) {
        MANO_TRY(look.bind(key));
        while (true) {
            MANO_ASSIGN(const bool row, look.step());
            if (!row) return {};
            const auto metric = metrics_.find(look.integer(0));
            const std::int64_t iteration = look.integer(1);
            const std::int64_t moment = look.integer(2);
            if (metric == metrics_.end() || iteration < 0 ||
                iteration > std::numeric_limits<std::uint32_t>::max() || moment < 0 || moment > 2) {
                return fail(Code::corrupt, "sample {} is damaged", record.samples.size());
            }
            measure::Sample sample;
            sample.metric = metric->second;
            if (!look.is_null(1)) sample.iteration = static_cast<std::uint32_t>(iteration);
            sample.moment = static_cast<measure::Moment>(moment);
            // No infinity was stored by us.
            const double value = look.real(3);
            if (!look.is_null(3) && std::isfinite(value)) sample.value = value;
            record.samples.push_back(std::move(sample));
        }
    }

    static Result<measure::Ending> ending(std::int64_t number) {
        if (number >= 0 && number <= 255) {
            const auto one = static_cast<measure::Ending>(number);
            if (measure::ending_from(measure::name_of(one)) == one) return one;
        }
        return fail(Code::corrupt, "its ending {} is none that this version knows", number);
    }

    // Empty when there is none.
    static Result<std::string> attachment(Statement& look, std::int64_t trial,
                                          std::string_view what) {
        MANO_TRY(look.bind(trial, what));
        MANO_ASSIGN(const bool row, look.step());
        if (!row) return std::string();
        return decompress(look.bytes(1), look.bits(0));
    }

    template <typename Take, typename... Values>
    static Status each(Statement& look, Take take, const Values&... values) {
        MANO_TRY(look.bind(values...));
        while (true) {
            MANO_ASSIGN(const bool row, look.step());
            if (!row) return {};
            take();
        }
    }

    const Database& database_;
    bool with_samples_;
    bool with_console_;
    std::int64_t key_ = 0;
    std::unordered_map<std::int64_t, std::string> metrics_;
};

Status count_trials(Statement& look, std::int64_t key, Summary& summary) {
    MANO_TRY(look.bind(key));
    while (true) {
        MANO_ASSIGN(const bool row, look.step());
        if (!row) return {};
        const std::uint64_t count = look.bits(1);
        summary.planned += count;
        if (look.is_null(0)) continue;
        summary.trials += count;
        const auto ending = static_cast<measure::Ending>(look.integer(0));
        switch (measure::standing(ending)) {
            case measure::Standing::counted:
                break;
            case measure::Standing::failed:
                summary.failed += count;
                break;
            case measure::Standing::spoiled:
                summary.spoiled += count;
                break;
        }
    }
}

}  // namespace

Result<std::int64_t> Store::Inner::key_of(std::string_view id) const {
    MANO_ASSIGN(Statement look, database().prepare(query::kKeyOfId));
    MANO_TRY(look.bind(id));
    MANO_ASSIGN(const bool row, look.step());
    if (!row) return fail(Code::not_found, "{}: no run set {}", file.string(), id);
    return look.integer(0);
}

Result<std::string> Store::Inner::find(std::string_view reference) const {
    const Database& all = database();
    if (reference == "last") {
        MANO_ASSIGN(const std::optional<std::string> newest, one_text(all, query::kIdNewest));
        if (newest) return *newest;
        return fail(Code::not_found, "{}: the store holds no run set yet", file.string());
    }
    if (auto exact = key_of(reference)) return std::string(reference);
    if (!reference.empty()) {
        MANO_ASSIGN(const std::optional<std::string> named,
                    one_text(all, query::kIdOfName, reference));
        if (named) return *named;
        MANO_ASSIGN(Statement look, all.prepare(query::kIdsWithPrefix));
        MANO_TRY(look.bind(reference, kCandidates + 1));
        std::vector<std::string> ids;
        while (true) {
            MANO_ASSIGN(const bool row, look.step());
            if (!row) break;
            ids.push_back(look.text(0));
        }
        if (ids.size() == 1) return ids.front();
        if (ids.size() > kCandidates) ids.back() = "...";
        if (!ids.empty()) {
            return fail(Code::not_found, "{}: '{}' begins several run sets: {}", file.string(),
                        reference, joined(ids));
        }
    }
    MANO_ASSIGN(const std::string hint, suggestions(all, reference));
    return fail(Code::not_found, "{}: no run set '{}'; {}", file.string(), reference, hint);
}

Result<std::string> Store::find(std::string_view reference) {
    const std::lock_guard guard(inner_->mutex);
    return inner_->find(reference);
}

Result<std::vector<Summary>> Store::list() {
    const std::lock_guard guard(inner_->mutex);
    const Database& database = inner_->database();
    MANO_ASSIGN(const Transaction view, Transaction::begin_reading(database));
    MANO_ASSIGN(Statement look, database.prepare(query::kRunSets));
    MANO_ASSIGN(Statement arms, database.prepare(query::kArms));
    MANO_ASSIGN(Statement endings, database.prepare(query::kTrialsByEnding));
    std::vector<Summary> all;
    while (true) {
        MANO_ASSIGN(const bool row, look.step());
        if (!row) return all;
        const std::int64_t key = look.integer(0);
        Summary summary;
        summary.id = look.text(1);
        summary.name = look.text(2);
        summary.experiment = look.text(3);
        summary.started = look.text(4);
        summary.state = look.bytes(5) == "complete" ? RunState::complete : RunState::partial;
        MANO_TRY(arms.bind(key));
        while (true) {
            MANO_ASSIGN(const bool arm, arms.step());
            if (!arm) break;
            summary.arms.push_back(arms.text(0));
        }
        MANO_TRY(count_trials(endings, key, summary));
        all.push_back(std::move(summary));
    }
}

Result<RunSet> Store::load(std::string_view reference, bool with_samples, bool with_console) {
    const std::lock_guard guard(inner_->mutex);
    MANO_ASSIGN(const Transaction view, Transaction::begin_reading(inner_->database()));
    MANO_ASSIGN(const std::string id, inner_->find(reference));
    return Reader(inner_->database(), with_samples, with_console).read(id);
}

Result<std::string> Store::trace(const std::string& runset, std::uint32_t position) {
    const std::lock_guard guard(inner_->mutex);
    const Database& database = inner_->database();
    MANO_ASSIGN(const Transaction view, Transaction::begin_reading(database));
    MANO_ASSIGN(const std::int64_t key, inner_->key_of(runset));
    MANO_ASSIGN(Statement trial, database.prepare(query::kTrialKey));
    MANO_TRY(trial.bind(key, position));
    MANO_ASSIGN(const bool known, trial.step());
    if (!known) return fail(Code::not_found, "run set {} has no trial {}", runset, position);
    // A store that an older version wrote and that is open for reading only has no such table.
    MANO_ASSIGN(const std::int64_t version, database.number("PRAGMA user_version"));
    if (version < 2) return std::string();
    MANO_ASSIGN(Statement look, database.prepare(query::kTrace));
    MANO_TRY(look.bind(trial.integer(0)));
    MANO_ASSIGN(const bool row, look.step());
    if (!row) return std::string();
    auto text = decompress(look.bytes(1), look.bits(0));
    if (!text) {
        return wrap(text.error(), "{}: the trace of trial {} of run set {}", database.shown(),
                    position, runset);
    }
    return text;
}

}  // namespace mano::store
