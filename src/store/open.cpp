// SPDX-License-Identifier: GPL-2.0-or-later
#include "store/open.h"

#include <sys/stat.h>

#include <cerrno>
#include <chrono>
#include <system_error>
#include <thread>

#include "store/schema.h"

namespace mano::store {

namespace fs = std::filesystem;

namespace {

fs::path with_suffix(const fs::path& file, std::string_view suffix) {
    fs::path longer = file;
    longer += suffix;
    return longer;
}

// A URI for SQLite: all but plain characters of the path are escaped, so that no file name can add
// parameters of its own.
std::string uri_of(const fs::path& file, std::string_view parameters) {
    std::error_code ignored;
    const fs::path absolute = fs::absolute(file, ignored);
    std::string uri = "file:";
    for (const char letter : absolute.string()) {
        const bool plain = (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') ||
                           (letter >= '0' && letter <= '9') || letter == '/' || letter == '.' ||
                           letter == '-' || letter == '_';
        if (plain) {
            uri += letter;
        } else {
            uri += fmt::format("%{:02x}", static_cast<unsigned char>(letter));
        }
    }
    return uri + std::string(parameters);
}

// Absolute, so that SQLite can take no file name for something special (":memory:", "").
std::string plain_name(const fs::path& file) {
    std::error_code ignored;
    return fs::absolute(file, ignored).string();
}

// What the path is before SQLite sees it: SQLite's own words for these cases are poor.
enum class Found { nothing, empty, file };
Result<Found> look_at(const fs::path& file) {
    struct stat status = {};
    if (::stat(file.c_str(), &status) != 0) {
        if (errno == ENOENT) return Found::nothing;
        return fail_errno(errno, file.string());
    }
    if (S_ISDIR(status.st_mode)) {
        return fail(Code::invalid, "{} is a directory; a store is a file, such as {}",
                    file.string(), (file / "store.db").string());
    }
    if (!S_ISREG(status.st_mode)) {
        return fail(Code::invalid, "{} is no regular file, so it can't be a store", file.string());
    }
    return status.st_size == 0 ? Found::empty : Found::file;
}

// Whose database and of which version. `all` is how many schema steps this program knows.
Status check_identity(const Database& database, bool* needs_migration) {
    // One view: a store that another program is just creating is blank or whole, never half.
    MANO_ASSIGN(Transaction reading, Transaction::begin_reading(database));
    MANO_ASSIGN(const std::int64_t application, database.number("PRAGMA application_id"));
    MANO_ASSIGN(const std::int64_t version, database.number("PRAGMA user_version"));
    MANO_ASSIGN(const std::int64_t tables, database.number("SELECT count(*) FROM sqlite_schema"));
    const auto newest = static_cast<std::int64_t>(steps().size());
    const bool blank = application == 0 && version == 0 && tables == 0;
    if (!blank && application != kApplicationId) {
        return fail(Code::invalid,
                    "{}: is an SQLite database of another program, not a Manometer store",
                    database.shown());
    }
    if (version > newest) {
        return fail(Code::environment,
                    "{}: was written by a newer Manometer (schema version {}, this one knows {}): "
                    "use that version, or give another file with --store",
                    database.shown(), version, newest);
    }
    if (version < 0 || (!blank && version == 0)) {
        return fail(Code::corrupt, "{}: has an impossible schema version ({})", database.shown(),
                    version);
    }
    *needs_migration = version < newest;
    return {};
}

Status set_up(const Database& database) {
    // FULL: a trial that was reported as stored survives a power cut too; one sync a trial is
    // nothing beside a boot.
    return database.execute(
        "PRAGMA synchronous = FULL; PRAGMA temp_store = MEMORY; PRAGMA foreign_keys = ON;");
}

// Switches to the write-ahead log. Unlike a statement, the switch doesn't wait by itself while
// another program reads: it is tried again for as long as a statement would wait.
Status write_ahead(const Database& database) {
    constexpr std::chrono::milliseconds kPause{5};
    for (std::chrono::milliseconds waited{0};; waited += kPause) {
        MANO_ASSIGN(Statement journal, database.prepare("PRAGMA journal_mode = WAL"));
        const auto row = journal.step();
        if (row && *row && journal.text(0) == "wal") return journal.run();
        const bool busy = !row && (database.code() & 0xff) == SQLITE_BUSY;
        if (!busy && !row) return tl::unexpected<Error>(row.error());
        if (!busy) {
            return fail(Code::environment,
                        "{}: its file system can't hold a write-ahead log (a network share?): give "
                        "a file on a local disk with --store",
                        database.shown());
        }
        if (waited >= std::chrono::milliseconds(kBusyMs)) return database.failure();
        std::this_thread::sleep_for(kPause);
    }
}

Status create_or_migrate(const Database& database, const fs::path& file) {
    // Creators queue up here.
    MANO_ASSIGN(const Fd lock, lock_file(lock_path(file)));
    // Without effect once tables exist; lets remove() give pages back to the file system.
    MANO_TRY(database.execute("PRAGMA auto_vacuum = INCREMENTAL"));
    MANO_TRY(write_ahead(database));
    return migrate(database, steps());
}

// SQLite finds out what it can't do only when it reads.
Status probe(const Database& database) {
    auto tables = database.number("SELECT count(*) FROM sqlite_schema");
    if (!tables) return tl::unexpected<Error>(std::move(tables).error());
    return {};
}

bool may_be_medium(int code) {
    const int primary = code & 0xff;
    return primary == SQLITE_CANTOPEN || primary == SQLITE_READONLY || primary == SQLITE_IOERR ||
           primary == SQLITE_FULL || primary == SQLITE_PERM;
}

Status copy_one(const fs::path& from, const fs::path& to) {
    std::error_code error;
    fs::copy_file(from, to, error);
    if (error) {
        return fail(Code::environment, "copying {} to {}: {}", from.string(), to.string(),
                    error.message());
    }
    return {};
}

// A log that a killed writer left behind can't be played back in place when nothing beside the
// store can be written (read-only medium, full disk): it is played back in a copy.
Result<Opened> open_copy(const fs::path& file) {
    std::error_code error;
    fs::path parent = fs::temp_directory_path(error);
    if (error) parent = "/tmp";
    Opened opened;
    MANO_ASSIGN(opened.copy, TempFolder::make(parent, "manometer-store-"));
    const fs::path copy = opened.copy.path() / "store.db";
    MANO_TRY(copy_one(file, copy));
    MANO_TRY(copy_one(with_suffix(file, "-wal"), with_suffix(copy, "-wal")));
    fs::permissions(copy, fs::perms::owner_read | fs::perms::owner_write, error);
    fs::permissions(with_suffix(copy, "-wal"), fs::perms::owner_read | fs::perms::owner_write,
                    error);
    MANO_ASSIGN(opened.database,
                Database::open(plain_name(copy), SQLITE_OPEN_READWRITE, file.string()));
    MANO_TRY(probe(*opened.database));
    return opened;
}

// Reads in place when SQLite can; else as a file that nobody changes; else a copy.
Result<Opened> open_somehow(const fs::path& file) {
    Opened opened;
    auto direct = Database::open(plain_name(file), SQLITE_OPEN_READONLY, file.string());
    if (!direct) return tl::unexpected<Error>(std::move(direct).error());
    Status readable = probe(**direct);
    if (readable) {
        opened.database = std::move(*direct);
        return opened;
    }
    if (!may_be_medium((*direct)->code())) return tl::unexpected<Error>(readable.error());
    std::error_code error;
    const auto log_size = fs::file_size(with_suffix(file, "-wal"), error);
    if (!error && log_size > 0) return open_copy(file);
    MANO_ASSIGN(opened.database,
                Database::open(uri_of(file, "?immutable=1"), SQLITE_OPEN_READONLY | SQLITE_OPEN_URI,
                               file.string()));
    MANO_TRY(probe(*opened.database));
    return opened;
}

}  // namespace

fs::path lock_path(const fs::path& file) {
    return with_suffix(file, "-lock");
}

Result<Opened> open_writable(const fs::path& file) {
    MANO_ASSIGN(const Found found, look_at(file));
    if (found == Found::nothing && file.has_parent_path()) {
        MANO_TRY(make_folders(file.parent_path()));
    }
    Opened opened;
    MANO_ASSIGN(opened.database,
                Database::open(plain_name(file), SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE,
                               file.string()));
    if (opened.database->read_only()) {
        return fail(Code::environment,
                    "{}: can't be written to (read-only file or medium): give another file with "
                    "--store",
                    file.string());
    }
    MANO_TRY(set_up(*opened.database));
    bool needs_migration = false;
    MANO_TRY(check_identity(*opened.database, &needs_migration));
    if (needs_migration) MANO_TRY(create_or_migrate(*opened.database, file));
    return opened;
}

Result<Opened> open_read_only(const fs::path& file) {
    MANO_ASSIGN(const Found found, look_at(file));
    if (found == Found::nothing) {
        return fail(Code::not_found, "{}: there is no store yet; `manometer run` makes one",
                    file.string());
    }
    if (found == Found::empty) {
        return fail(Code::invalid, "{}: is empty, not a Manometer store", file.string());
    }
    MANO_ASSIGN(Opened opened, open_somehow(file));
    MANO_TRY(set_up(*opened.database));
    bool needs_migration = false;
    MANO_TRY(check_identity(*opened.database, &needs_migration));
    if (!needs_migration) return opened;
    // Only writing mends an older schema; whoever reads a store of theirs has it mended in passing.
    opened = Opened();
    if (const auto migrated = open_writable(file); !migrated) {
        return fail(Code::environment,
                    "{}: has an older schema, which can't be brought up to date here ({}): give a "
                    "copy that can be written with --store",
                    file.string(), migrated.error().text());
    }
    MANO_ASSIGN(opened, open_somehow(file));
    MANO_TRY(set_up(*opened.database));
    return opened;
}

}  // namespace mano::store
