// SPDX-License-Identifier: GPL-2.0-or-later
// What a store's file can be and what can happen to it: no store, a newer one, read-only media, a
// full disk, damage, writers killed in mid-write, two writers at once.
#include <gmock/gmock.h>
#include <grp.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <array>
#include <csignal>
#include <cstdio>
#include <regex>
#include <thread>

#include "store/schema.h"
#include "store/store.h"
#include "store/test_data.h"

namespace mano::store {
namespace {

namespace fs = std::filesystem;
using measure::Ending;
using measure::Moment;
using measure::TrialRecord;
using ::testing::HasSubstr;

constexpr int kCannot = 77;  // exit status of a child that couldn't set up its situation

TrialRecord record_of(std::uint32_t position, std::size_t samples = 300) {
    TrialRecord record;
    record.ending = Ending::goodbye;
    for (std::uint32_t i = 0; i < samples; ++i) {
        record.samples.push_back(
            {fmt::format("vmstat.key_{}", i % 50), i, Moment::whole, position + i * 0.5});
    }
    Rng rng(position);
    record.console = test::random_bytes(rng, 0) + std::string(2000, 'c');
    record.facts = {{"position", std::to_string(position)}};
    return record;
}

// A done trial has everything and a planned one nothing.
::testing::AssertionResult is_whole(const StoredTrial& trial, std::size_t samples = 300) {
    if (!trial.done) {
        if (trial.record.samples.empty() && trial.record.facts.empty() &&
            trial.record.console.empty()) {
            return ::testing::AssertionSuccess();
        }
        return ::testing::AssertionFailure() << "a planned trial holds something";
    }
    const TrialRecord want = record_of(trial.planned.position, samples);
    if (trial.record.samples == want.samples && trial.record.facts == want.facts &&
        trial.record.console == want.console && trial.record.ending == want.ending) {
        return ::testing::AssertionSuccess();
    }
    return ::testing::AssertionFailure() << "trial " << trial.planned.position << " is half there";
}

class StoreFiles : public ::testing::Test {
  protected:
    fs::path path(std::string_view name) const { return folder_.path() / name; }
    std::string why_not(const fs::path& file, bool read_only, Code code) {
        const auto store = Store::open(file, read_only);
        EXPECT_FALSE(store) << file;
        if (store) return "";
        EXPECT_EQ(store.error().code, code) << store.error().text();
        EXPECT_THAT(store.error().text(), HasSubstr(file.string()));
        return store.error().text();
    }

  private:
    TempFolder folder_ = test::temp_folder();
};

TEST_F(StoreFiles, WhatIsNoStoreIsNamed) {
    EXPECT_THAT(why_not(path("none.db"), true, Code::not_found), HasSubstr("no store yet"));
    EXPECT_FALSE(fs::exists(path("none.db")));
    fs::create_directory(path("folder"));
    for (const bool read_only : {false, true}) {
        EXPECT_THAT(why_not(path("folder"), read_only, Code::invalid), HasSubstr("directory"));
        EXPECT_THAT(why_not("/dev/null", read_only, Code::invalid), HasSubstr("regular file"));
    }
    Rng rng(7);
    for (const std::string& bytes : {std::string("[experiment]\n"), std::string(100'000, '\0'),
                                     test::random_bytes(rng, 9999)}) {
        ASSERT_TRUE(write_file_atomic(path("rubbish"), bytes));
        for (const bool read_only : {false, true}) {
            EXPECT_THAT(why_not(path("rubbish"), read_only, Code::invalid), HasSubstr("not a"));
        }
        EXPECT_EQ(*read_file(path("rubbish")), bytes) << "opening changed it";
    }
    ASSERT_TRUE(write_file_atomic(path("empty"), ""));
    why_not(path("empty"), true, Code::invalid);
    EXPECT_TRUE(Store::open(path("empty")));
    why_not(path("rubbish") / "below", false, Code::environment);
}

TEST_F(StoreFiles, AnotherProgramsDatabaseIsLeftAlone) {
    {
        auto database = Database::open(path("other.db").string(),
                                       SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, "other");
        ASSERT_TRUE((*database)->execute("CREATE TABLE bookmarks (url TEXT)"));
    }
    const std::string before = *read_file(path("other.db"));
    EXPECT_THAT(why_not(path("other.db"), false, Code::invalid), HasSubstr("another program"));
    EXPECT_THAT(why_not(path("other.db"), true, Code::invalid), HasSubstr("another program"));
    EXPECT_EQ(*read_file(path("other.db")), before);
}

TEST_F(StoreFiles, ANewerSchemaIsNamed) {
    ASSERT_TRUE(Store::open(path("newer.db")));
    {
        auto database = Database::open(path("newer.db").string(), SQLITE_OPEN_READWRITE, "newer");
        ASSERT_TRUE((*database)->execute("PRAGMA user_version = 99"));
    }
    for (const bool read_only : {false, true}) {
        EXPECT_THAT(why_not(path("newer.db"), read_only, Code::environment),
                    HasSubstr("newer Manometer (schema version 99"));
    }
}

TEST_F(StoreFiles, MigrationsRunOnceWholeOrNotAtAll) {
    auto database =
        Database::open(path("old.db").string(), SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, "old");
    const Database& db = **database;
    std::vector<std::string_view> all(steps().begin(), steps().end());
    ASSERT_TRUE(migrate(db, all));
    const auto first = static_cast<std::int64_t>(all.size());
    EXPECT_EQ(*db.number("PRAGMA user_version"), first);
    EXPECT_EQ(*db.number("PRAGMA application_id"), kApplicationId);
    // A step that fails in its middle leaves the version before it.
    all.push_back("CREATE TABLE extra (a INTEGER) STRICT; INSERT INTO nowhere VALUES (1)");
    EXPECT_FALSE(migrate(db, all));
    EXPECT_EQ(*db.number("PRAGMA user_version"), first);
    EXPECT_EQ(*db.number("SELECT count(*) FROM sqlite_schema WHERE name = 'extra'"), 0);
    all.back() = "CREATE TABLE extra (a INTEGER) STRICT; INSERT INTO extra VALUES (1)";
    ASSERT_TRUE(migrate(db, all));
    ASSERT_TRUE(migrate(db, all));
    EXPECT_EQ(*db.number("PRAGMA user_version"), first + 1);
    EXPECT_EQ(*db.number("SELECT count(*) FROM extra"), 1);
}

TEST_F(StoreFiles, OddFileNames) {
    for (const char* name : {"a b.db", "%41?immutable=1&x.db", "#", "µ'\".db", ":memory:"}) {
        {
            auto store = Store::open(path(name));
            ASSERT_TRUE(store) << name << ": " << store.error().text();
            ASSERT_TRUE(store->create(test::new_runset(test::small_plan(1, 1, 1))));
        }
        EXPECT_TRUE(fs::exists(path(name))) << name;
        auto again = Store::open(path(name), true);
        ASSERT_TRUE(again) << name;
        EXPECT_EQ(again->list()->size(), 1U) << name;
    }
    EXPECT_TRUE(Store::open(path("new/folders/store.db")));
}

// In a child: a file system of its own. false: not allowed here.
bool mount_tmpfs(const fs::path& where, const char* options) {
    if (::unshare(CLONE_NEWNS) != 0 && ::unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) return false;
    ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr);
    return ::mount("none", where.c_str(), "tmpfs", 0, options) == 0;
}

#define CHILD_CHECK(condition)                                                   \
    do {                                                                         \
        if (!(condition)) {                                                      \
            std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
            return 1;                                                            \
        }                                                                        \
    } while (false)

void make_store(const fs::path& file, std::uint32_t trials) {
    auto store = Store::open(file);
    ASSERT_TRUE(store) << store.error().text();
    const std::string id = *store->create(test::new_runset(test::small_plan(1, 1, trials), "kept"));
    for (std::uint32_t i = 0; i + 1 < trials; ++i) {
        ASSERT_TRUE(store->finish_trial(id, i, record_of(i)));
    }
}

int reads_everything(const fs::path& file, std::uint32_t done) {
    auto store = Store::open(file, true);
    if (!store) std::fprintf(stderr, "%s\n", store.error().text().c_str());
    CHILD_CHECK(store);
    CHILD_CHECK(store->list()->size() == 1);
    CHILD_CHECK(store->list()->front().trials == done);
    const auto runset = store->load("kept");
    CHILD_CHECK(runset);
    for (const StoredTrial& trial : runset->trials)
        CHILD_CHECK(is_whole(trial));
    CHILD_CHECK(!store->create(test::new_runset(test::small_plan(1, 1, 1))));
    return 0;
}

// Leaves a write-ahead log that nobody has played back, as a killed writer does.
void make_unplayed(const fs::path& from, const fs::path& to, std::uint32_t trials) {
    auto store = Store::open(from);
    const std::string id = *store->create(test::new_runset(test::small_plan(1, 1, trials), "kept"));
    for (std::uint32_t i = 0; i < trials; ++i) {
        ASSERT_TRUE(store->finish_trial(id, i, record_of(i)));
    }
    fs::copy_file(from, to);
    fs::copy_file(from.string() + "-wal", to.string() + "-wal");
}

TEST_F(StoreFiles, AnOlderSchemaIsMendedByWhoeverReads) {
    const auto old_store = [](const fs::path& file) {
        auto database =
            Database::open(file.string(), SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, "old");
        return migrate(**database, steps().first(1));
    };
    ASSERT_TRUE(old_store(path("old.db")));
    auto store = Store::open(path("old.db"), true);
    ASSERT_TRUE(store) << store.error().text();
    EXPECT_TRUE(store->list()->empty());
    EXPECT_FALSE(store->create(test::new_runset(test::small_plan(1, 1, 1)))) << "only reads";
    auto database = Database::open(path("old.db").string(), SQLITE_OPEN_READONLY, "old");
    EXPECT_EQ(*(*database)->number("PRAGMA user_version"),
              static_cast<std::int64_t>(steps().size()));

    fs::create_directory(path("medium"));
    const int status = test::in_child([&] {
        if (!mount_tmpfs(path("medium"), "size=16m")) return kCannot;
        CHILD_CHECK(old_store(path("medium/old.db")));
        if (::mount("none", path("medium").c_str(), nullptr, MS_REMOUNT | MS_RDONLY, nullptr) !=
            0) {
            return kCannot;
        }
        const auto reader = Store::open(path("medium/old.db"), true);
        CHILD_CHECK(!reader);
        CHILD_CHECK(reader.error().text().find("older schema") != std::string::npos);
        return 0;
    });
    if (status == kCannot) GTEST_SKIP() << "NO MOUNT ALLOWED HERE: read-only media not tested";
    EXPECT_EQ(status, 0);
}

TEST_F(StoreFiles, ReadOnlyMediumIsReadable) {
    fs::create_directory(path("medium"));
    const int status = test::in_child([this] {
        if (!mount_tmpfs(path("medium"), "size=16m")) return kCannot;
        make_store(path("medium/store.db"), 5);
        make_unplayed(path("away.db"), path("medium/unplayed.db"), 4);
        if (::mount("none", path("medium").c_str(), nullptr, MS_REMOUNT | MS_RDONLY, nullptr) !=
            0) {
            return kCannot;
        }
        CHILD_CHECK(reads_everything(path("medium/store.db"), 4) == 0);
        CHILD_CHECK(reads_everything(path("medium/unplayed.db"), 4) == 0);
        const auto writable = Store::open(path("medium/store.db"));
        CHILD_CHECK(!writable);
        CHILD_CHECK(writable.error().code == Code::environment);
        CHILD_CHECK(writable.error().text().find("can't be written to") != std::string::npos);
        return 0;
    });
    if (status == kCannot) GTEST_SKIP() << "NO MOUNT ALLOWED HERE: read-only media not tested";
    EXPECT_EQ(status, 0);
}

TEST_F(StoreFiles, ReadOnlyFolderIsReadable) {
    fs::create_directory(path("folder"));
    make_store(path("folder/store.db"), 5);
    make_unplayed(path("away.db"), path("folder/unplayed.db"), 4);
    const fs::path top = path("folder").parent_path();
    fs::permissions(top, fs::perms(0755));
    fs::permissions(path("folder"), fs::perms(0555));
    for (const auto& file : fs::directory_iterator(path("folder"))) {
        fs::permissions(file, fs::perms(0444));
    }
    const int status = test::in_child([this] {
        if (::geteuid() == 0 &&
            (::setgroups(0, nullptr) != 0 || ::setgid(65534) != 0 || ::setuid(65534) != 0)) {
            return kCannot;
        }
        CHILD_CHECK(reads_everything(path("folder/store.db"), 4) == 0);
        CHILD_CHECK(reads_everything(path("folder/unplayed.db"), 4) == 0);
        const auto writable = Store::open(path("folder/store.db"));
        CHILD_CHECK(!writable && writable.error().code == Code::environment);
        const auto created = Store::open(path("folder/new.db"));
        CHILD_CHECK(!created && created.error().code == Code::environment);
        return 0;
    });
    fs::permissions(path("folder"), fs::perms(0755));
    if (status == kCannot) GTEST_SKIP() << "CAN'T BECOME ANOTHER USER: not tested";
    EXPECT_EQ(status, 0);
}

// Fills the store until it can't grow; checks what is said and kept. Returns the trials stored.
int fill_up(Store& store, const std::string& id, std::uint32_t* stored) {
    while (true) {
        const Status status = store.finish_trial(id, *stored, record_of(*stored, 3000));
        if (status) {
            ++*stored;
            CHILD_CHECK(*stored < 900);
            continue;
        }
        const std::string text = status.error().text();
        if (text.find("no space is left") == std::string::npos) {
            std::fprintf(stderr, "%s\n", text.c_str());
        }
        CHILD_CHECK(status.error().code == Code::environment);
        CHILD_CHECK(text.find("no space is left") != std::string::npos);
        CHILD_CHECK(text.find(store.path().string()) != std::string::npos);
        CHILD_CHECK(text.find("kept") != std::string::npos);
        break;
    }
    const auto runset = store.load(id);
    CHILD_CHECK(runset);
    for (std::uint32_t i = 0; i < 1000; ++i) {
        CHILD_CHECK(runset->trials[i].done == (i < *stored));
        CHILD_CHECK(is_whole(runset->trials[i], 3000));
    }
    return 0;
}

TEST_F(StoreFiles, AFullDiskLosesNothing) {
    fs::create_directory(path("small"));
    const int status = test::in_child([this] {
        if (!mount_tmpfs(path("small"), "size=2m")) return kCannot;
        const fs::path file = path("small/store.db");
        CHILD_CHECK(write_file_atomic(path("small/filler"), std::string(512U << 10U, 'f')));
        std::uint32_t stored = 0;
        std::string id;
        {
            auto store = Store::open(file);
            CHILD_CHECK(store);
            id = *store->create(test::new_runset(test::small_plan(1, 1, 1000)));
            CHILD_CHECK(fill_up(*store, id, &stored) == 0);
            CHILD_CHECK(stored > 3);
            // Also when the last bytes go to somebody else.
            std::FILE* rest = std::fopen(path("small/rest").c_str(), "w");
            while (std::fputc('r', rest) != EOF) {
            }
            std::fclose(rest);
            CHILD_CHECK(fill_up(*store, id, &stored) == 0);
        }
        {
            auto store = Store::open(file, true);
            if (!store) std::fprintf(stderr, "%s\n", store.error().text().c_str());
            CHILD_CHECK(store);
            CHILD_CHECK(store->list()->front().trials == stored);
        }
        fs::remove(path("small/rest"));
        fs::remove(path("small/filler"));
        auto store = Store::open(file);
        CHILD_CHECK(store);
        const std::uint32_t before = stored;
        CHILD_CHECK(fill_up(*store, id, &stored) == 0);
        CHILD_CHECK(stored > before);
        // A store that can't even begin says so too.
        const auto another = Store::open(path("small/another.db"));
        CHILD_CHECK(!another && another.error().code == Code::environment);
        return 0;
    });
    if (status == kCannot) GTEST_SKIP() << "NO MOUNT ALLOWED HERE: a full disk is not tested";
    EXPECT_EQ(status, 0);
}

TEST_F(StoreFiles, AFileSizeLimitLosesNothing) {
    const int status = test::in_child([this] {
        auto store = Store::open(path("store.db"));
        CHILD_CHECK(store);
        const std::string id = *store->create(test::new_runset(test::small_plan(1, 1, 1000)));
        std::signal(SIGXFSZ, SIG_IGN);
        const struct rlimit limit = {1U << 20U, RLIM_INFINITY};
        CHILD_CHECK(::setrlimit(RLIMIT_FSIZE, &limit) == 0);
        std::uint32_t stored = 0;
        CHILD_CHECK(fill_up(*store, id, &stored) == 0);
        CHILD_CHECK(stored > 3);
        return 0;
    });
    EXPECT_EQ(status, 0);
}

// Writes as fast as it can, from opening on.
[[noreturn]] void write_until_killed(const fs::path& file) {
    while (true) {
        auto store = Store::open(file);
        if (!store) ::_exit(3);
        const auto id = store->create(test::new_runset(test::small_plan(2, 1, 3)));
        if (!id) ::_exit(4);
        for (std::uint32_t i = 0; i < 6; ++i) {
            if (!store->finish_trial(*id, i, record_of(i))) ::_exit(5);
        }
        if (!store->complete(*id)) ::_exit(6);
    }
}

TEST_F(StoreFiles, KilledWritersLeaveAStoreThatOpens) {
    constexpr std::uint64_t kSeed = 9;
    RecordProperty("seed", std::to_string(kSeed));
    Rng rng(kSeed);
    std::size_t most_trials = 0;
    for (int round = 0; round < 50; ++round) {
        // Half of the rounds begin with the making of the file itself.
        const fs::path file = path(round % 2 == 0 ? "same.db" : fmt::format("{}.db", round));
        const pid_t child = ::fork();
        if (child == 0) write_until_killed(file);
        ::usleep(static_cast<useconds_t>(rng.below(round % 2 == 0 ? 80'000 : 25'000)));
        ASSERT_EQ(::kill(child, SIGKILL), 0);
        int status = 0;
        ASSERT_EQ(::waitpid(child, &status, 0), child);
        ASSERT_TRUE(WIFSIGNALED(status)) << "round " << round << ": exit " << WEXITSTATUS(status);

        auto store = Store::open(file);
        ASSERT_TRUE(store) << "round " << round << ": " << store.error().text();
        auto database = Database::open(file.string(), SQLITE_OPEN_READWRITE, "check");
        auto check = (*database)->prepare("PRAGMA integrity_check");
        ASSERT_TRUE(*check->step());
        EXPECT_EQ(check->text(0), "ok");
        auto foreign = (*database)->prepare("PRAGMA foreign_key_check");
        EXPECT_FALSE(*foreign->step());
        const auto all = store->list();
        ASSERT_TRUE(all);
        // Earlier rounds were checked in their turn: the newest is enough.
        if (all->empty()) continue;
        const auto runset = store->load("last");
        ASSERT_TRUE(runset) << runset.error().text();
        EXPECT_EQ(runset->trials.size(), 6U);
        for (const StoredTrial& trial : runset->trials)
            EXPECT_TRUE(is_whole(trial));
        for (const Summary& one : *all)
            most_trials = std::max(most_trials, one.trials);
    }
    EXPECT_GT(most_trials, 0U) << "no writer got as far as a trial: the test tests nothing";
}

// A store may be created by several programs at once, and looked at while it is.
TEST_F(StoreFiles, ManyProcessesCreateAtOnce) {
    for (int round = 0; round < 20; ++round) {
        const auto file = path(fmt::format("new{}.db", round));
        std::array<int, 2> gate = {};
        ASSERT_EQ(::pipe(gate.data()), 0);
        std::vector<pid_t> children;
        for (int i = 0; i < 8; ++i) {
            const pid_t child = ::fork();
            if (child == 0) {
                ::close(gate[1]);
                char go = 0;
                (void)!::read(gate[0], &go, 1);
                for (int again = 0; again < 20; ++again) {
                    const auto store = Store::open(file, i % 2 == 1);
                    // A reader may come before there is a store, or before anything is in it.
                    const bool early = !store && i % 2 == 1 &&
                                       std::regex_search(store.error().text(),
                                                         std::regex("no store yet|is empty"));
                    if (store || early) continue;
                    std::fprintf(stderr, "process %d: %s\n", i, store.error().text().c_str());
                    ::_exit(3);
                }
                ::_exit(0);
            }
            children.push_back(child);
        }
        ::close(gate[0]);
        ::close(gate[1]);  // All go at once.
        for (const pid_t child : children) {
            int status = 0;
            ASSERT_EQ(::waitpid(child, &status, 0), child);
            EXPECT_EQ(status, 0) << "round " << round;
        }
    }
}

TEST_F(StoreFiles, TwoProcessesWriteAtOnce) {
    constexpr std::uint32_t kTrials = 40;
    std::vector<pid_t> children;
    for (int i = 0; i < 3; ++i) {
        const pid_t child = ::fork();
        if (child == 0) {
            auto store = Store::open(path("shared.db"));
            if (!store) ::_exit(3);
            const auto id = store->create(test::new_runset(test::small_plan(1, 1, kTrials)));
            if (!id) ::_exit(4);
            for (std::uint32_t k = 0; k < kTrials; ++k) {
                if (!store->finish_trial(*id, k, record_of(k))) ::_exit(5);
                if (!store->list()) ::_exit(6);
            }
            ::_exit(store->complete(*id) ? 0 : 7);
        }
        children.push_back(child);
    }
    for (const pid_t child : children) {
        int status = 0;
        ASSERT_EQ(::waitpid(child, &status, 0), child);
        EXPECT_EQ(status, 0);
    }
    auto store = Store::open(path("shared.db"), true);
    const auto all = store->list();
    ASSERT_EQ(all->size(), 3U);
    for (const Summary& one : *all) {
        EXPECT_EQ(one.trials, kTrials);
        EXPECT_EQ(one.state, RunState::complete);
        const auto runset = store->load(one.id);
        for (const StoredTrial& trial : runset->trials)
            EXPECT_TRUE(is_whole(trial));
    }
}

// Any damage is an error or other data, never a crash or an endless loop.
TEST_F(StoreFiles, DamageIsFoundOrHarmless) {
    constexpr std::uint64_t kSeed = 31;
    RecordProperty("seed", std::to_string(kSeed));
    Rng rng(kSeed);
    make_store(path("good.db"), 4);
    const std::string good = *read_file(path("good.db"));
    int refused = 0;
    for (int round = 0; round < 120; ++round) {
        std::string bad = good;
        if (rng.below(8) == 0) {
            bad.resize(rng.below(bad.size()));
        } else {
            for (std::uint64_t i = 1 + rng.below(30); i > 0; --i) {
                // Headers and the schema more often than their size would make it.
                const std::size_t end = rng.below(2) == 0 ? 8192 : bad.size();
                bad[rng.below(end)] = static_cast<char>(rng.below(256));
            }
        }
        ASSERT_TRUE(write_file_atomic(path("bad.db"), bad));
        auto store = Store::open(path("bad.db"), rng.below(2) == 0);
        if (!store) {
            ++refused;
            continue;
        }
        const auto all = store->list();
        const auto runset = store->load("last");
        if (!all || !runset) ++refused;
        if (all && !all->empty()) {
            const Status ended = store->finish_trial(all->front().id, 3, record_of(3));
            const Status removed = store->remove("last");
            static_cast<void>(ended);
            static_cast<void>(removed);
        }
    }
    EXPECT_GT(refused, 10);
}

}  // namespace
}  // namespace mano::store
