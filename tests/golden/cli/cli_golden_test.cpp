// SPDX-License-Identifier: GPL-2.0-or-later
// Runs the program that was built as people run it, and compares what it says with the recorded
// answers. Boots nothing and needs no network.
//
// NAME.commands holds one command a line ("manometer run idel -k debian:7.3", optionally with
// VARIABLE=VALUE in front, single quotes, and TMP for a folder of its own); '#' begins a comment.
// NAME.expected is the answer: command, standard output, standard error, exit code. To record
// answers anew: MANO_BLESS=1 ctest -R cli_golden, then look at the difference before committing.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cstdlib>
#include <filesystem>
#include <regex>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/process.h"

namespace mano {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::Not;

const fs::path kFolder = fs::path(MANO_SOURCE_DIR) / "tests" / "golden" / "cli";

// A folder with everything that the commands name, and nothing of the user's.
class Place {
  public:
    Place() : folder_(std::move(*TempFolder::make(fs::temp_directory_path(), "cli-golden"))) {
        write("empty.toml", "");
        write("text.toml", "this is no experiment\n");
        write("typo.toml",
              "[experiment]\nname = \"typo\"\ntitle = \"t\"\nquestion = \"q\"\n"
              "[guest]\nmemry = \"1GiB\"\n[probe]\nkind = \"idle\"\n"
              "[primary]\nmetric = \"vmstat.pgfalt\"\n");
        write("empty", "");
        write("text", "not a kernel\n");
        std::string rubbish;
        for (unsigned i = 0; i < 100000; ++i)
            rubbish += static_cast<char>((i * 2654435761U) >> 13);
        write("rubbish", rubbish);
        write("rubbish.toml", rubbish);
        write("rubbish.csv", rubbish);
        write("rubbish.db", rubbish);
        // An ELF file's header for AArch64, little-endian, as far as anybody looks.
        std::string arm64(
            "\x7f"
            "ELF\x02\x01\x01",
            7);
        arm64.resize(4096, '\0');
        arm64[16] = 2;
        arm64[18] = static_cast<char>(183);
        write("arm64", arm64);
        // The start of a bzImage: boot flag, "HdrS", and a payload that isn't there.
        std::string cut(1024, '\0');
        cut[0x1f1] = 4;
        cut[0x1fe] = 0x55;
        cut[0x1ff] = static_cast<char>(0xaa);
        cut.replace(0x202, 4, "HdrS");
        write("truncated", cut);
        write("good.csv", good_csv());
        write("bad.csv", "arm,case,trial,seed,iteration,metric,unit,value\nold,,0,1,0,x,us,fast\n");
        fs::create_directories(path("folder"));
    }

    std::string path(const std::string& name) const { return (folder_.path() / name).string(); }
    std::string root() const { return folder_.path().string(); }

    Result<Output> run(const std::vector<std::string>& arguments,
                       std::vector<std::string> environment = {}) const {
        std::vector<std::string> words{MANO_PROGRAM};
        words.insert(words.end(), arguments.begin(), arguments.end());
        environment.insert(environment.begin(),
                           {"PATH=/nonexistent",  // no QEMU, no apt: nothing boots or is fetched
                            "XDG_CACHE_HOME=" + path("cache"), "XDG_DATA_HOME=" + path("data"),
                            "XDG_RUNTIME_DIR=" + path("run"), "HOME=" + root(), "LC_ALL=C"});
        SpawnOptions options;
        options.folder = root();
        options.environment = std::move(environment);
        return run_program(words, options);
    }

  private:
    void write(const std::string& name, std::string_view bytes) const {
        ASSERT_TRUE(write_file_atomic(path(name), bytes));
    }
    // Two arms that differ clearly, six trials each.
    static std::string good_csv() {
        std::string text = "arm,case,trial,seed,iteration,metric,unit,value,kind\n";
        for (int arm = 0; arm < 2; ++arm) {
            for (int trial = 0; trial < 6; ++trial) {
                text += fmt::format("{},,{},{},,probe.fault_ns_total,ns,{},counter\n",
                                    arm == 0 ? "old" : "new", trial, trial + 1,
                                    100'000 * (arm + 1) + trial * 1000);
            }
        }
        return text;
    }

    TempFolder folder_;
};

std::vector<std::string> words_of(const std::string& line) {
    std::vector<std::string> words;
    std::string word;
    bool inside = false;
    bool any = false;
    for (const char c : line) {
        if (c == '\'') {
            inside = !inside;
            any = true;
        } else if (c == ' ' && !inside) {
            if (any || !word.empty()) words.push_back(word);
            word.clear();
            any = false;
        } else {
            word += c;
        }
    }
    if (any || !word.empty()) words.push_back(word);
    return words;
}

std::string replaced(std::string text, const std::string& what, const std::string& with) {
    for (std::size_t at = text.find(what); at != std::string::npos;
         at = text.find(what, at + with.size()))
        text.replace(at, what.size(), with);
    return text;
}

// What differs from run to run: the folder, run sets' ids, times, the version.
std::string settled(std::string text, const Place& place) {
    text = replaced(std::move(text), place.root(), "TMP");
    text = std::regex_replace(text, std::regex(R"(\d{8}-\d{6}-[a-z-]*[0-9a-f]{4})"), "RUNSET");
    text = std::regex_replace(text, std::regex(R"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ)"), "TIME");
    return std::regex_replace(text, std::regex(R"(manometer \d+\.\d+\.\d+)"), "manometer VERSION");
}

std::string answer(const Place& place, const std::string& line) {
    std::vector<std::string> environment;
    std::vector<std::string> arguments;
    for (std::string& word : words_of(replaced(line, "TMP", place.root()))) {
        if (word.empty() || !arguments.empty() || word == "manometer") {
            arguments.push_back(std::move(word));
        } else {
            environment.push_back(std::move(word));
        }
    }
    if (arguments.empty() || arguments.front() != "manometer") return "no command: " + line + "\n";
    arguments.erase(arguments.begin());
    const auto output = place.run(arguments, environment);
    if (!output) return "couldn't be run: " + output.error().text() + "\n";
    std::string text = "$ " + line + "\n" + settled(output->out, place);
    if (!output->err.empty()) text += "--- standard error\n" + settled(output->err, place);
    return text + "--- " + output->exit.text() + "\n\n";
}

void check(const std::string& name) {
    const Place place;
    const auto commands = read_file(kFolder / (name + ".commands"));
    ASSERT_TRUE(commands) << commands.error().text();
    std::string answers;
    std::size_t count = 0;
    for (std::size_t at = 0; at < commands->size();) {
        const std::size_t end = std::min(commands->find('\n', at), commands->size());
        const std::string line = commands->substr(at, end - at);
        at = end + 1;
        if (line.empty() || line.front() == '#') continue;
        answers += answer(place, line);
        ++count;
    }
    ASSERT_GT(count, 0U) << name << ".commands holds no command";
    const fs::path expected = kFolder / (name + ".expected");
    if (std::getenv("MANO_BLESS") != nullptr) {
        ASSERT_TRUE(write_file_atomic(expected, answers));
    }
    const auto recorded = read_file(expected);
    ASSERT_TRUE(recorded) << recorded.error().text() << "; record with MANO_BLESS=1";
    EXPECT_EQ(answers, *recorded);
}

TEST(CliGolden, Help) {
    check("help");
}
TEST(CliGolden, Usage) {
    check("usage");
}
TEST(CliGolden, BadFiles) {
    check("files");
}
TEST(CliGolden, StoreWithoutGuests) {
    check("store");
}

TEST(Cli, DoctorNamesWhatIsMissingAndTheLineThatMendsIt) {
    const Place place;
    const auto output = place.run({"doctor"});
    ASSERT_TRUE(output);
    EXPECT_EQ(output->exit.code, 2);
    EXPECT_THAT(output->out, HasSubstr("MISSING  QEMU"));
    EXPECT_THAT(output->out, HasSubstr("apt-get install --no-install-recommends qemu-system-x86"));
    const auto json = place.run({"doctor", "--json"});
    ASSERT_TRUE(json);
    EXPECT_EQ(json->exit.code, 2);
    EXPECT_THAT(json->out, HasSubstr(R"("ok": false)"));
    EXPECT_EQ(json->err, "");
    // It looks and changes nothing.
    EXPECT_FALSE(fs::exists(place.path("data")));
    EXPECT_FALSE(fs::exists(place.path("cache")));
}

// Starts the program with its standard output on `file`.
int exit_code_with_output_on(const Place& place, const char* file,
                             const std::vector<std::string>& arguments, std::string& err) {
    const auto out = open_file(file, O_WRONLY);
    const auto err_folder = place.path("err");
    const auto err_file = open_file(err_folder, O_CREAT | O_TRUNC | O_WRONLY);
    EXPECT_TRUE(out && err_file);
    if (!out || !err_file) return -1;
    std::vector<std::string> words{MANO_PROGRAM};
    words.insert(words.end(), arguments.begin(), arguments.end());
    SpawnOptions options;
    options.stdout_fd = out->get();
    options.stderr_fd = err_file->get();
    auto child = Child::spawn(words, options);
    EXPECT_TRUE(child);
    if (!child) return -1;
    const Exit exit = child->wait();
    err = read_file(err_folder).value_or("");
    return exit.signal == 0 ? exit.code : -1;
}

TEST(Cli, AFullDiskUnderStandardOutputIsSaid) {
    const Place place;
    std::string err;
    EXPECT_EQ(exit_code_with_output_on(place, "/dev/full", {"experiments"}, err), 2);
    EXPECT_THAT(err, HasSubstr("standard output: No space left on device"));
}

TEST(Cli, AReaderThatGoesAwayIsNoError) {
    const Place place;
    int ends[2];
    ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
    const Fd write_end(ends[1]);
    Fd(ends[0]).close();
    SpawnOptions options;
    options.stdout_fd = write_end.get();
    auto child = Child::spawn({MANO_PROGRAM, "describe", "shm-churn"}, options);
    ASSERT_TRUE(child);
    const Exit exit = child->wait();
    EXPECT_EQ(exit.text(), "exit status 0");
}

// A store on a disk that fills up: said, not killed by a signal, nothing half-written is read back.
TEST(Cli, AStoreThatCanGrowNoFurtherIsSaid) {
    const Place place;
    struct rlimit before = {};
    ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
    const struct rlimit small = {std::size_t{24} << 10, before.rlim_max};
    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
    const auto output = place.run({"import", "csv", place.path("good.csv")});
    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
    ASSERT_TRUE(output) << output.error().text();
    EXPECT_EQ(output->exit.text(), "exit status 2") << output->err;
    EXPECT_THAT(output->err, HasSubstr("store.db"));
    const auto list = place.run({"list"});
    ASSERT_TRUE(list);
    EXPECT_THAT(list->out, Not(HasSubstr("import")));
}

// Every verb that the help lists explains itself, and nothing else does.
TEST(Cli, EveryListedVerbHasHelp) {
    const Place place;
    const auto help = place.run({"--help"});
    ASSERT_TRUE(help);
    std::vector<std::string> verbs;
    const std::size_t start = help->out.find("Verbs:\n");
    ASSERT_NE(start, std::string::npos);
    std::size_t at = start + 7;
    while (help->out.compare(at, 2, "  ") == 0) {
        verbs.push_back(help->out.substr(at + 2, help->out.find(' ', at + 2) - at - 2));
        at = help->out.find('\n', at) + 1;
    }
    EXPECT_GE(verbs.size(), 12U);
    for (const std::string& verb : verbs) {
        const auto own = place.run({verb, "--help"});
        ASSERT_TRUE(own);
        EXPECT_EQ(own->exit.code, 0) << verb;
        EXPECT_THAT(own->out, HasSubstr("Usage: manometer " + verb));
        EXPECT_THAT(own->out, HasSubstr("Exit codes:")) << verb;
        const auto same = place.run({"help", verb});
        ASSERT_TRUE(same);
        EXPECT_EQ(same->out, own->out);
        EXPECT_EQ(own->err, "");
    }
}

}  // namespace
}  // namespace mano
