// SPDX-License-Identifier: GPL-2.0-or-later
// SQLite's C interface → RAII and Result. Holds no SQL text and knows no run set. Used inside store
// only; another back end would take the place of this file, queries.h and schema.cpp.
#pragma once

#include <sqlite3.h>

#include <bit>
#include <concepts>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"

namespace mano::store {

class Database;

// One prepared statement. Bound texts must live until the step that uses them is over.
class Statement {
  public:
    Statement(Statement&&) noexcept = default;
    Statement& operator=(Statement&&) noexcept = default;

    // Binds all parameters in order and starts from the beginning.
    template <typename... Values>
    Status bind(const Values&... values) {
        sqlite3_reset(raw_.get());
        int position = 0;
        const bool good = (bind_one(++position, values) && ...);
        return good ? Status{} : failure();
    }
    // true: a row is there; false: the end.
    Result<bool> step();
    // bind() and step() to the end, for statements that give no rows.
    template <typename... Values>
    Status run(const Values&... values) {
        MANO_TRY(bind(values...));
        MANO_ASSIGN(const bool row, step());
        if (row) MANO_TRY(drain());
        sqlite3_reset(raw_.get());
        return {};
    }

    bool is_null(int column) const {
        return sqlite3_column_type(raw_.get(), column) == SQLITE_NULL;
    }
    std::int64_t integer(int column) const { return sqlite3_column_int64(raw_.get(), column); }
    // Unsigned 64-bit numbers are stored as their two's complement.
    std::uint64_t bits(int column) const { return std::bit_cast<std::uint64_t>(integer(column)); }
    double real(int column) const { return sqlite3_column_double(raw_.get(), column); }
    // Text or blob; empty when NULL. Valid until the next step.
    std::string_view bytes(int column) const;
    std::string text(int column) const { return std::string(bytes(column)); }

  private:
    friend class Database;
    struct Finalize {
        void operator()(sqlite3_stmt* raw) const { sqlite3_finalize(raw); }
    };
    Statement(const Database& database, sqlite3_stmt* raw) : database_(&database), raw_(raw) {}

    tl::unexpected<Error> failure() const;
    Status drain();

    template <std::integral Number>
    bool bind_one(int position, Number value) {
        return sqlite3_bind_int64(raw_.get(), position, static_cast<std::int64_t>(value)) ==
               SQLITE_OK;
    }
    bool bind_one(int position, double value) {
        return sqlite3_bind_double(raw_.get(), position, value) == SQLITE_OK;
    }
    bool bind_one(int position, std::nullopt_t) {
        return sqlite3_bind_null(raw_.get(), position) == SQLITE_OK;
    }
    bool bind_one(int position, std::string_view value);
    bool bind_one(int position, const std::string& value) {
        return bind_one(position, std::string_view(value));
    }
    struct Blob {
        std::string_view bytes;
    };
    bool bind_one(int position, const Blob& value);
    template <typename Value>
    bool bind_one(int position, const std::optional<Value>& value) {
        return value ? bind_one(position, *value) : bind_one(position, std::nullopt);
    }

    const Database* database_;
    std::unique_ptr<sqlite3_stmt, Finalize> raw_;

  public:
    // Marks bytes that are to be stored as BLOB.
    static Blob blob(std::string_view bytes) { return {bytes}; }
};

// How long a writer waits for another one, ms. A transaction of a trial takes milliseconds.
constexpr int kBusyMs = 30'000;

// One connection. Not thread-safe: its user holds a lock. Doesn't move, since statements point
// here.
class Database {
  public:
    // `name` is what SQLite opens (a path, or a URI with SQLITE_OPEN_URI in `flags`); `shown` is
    // the path that errors name.
    static Result<std::unique_ptr<Database>> open(const std::string& name, int flags,
                                                  std::string shown);
    Database(const Database&) = delete;
    Database& operator=(const Database&) = delete;

    Result<Statement> prepare(std::string_view sql) const;
    // One statement or several, without parameters.
    Status execute(std::string_view sql) const;
    // The first column of the first row as an integer; an error when there is no row.
    Result<std::int64_t> number(std::string_view sql) const;
    bool read_only() const { return sqlite3_db_readonly(raw_.get(), "main") == 1; }
    bool in_transaction() const { return sqlite3_get_autocommit(raw_.get()) == 0; }
    std::int64_t last_row() const { return sqlite3_last_insert_rowid(raw_.get()); }
    int changes() const { return sqlite3_changes(raw_.get()); }
    // Extended result code of the last call that failed.
    int code() const { return sqlite3_extended_errcode(raw_.get()); }
    const std::string& shown() const { return shown_; }
    // What the last call's failure means, naming the file and the mend.
    tl::unexpected<Error> failure() const;

  private:
    struct Close {
        void operator()(sqlite3* raw) const { sqlite3_close_v2(raw); }
    };
    Database(sqlite3* raw, std::string shown) : raw_(raw), shown_(std::move(shown)) {}
    std::unique_ptr<sqlite3, Close> raw_;
    std::string shown_;
};

// Everything between begin() and commit() is there whole or not at all; undone when it dies first.
class Transaction {
  public:
    // Takes the write lock at once: waits for another writer here and not in the middle.
    static Result<Transaction> begin(const Database& database);
    // A consistent view for several reads.
    static Result<Transaction> begin_reading(const Database& database);
    Transaction(Transaction&& other) noexcept
        : database_(std::exchange(other.database_, nullptr)) {}
    Transaction& operator=(Transaction&&) = delete;
    ~Transaction();
    Status commit();

  private:
    explicit Transaction(const Database& database) : database_(&database) {}
    const Database* database_;
};

}  // namespace mano::store
