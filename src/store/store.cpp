// SPDX-License-Identifier: GPL-2.0-or-later
#include "store/store.h"

#include <fcntl.h>
#include <sys/random.h>

#include <array>
#include <cerrno>
#include <cmath>
#include <ctime>

#include "store/compress.h"
#include "store/inner.h"
#include "store/queries.h"

namespace mano::store {

namespace {

// The part of an id that names the experiment: plain letters only, since ids are typed, and not
// long.
std::string id_part(std::string_view experiment) {
    constexpr std::size_t kLongest = 40;
    std::string part;
    for (const char letter : experiment.substr(0, kLongest)) {
        const bool plain = (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') ||
                           (letter >= '0' && letter <= '9') || letter == '.' || letter == '_';
        part += plain ? letter : '-';
    }
    return part.empty() ? "run" : part;
}

// Only tells run sets apart that began in the same second; nothing depends on it.
Result<std::string> random_suffix() {
    std::uint16_t number = 0;
    if (::getrandom(&number, sizeof number, 0) != static_cast<ssize_t>(sizeof number)) {
        return fail_errno(errno, "getrandom");
    }
    return fmt::format("{:04x}", number);
}

// A name stands in tables and on command lines, and must never be taken for an id.
Status check_name(std::string_view name) {
    constexpr std::size_t kMaxName = 64;
    if (name == "last") {
        return fail(Code::invalid, "a run set can't be named 'last': that is the newest one");
    }
    const bool printable = std::all_of(name.begin(), name.end(),
                                       [](unsigned char c) { return c >= ' ' && c != 0x7f; });
    if (!printable || name.size() > kMaxName || name.starts_with('-')) {
        return fail(
            Code::invalid,
            "a run set can't have this name: expected at most {} characters, none of them a "
            "control character, and not '-' first",
            kMaxName);
    }
    // The ids' own form, or the beginning of one: 20261201-032918-idle-3764.
    constexpr std::size_t kDate = 8;
    const std::size_t digits = std::min(name.find_first_not_of("0123456789"), name.size());
    if (digits > 0 && (digits == name.size() || (digits == kDate && name[digits] == '-'))) {
        return fail(Code::invalid, "a run set can't be named '{}': that looks like an id", name);
    }
    return {};
}

Status check_new(const NewRunSet& runset) {
    MANO_TRY(check_name(runset.name));
    const plan::Plan& plan = runset.plan;
    if (plan.arms.empty() || plan.cases.empty() || plan.trials.empty()) {
        return fail(Code::invalid, "a run set needs an arm, a case and a trial");
    }
    if (runset.arms.size() != plan.arms.size()) {
        return fail(Code::internal, "the plan has {} arms, but {} kernels are described",
                    plan.arms.size(), runset.arms.size());
    }
    for (std::size_t i = 0; i < plan.trials.size(); ++i) {
        const plan::PlannedTrial& trial = plan.trials[i];
        if (trial.position != i || trial.arm >= plan.arms.size() ||
            trial.case_ >= plan.cases.size()) {
            return fail(Code::invalid,
                        "trial {} of the plan is wrong: position {}, arm {} of {}, case {} of {}",
                        i, trial.position, trial.arm, plan.arms.size(), trial.case_,
                        plan.cases.size());
        }
    }
    return {};
}

Status add_endings(const Database& database) {
    MANO_ASSIGN(Statement add, database.prepare(query::kAddEnding));
    for (unsigned number = 0; number <= 255; ++number) {
        const auto ending = static_cast<measure::Ending>(number);
        const std::string_view name = measure::name_of(ending);
        // Names are how we know which numbers exist.
        if (measure::ending_from(name) != ending) continue;
        MANO_TRY(add.run(number, name, measure::name_of(measure::standing(ending))));
    }
    return {};
}

Status add_parts(const Database& database, std::int64_t key, const NewRunSet& runset) {
    MANO_ASSIGN(Statement arm, database.prepare(query::kAddArm));
    for (std::size_t i = 0; i < runset.arms.size(); ++i) {
        MANO_TRY(arm.run(key, i, runset.arms[i].name, runset.arms[i].kernel_json));
    }
    MANO_ASSIGN(Statement a_case, database.prepare(query::kAddCase));
    for (std::size_t i = 0; i < runset.plan.cases.size(); ++i) {
        MANO_TRY(a_case.run(key, i, runset.plan.cases[i].name));
    }
    MANO_ASSIGN(Statement identity, database.prepare(query::kAddIdentity));
    for (const auto& [name, value] : runset.identity)
        MANO_TRY(identity.run(key, name, value));
    MANO_ASSIGN(Statement remark, database.prepare(query::kAddRemark));
    for (std::size_t i = 0; i < runset.remarks.size(); ++i) {
        MANO_TRY(remark.run(key, i, runset.remarks[i]));
    }
    MANO_ASSIGN(Statement trial, database.prepare(query::kAddTrial));
    for (const plan::PlannedTrial& planned : runset.plan.trials) {
        MANO_TRY(trial.run(key, planned.position, planned.arm, planned.case_, planned.row,
                           planned.seed));
    }
    return {};
}

}  // namespace

using Names = std::map<std::string, std::int64_t, std::less<>>;

// Metric names → their numbers, adding those that are new. `fresh` gets what isn't committed yet.
class Interner {
  public:
    static Result<Interner> make(const Database& database, const Names& known) {
        MANO_ASSIGN(Statement add, database.prepare(query::kAddMetric));
        MANO_ASSIGN(Statement look, database.prepare(query::kMetricKey));
        return Interner(known, std::move(add), std::move(look));
    }
    Result<std::int64_t> number_of(const std::string& name) {
        if (const auto old = known_->find(name); old != known_->end()) return old->second;
        if (const auto found = fresh_.find(name); found != fresh_.end()) return found->second;
        MANO_TRY(add_.run(name));
        MANO_TRY(look_.bind(name));
        MANO_ASSIGN(const bool row, look_.step());
        if (!row) return fail(Code::internal, "the store lost the metric {}", name);
        return fresh_[name] = look_.integer(0);
    }
    Names&& take() && { return std::move(fresh_); }

  private:
    Interner(const Names& known, Statement add, Statement look)
        : known_(&known), add_(std::move(add)), look_(std::move(look)) {}
    const Names* known_;
    Statement add_;
    Statement look_;
    Names fresh_;
};

namespace {

// Returns the losses that storing itself causes.
Result<std::vector<measure::Loss>> add_samples(const Database& database, std::int64_t trial,
                                               const std::vector<measure::Sample>& samples,
                                               Interner& interner) {
    std::map<std::string_view, std::uint64_t> not_finite;
    MANO_ASSIGN(Statement add, database.prepare(query::kAddSample));
    for (std::size_t i = 0; i < samples.size(); ++i) {
        const measure::Sample& sample = samples[i];
        MANO_ASSIGN(const std::int64_t metric, interner.number_of(sample.metric));
        const auto moment = static_cast<std::uint8_t>(sample.moment);
        if (sample.value && std::isfinite(*sample.value)) {
            MANO_TRY(add.run(trial, i, metric, sample.iteration, moment, *sample.value));
            continue;
        }
        // SQLite would keep a NaN as NULL without a word, and an infinity poisons every mean.
        if (sample.value) ++not_finite[sample.metric];
        MANO_TRY(add.run(trial, i, metric, sample.iteration, moment, std::nullopt));
    }
    std::vector<measure::Loss> losses;
    for (const auto& [metric, count] : not_finite) {
        losses.push_back({std::string(metric), count,
                          "values that are no finite number (NaN or infinity): kept as unknown"});
    }
    return losses;
}

Status add_facts_and_losses(const Database& database, std::int64_t trial,
                            const measure::TrialRecord& record,
                            const std::vector<measure::Loss>& more) {
    MANO_ASSIGN(Statement fact, database.prepare(query::kAddFact));
    for (std::size_t i = 0; i < record.facts.size(); ++i) {
        MANO_TRY(fact.run(trial, i, record.facts[i].key, record.facts[i].value));
    }
    MANO_ASSIGN(Statement loss, database.prepare(query::kAddLoss));
    std::size_t position = 0;
    for (const auto* losses : {&record.losses, &more}) {
        for (const measure::Loss& one : *losses) {
            MANO_TRY(loss.run(trial, position++, one.source, one.count, one.meaning));
        }
    }
    return {};
}

Status attach(const Database& database, std::int64_t trial, std::string_view what,
              std::string_view text) {
    MANO_ASSIGN(const std::string frame, compress(text));
    MANO_ASSIGN(Statement add, database.prepare(query::kAddAttachment));
    return add.run(trial, what, text.size(), Statement::blob(frame));
}

Status add_texts(const Database& database, std::int64_t trial, const measure::TrialRecord& record) {
    if (!record.console.empty()) {
        MANO_TRY(attach(database, trial, "console", record.console));
    }
    if (record.evidence.size() > kPlainText) {
        MANO_TRY(attach(database, trial, "evidence", record.evidence));
    }
    if (!record.trace.empty()) {
        MANO_ASSIGN(const std::string frame, compress(record.trace));
        MANO_ASSIGN(Statement add, database.prepare(query::kAddTrace));
        MANO_TRY(add.run(trial, record.trace.size(), Statement::blob(frame)));
    }
    return {};
}

// The row of a trial that is planned and hasn't ended.
Result<std::int64_t> planned_trial(const Database& database, std::int64_t key,
                                   const std::string& runset, std::uint32_t position) {
    MANO_ASSIGN(Statement look, database.prepare(query::kTrialKey));
    MANO_TRY(look.bind(key, position));
    MANO_ASSIGN(const bool row, look.step());
    if (!row) return fail(Code::not_found, "run set {} has no trial {}", runset, position);
    if (!look.is_null(1)) {
        return fail(Code::invalid, "trial {} of run set {} has already ended: it is never changed",
                    position, runset);
    }
    return look.integer(0);
}

}  // namespace

Stamp now() {
    const std::time_t seconds = std::time(nullptr);
    std::tm utc = {};
    gmtime_r(&seconds, &utc);
    std::array<char, 32> iso = {};
    std::array<char, 32> compact = {};
    std::strftime(iso.data(), iso.size(), "%Y-%m-%dT%H:%M:%SZ", &utc);
    std::strftime(compact.data(), compact.size(), "%Y%m%d-%H%M%S", &utc);
    return {iso.data(), compact.data()};
}

Store::Store(std::unique_ptr<Inner> inner) : inner_(std::move(inner)) {}
Store::Store(Store&&) noexcept = default;
Store& Store::operator=(Store&&) noexcept = default;
Store::~Store() = default;

const std::filesystem::path& Store::path() const {
    return inner_->file;
}

Result<Store> Store::open(const std::filesystem::path& file, bool read_only) {
    auto inner = std::make_unique<Inner>();
    inner->file = file;
    inner->read_only = read_only;
    MANO_ASSIGN(inner->opened, read_only ? open_read_only(file) : open_writable(file));
    return Store(std::move(inner));
}

Status Store::Inner::writable() const {
    if (!read_only) return {};
    return fail(Code::internal, "{} is open for reading only", file.string());
}

Result<std::string> Store::Inner::add_run_set(const NewRunSet& runset) const {
    MANO_TRY(add_endings(database()));
    const Stamp stamp = now();
    std::string id;
    do {
        MANO_ASSIGN(const std::string suffix, random_suffix());
        id = fmt::format("{}-{}-{}", stamp.compact, id_part(runset.plan.experiment), suffix);
    } while (key_of(id).has_value());
    MANO_ASSIGN(Statement add, database().prepare(query::kAddRunSet));
    MANO_TRY(add.run(id, runset.name, runset.plan.experiment, stamp.iso, runset.command_line,
                     runset.version, plan::to_json(runset.plan), plan::hash(runset.plan)));
    MANO_TRY(add_parts(database(), database().last_row(), runset));
    return id;
}

Status Store::Inner::end_trial(const std::string& runset, std::uint32_t position,
                               const measure::TrialRecord& record, Interner& interner) const {
    MANO_ASSIGN(const std::int64_t key, key_of(runset));
    MANO_ASSIGN(const std::int64_t trial, planned_trial(database(), key, runset, position));
    MANO_ASSIGN(const std::vector<measure::Loss> losses,
                add_samples(database(), trial, record.samples, interner));
    MANO_TRY(add_facts_and_losses(database(), trial, record, losses));
    MANO_TRY(add_texts(database(), trial, record));
    const std::optional<std::string_view> evidence =
        record.evidence.size() > kPlainText ? std::nullopt
                                            : std::optional<std::string_view>(record.evidence);
    MANO_ASSIGN(Statement end, database().prepare(query::kEndTrial));
    return end.run(static_cast<std::uint8_t>(record.ending), now().iso, evidence, record.host_ns,
                   trial);
}

Status Store::Inner::end_run_set(const std::string& runset, bool early) const {
    MANO_ASSIGN(const std::int64_t key, key_of(runset));
    MANO_ASSIGN(Statement state, database().prepare(query::kStateOfRunSet));
    MANO_TRY(state.bind(key));
    MANO_ASSIGN(const bool row, state.step());
    if (row && state.bytes(0) == "complete") return {};
    MANO_ASSIGN(Statement left, database().prepare(query::kTrialsLeft));
    MANO_TRY(left.bind(key));
    MANO_ASSIGN(const bool counted, left.step());
    if (!counted || (!early && left.integer(0) != 0)) {
        return fail(Code::invalid, "run set {} isn't complete: {} of its trials haven't ended",
                    runset, left.integer(0));
    }
    MANO_ASSIGN(Statement end, database().prepare(query::kEndRunSet));
    return end.run(now().iso, key);
}

Result<std::string> Store::create(const NewRunSet& runset) {
    MANO_TRY(inner_->writable());
    MANO_TRY(check_new(runset));
    const std::lock_guard guard(inner_->mutex);
    MANO_ASSIGN(Transaction transaction, Transaction::begin(inner_->database()));
    MANO_ASSIGN(std::string id, inner_->add_run_set(runset));
    MANO_TRY(transaction.commit());
    return id;
}

Result<std::string> Store::add(const NewRunSet& runset,
                               std::span<const measure::TrialRecord> records) {
    MANO_TRY(inner_->writable());
    MANO_TRY(check_new(runset));
    const std::lock_guard guard(inner_->mutex);
    MANO_ASSIGN(Transaction transaction, Transaction::begin(inner_->database()));
    MANO_ASSIGN(Interner interner, Interner::make(inner_->database(), inner_->metrics));
    MANO_ASSIGN(std::string id, inner_->add_run_set(runset));
    for (std::size_t i = 0; i < records.size(); ++i) {
        MANO_TRY(inner_->end_trial(id, static_cast<std::uint32_t>(i), records[i], interner));
    }
    MANO_TRY(inner_->end_run_set(id, false));
    MANO_TRY(transaction.commit());
    inner_->metrics.merge(std::move(interner).take());
    return id;
}

Status Store::finish_trial(const std::string& runset, std::uint32_t position,
                           const measure::TrialRecord& record) {
    MANO_TRY(inner_->writable());
    const std::lock_guard guard(inner_->mutex);
    MANO_ASSIGN(Transaction transaction, Transaction::begin(inner_->database()));
    MANO_ASSIGN(Interner interner, Interner::make(inner_->database(), inner_->metrics));
    MANO_TRY(inner_->end_trial(runset, position, record, interner));
    MANO_TRY(transaction.commit());
    inner_->metrics.merge(std::move(interner).take());
    return {};
}

Status Store::complete(const std::string& runset, bool early) {
    MANO_TRY(inner_->writable());
    const std::lock_guard guard(inner_->mutex);
    MANO_ASSIGN(Transaction transaction, Transaction::begin(inner_->database()));
    MANO_TRY(inner_->end_run_set(runset, early));
    return transaction.commit();
}

Result<Fd> Store::claim(const std::string& runset) {
    MANO_TRY(inner_->writable());
    const std::lock_guard guard(inner_->mutex);
    MANO_ASSIGN(const std::int64_t key, inner_->key_of(runset));
    MANO_ASSIGN(Fd fd, open_file(lock_path(inner_->file), O_RDWR | O_CREAT));
    // One byte per run set, so that one file serves all. The lock belongs to the descriptor.
    struct flock range = {};
    range.l_type = F_WRLCK;
    range.l_whence = SEEK_SET;
    range.l_start = key;
    range.l_len = 1;
    if (::fcntl(fd.get(), F_OFD_SETLK, &range) != 0) {
        if (errno == EAGAIN || errno == EACCES) {
            return fail(Code::environment, "run set {} is being run by another process", runset);
        }
        return fail_errno(errno, lock_path(inner_->file).string());
    }
    return fd;
}

Status Store::remove(std::string_view reference) {
    MANO_TRY(inner_->writable());
    const std::lock_guard guard(inner_->mutex);
    const Database& database = inner_->database();
    MANO_ASSIGN(Transaction transaction, Transaction::begin(database));
    MANO_ASSIGN(const std::string id, inner_->find(reference));
    MANO_ASSIGN(const std::int64_t key, inner_->key_of(id));
    MANO_ASSIGN(Statement away, database.prepare(query::kRemoveRunSet));
    MANO_TRY(away.run(key));
    MANO_TRY(transaction.commit());
    return database.execute("PRAGMA incremental_vacuum");
}

}  // namespace mano::store
