// SPDX-License-Identifier: GPL-2.0-or-later
#include "store/sql.h"

#include <cerrno>
#include <cstring>
#include <limits>

namespace mano::store {

namespace {

bool means_full(int number) {
    return number == ENOSPC || number == EDQUOT || number == EFBIG;
}

tl::unexpected<Error> explain(int code, int number, const char* said, const std::string& file) {
    const int primary = code & 0xff;
    if (primary == SQLITE_FULL || (primary == SQLITE_IOERR && means_full(number))) {
        return fail(Code::environment,
                    "{}: no space is left for it ({}); what was stored before is kept whole. Free "
                    "some space (or raise the quota) and try again",
                    file, means_full(number) ? std::strerror(number) : said);
    }
    switch (primary) {
        case SQLITE_BUSY:
        case SQLITE_LOCKED:
            return fail(Code::environment,
                        "{}: another process has been writing to it for more than {} s; try again "
                        "when it is done",
                        file, kBusyMs / 1000);
        case SQLITE_READONLY:
        case SQLITE_PERM:
            return fail(Code::environment,
                        "{}: can't be written to (read-only file, folder or medium): give another "
                        "file with --store",
                        file);
        case SQLITE_NOTADB:
            return fail(Code::invalid, "{}: is not a Manometer store (no SQLite database)", file);
        case SQLITE_CORRUPT:
            return fail(Code::corrupt,
                        "{}: the store is damaged ({}); `sqlite3 FILE .recover` saves what can be "
                        "read",
                        file, said);
        case SQLITE_CANTOPEN:
        case SQLITE_AUTH:
            return fail(Code::environment, "{}: can't be opened: {}", file,
                        number != 0 ? std::strerror(number) : said);
        case SQLITE_IOERR:
            return fail(Code::environment, "{}: reading or writing failed: {}", file,
                        number != 0 ? std::strerror(number) : said);
        default:
            return fail(Code::internal, "{}: SQLite says: {} ({})", file, said, code);
    }
}

}  // namespace

Result<std::unique_ptr<Database>> Database::open(const std::string& name, int flags,
                                                 std::string shown) {
    sqlite3* raw = nullptr;
    const int code = sqlite3_open_v2(name.c_str(), &raw,
                                     flags | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE, nullptr);
    if (raw == nullptr) return fail(Code::internal, "{}: no memory for SQLite", shown);
    std::unique_ptr<Database> database(new Database(raw, std::move(shown)));
    if (code != SQLITE_OK) return database->failure();
    sqlite3_busy_timeout(raw, kBusyMs);
    // A store may come from anybody: what its schema says must not run code or reach further.
    sqlite3_db_config(raw, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
    sqlite3_db_config(raw, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
    sqlite3_db_config(raw, SQLITE_DBCONFIG_ENABLE_FKEY, 1, nullptr);
    return database;
}

tl::unexpected<Error> Database::failure() const {
    // SQLite forgets the system's reason when a commit fails: then errno still has it.
    const int last = errno;
    const int kept = sqlite3_system_errno(raw_.get());
    return explain(code(), means_full(last) ? last : kept, sqlite3_errmsg(raw_.get()), shown_);
}

Result<Statement> Database::prepare(std::string_view sql) const {
    sqlite3_stmt* raw = nullptr;
    if (sqlite3_prepare_v2(raw_.get(), sql.data(), static_cast<int>(sql.size()), &raw, nullptr) !=
        SQLITE_OK) {
        return failure();
    }
    return Statement(*this, raw);
}

Status Database::execute(std::string_view sql) const {
    const std::string terminated(sql);
    errno = 0;
    if (sqlite3_exec(raw_.get(), terminated.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK) {
        return failure();
    }
    return {};
}

Result<std::int64_t> Database::number(std::string_view sql) const {
    MANO_ASSIGN(Statement statement, prepare(sql));
    MANO_ASSIGN(const bool row, statement.step());
    if (!row) return fail(Code::internal, "{}: no row for {}", shown_, sql);
    return statement.integer(0);
}

Result<bool> Statement::step() {
    errno = 0;
    switch (sqlite3_step(raw_.get())) {
        case SQLITE_ROW:
            return true;
        case SQLITE_DONE:
            return false;
        default: {
            auto error = failure();
            sqlite3_reset(raw_.get());
            return error;
        }
    }
}

Status Statement::drain() {
    while (true) {
        MANO_ASSIGN(const bool row, step());
        if (!row) return {};
    }
}

std::string_view Statement::bytes(int column) const {
    const void* data = sqlite3_column_blob(raw_.get(), column);
    const int size = sqlite3_column_bytes(raw_.get(), column);
    if (data == nullptr || size <= 0) return {};
    return {static_cast<const char*>(data), static_cast<std::size_t>(size)};
}

bool Statement::bind_one(int position, std::string_view value) {
    // A null pointer would be stored as NULL: an empty text is not an unknown one.
    const char* data = value.data() != nullptr ? value.data() : "";
    return sqlite3_bind_text64(raw_.get(), position, data, value.size(), SQLITE_STATIC,
                               SQLITE_UTF8) == SQLITE_OK;
}

bool Statement::bind_one(int position, const Blob& value) {
    const char* data = value.bytes.data() != nullptr ? value.bytes.data() : "";
    return sqlite3_bind_blob64(raw_.get(), position, data, value.bytes.size(), SQLITE_STATIC) ==
           SQLITE_OK;
}

tl::unexpected<Error> Statement::failure() const {
    return database_->failure();
}

Result<Transaction> Transaction::begin(const Database& database) {
    MANO_TRY(database.execute("BEGIN IMMEDIATE"));
    return Transaction(database);
}

Result<Transaction> Transaction::begin_reading(const Database& database) {
    MANO_TRY(database.execute("BEGIN"));
    return Transaction(database);
}

Transaction::~Transaction() {
    // SQLite has rolled back by itself after some errors (a full disk).
    if (database_ == nullptr || !database_->in_transaction()) return;
    const Status ignored = database_->execute("ROLLBACK");
    static_cast<void>(ignored);
}

Status Transaction::commit() {
    MANO_TRY(database_->execute("COMMIT"));
    database_ = nullptr;
    return {};
}

}  // namespace mano::store
