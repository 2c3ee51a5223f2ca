// SPDX-License-Identifier: GPL-2.0-or-later
// SPECs to kernels: paths, names, and Debian's archive played by a small script in apt's place.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <thread>

#include "base/digest.h"
#include "base/file.h"
#include "base/rng.h"
#include "kernels/cache.h"
#include "kernels/kernel.h"
#include "kernels/test_files.h"

namespace mano::kernels {
namespace {

namespace fs = std::filesystem;
using test::Folder;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// What apt-get and apt-cache are here. `mode` says how the network is.
constexpr std::string_view kScript = R"(#!/bin/sh
here=$(dirname "$0")
mode=$(cat "$here/mode")
echo "$*" >> "$here/log"
for last; do :; done
case "$*" in
*" update")
    if [ "$mode" = part ]; then
        cat "$here/archive.txt" > "$here/index.txt"
        echo "Hit:1 one"; echo "Err:2 two"; echo "E: two has no Release file" >&2; exit 100
    fi
    if [ "$mode" = down ]; then echo "E: Failed to fetch the index: no network" >&2; exit 100; fi
    cat "$here/archive.txt" > "$here/index.txt" ;;
*" pkgnames "*) sed -n 's/^Package: //p' "$here/index.txt" ;;
*" show "*) cat "$here/index.txt" ;;
*" download "*)
    case $mode in
    down) echo "E: Could not reach the mirror" >&2; exit 100 ;;
    full) echo "E: write: No space left on device" >&2; exit 100 ;;
    hang) head -c 100 "$here/debs/$last" > half.deb; exec sleep 300 ;;
    bad) head -c 100 "$here/debs/$last" > half.deb; exit 0 ;;
    esac
    cp "$here/debs/$last" package.deb ;;
*) echo "E: unexpected: $*" >&2; exit 1 ;;
esac
)";

class Archive {
  public:
    Archive() {
        for (const char* name : {"bin/apt-get", "bin/apt-cache"}) {
            ::chmod(folder_.file(name, kScript).c_str(), 0755);
        }
        folder_.file("bin/archive.txt", "");
        folder_.file("bin/index.txt", "");
        folder_.file("keys.gpg", "");
        folder_.file("etc/sources.list.d/debian.sources",
                     "Types: deb\nURIs: http://mirror.invalid/debian\nSuites: bookworm\n"
                     "Components: main\nSigned-By: " +
                         (folder_.path() / "keys.gpg").string() + "\n");
        mode("ok");
        const char* path = ::getenv("PATH");
        old_path_ = path != nullptr ? path : "";
        ::setenv("PATH", ((folder_.path() / "bin").string() + ":" + old_path_).c_str(), 1);
    }
    ~Archive() { ::setenv("PATH", old_path_.c_str(), 1); }
    Archive(const Archive&) = delete;
    Archive& operator=(const Archive&) = delete;

    void mode(std::string_view how) const { folder_.file("bin/mode", how); }

    void package(const std::string& name, const std::string& version,
                 const std::string& deb) const {
        folder_.file("bin/debs/" + name + "=" + version, deb);
        std::ofstream(folder_.path() / "bin/archive.txt", std::ios::app)
            << "Package: " << name << "\nVersion: " << version << "\nSize: " << deb.size()
            << "\nSHA256: " << sha256(deb) << "\n\n";
    }

    // The layout of 7.2 and later: three packages.
    void split_kernel(const std::string& upstream, bool complete = true) const {
        const std::string release = upstream + "+deb13-cloud-amd64";
        const std::string version = upstream + "-1";
        const std::string below = "./usr/lib/modules/" + release + "/";
        package("linux-binary-" + release, version,
                test::make_deb({{below + "vmlinuz", test::make_kernel(release), ""}}));
        if (!complete) return;
        package(
            "linux-modules-" + release, version,
            test::make_deb({{below + "kernel/drivers/block/zram/zram.ko.xz",
                             test::compress(test::make_module("zram", "lz4-compress"), "xz"), ""},
                            {below + "kernel/lib/lz4_compress.ko.xz",
                             test::compress(test::make_module("lz4_compress", ""), "xz"), ""}}));
        package("linux-base-" + release, version,
                test::make_deb({{below + "config", "CONFIG_HZ=250\nCONFIG_MMU=y\n", ""},
                                {below + "modules.builtin", "kernel/crypto/lz4.ko\n", ""}}));
    }

    // The layout up to 6.x: one package.
    void whole_kernel(const std::string& release, const std::string& version) const {
        const std::string below = "./lib/modules/" + release + "/kernel/";
        // A package that is a kernel is told from a meta package by its size.
        Rng rng(1);
        std::string noise;
        while (noise.size() < 2'000'000)
            noise.push_back(static_cast<char>(rng.below(256)));
        package("linux-image-" + release, version,
                test::make_deb({{"./boot/vmlinuz-" + release, test::make_kernel(release), ""},
                                {"./boot/config-" + release, "CONFIG_HZ=100\n", ""},
                                {below + "zram.ko", test::make_module("zram", ""), ""},
                                {"./usr/share/doc/noise", noise, ""}}));
    }

    int calls(std::string_view what) const {
        const std::string text = read_file(folder_.path() / "bin/log").value_or("");
        int count = 0;
        for (std::size_t at = text.find(what); at != std::string::npos;
             at = text.find(what, at + 1)) {
            ++count;
        }
        return count;
    }
    fs::path etc() const { return folder_.path() / "etc"; }

  private:
    Folder folder_;
    std::string old_path_;
};

class Resolve : public testing::Test {
  protected:
    Options options() const {
        Options out;
        out.cache = folder_.path() / "cache";
        out.system_apt = archive_.etc();
        return out;
    }
    fs::path kernels() const { return folder_.path() / "cache/kernels"; }
    // Whatever isn't finished lies here.
    std::vector<fs::path> unfinished() const {
        std::vector<fs::path> out;
        std::error_code error;
        for (fs::directory_iterator it(kernels() / "tmp", error), end; !error && it != end;
             it.increment(error)) {
            out.push_back(it->path());
        }
        return out;
    }
    void make_index_old() const {
        for (const char* name : {"kernels.packages", "tried"}) {
            fs::last_write_time(kernels() / "apt" / name,
                                fs::file_time_type::clock::now() - std::chrono::hours(49));
        }
    }

    Folder folder_;
    Archive archive_;
};

TEST_F(Resolve, ASplitKernelComesWithItsParts) {
    archive_.split_kernel("7.3.4");
    const auto kernel = resolve("debian:7.3", options());
    ASSERT_TRUE(kernel) << kernel.error().text();
    const Provenance& from = kernel->provenance;
    EXPECT_EQ(from.spec, "debian:7.3");
    EXPECT_EQ(from.exact_spec, "debian:7.3.4+deb13-cloud");
    EXPECT_EQ(from.release, "7.3.4+deb13-cloud-amd64");
    EXPECT_EQ(from.compiler, "gcc-12 (Test 12.2) 12.2, GNU ld 2.40");
    EXPECT_EQ(from.packages.size(), 3U);
    EXPECT_EQ(from.sha256.at("bzImage"), kernel->id);
    EXPECT_EQ(from.config_sha256, sha256("CONFIG_HZ=250\nCONFIG_MMU=y\n"));
    EXPECT_TRUE(kernel->pvh);
    EXPECT_EQ(sha256_file(kernel->image).value(), kernel->id);
    EXPECT_EQ(config_value(*kernel, "HZ").value(), "250");
    EXPECT_EQ(config_value(*kernel, "NUMA").value(), "n");
    const auto modules = modules_for(*kernel, {"zram", "lz4"});
    ASSERT_TRUE(modules) << modules.error().text();
    ASSERT_EQ(modules->size(), 2U);
    EXPECT_EQ((*modules)[0].name, "lz4_compress");
    EXPECT_EQ((*modules)[1].name, "zram");
    EXPECT_EQ((*modules)[1].bytes, test::make_module("zram", "lz4-compress"));
    EXPECT_THAT(unfinished(), IsEmpty());
    // And once more without the archive.
    archive_.mode("down");
    const int calls = archive_.calls("\n");
    const auto again = resolve("debian:7.3", options());
    ASSERT_TRUE(again) << again.error().text();
    EXPECT_EQ(again->id, kernel->id);
    EXPECT_EQ(archive_.calls("\n"), calls) << "a cached kernel asked apt";
    EXPECT_EQ(resolve(from.exact_spec, options())->id, kernel->id);
}

TEST_F(Resolve, AWholeKernelComesFromOnePackage) {
    archive_.whole_kernel("6.1.0-50-cloud-amd64", "6.1.176-1");
    const auto kernel = resolve("debian:6.1.176", options());
    ASSERT_TRUE(kernel) << kernel.error().text();
    EXPECT_EQ(kernel->provenance.exact_spec, "debian:6.1.0-50-cloud");
    EXPECT_EQ(modules_for(*kernel, {"zram"})->size(), 1U);
    EXPECT_EQ(config_value(*kernel, "HZ").value(), "100");
}

TEST_F(Resolve, AKernelWhoseCompanionsAreGoneStillResolves) {
    archive_.split_kernel("7.1.13", false);
    const auto kernel = resolve("debian:7.1", options());
    ASSERT_TRUE(kernel) << kernel.error().text();
    EXPECT_FALSE(kernel->modules);
    EXPECT_FALSE(kernel->config);
    EXPECT_FALSE(kernel->provenance.config_sha256);
    ASSERT_EQ(kernel->provenance.notes.size(), 2U);
    EXPECT_THAT(kernel->provenance.notes[0], HasSubstr("no modules here"));
    EXPECT_TRUE(modules_for(*kernel, {})->empty());
    const auto modules = modules_for(*kernel, {"zram"});
    ASSERT_FALSE(modules);
    EXPECT_EQ(modules.error().code, Code::not_found);
    EXPECT_THAT(modules.error().text(), HasSubstr("zram"));
    EXPECT_EQ(config_value(*kernel, "HZ").value(), std::nullopt);
}

TEST_F(Resolve, ANewerKernelIsFoundAfterADayAndNotBefore) {
    archive_.split_kernel("7.3.4");
    ASSERT_TRUE(resolve("debian:7.3", options()));
    archive_.split_kernel("7.3.5");
    EXPECT_EQ(resolve("debian:7.3", options())->provenance.release, "7.3.4+deb13-cloud-amd64");
    EXPECT_EQ(archive_.calls(" update"), 1);
    make_index_old();
    EXPECT_EQ(resolve("debian:7.3", options())->provenance.release, "7.3.5+deb13-cloud-amd64");
    EXPECT_EQ(archive_.calls(" update"), 2);
    EXPECT_EQ(resolve("debian:7.3.4", options())->provenance.release, "7.3.4+deb13-cloud-amd64");
}

TEST_F(Resolve, ACachedKernelServesWhenTheNetworkIsGone) {
    archive_.split_kernel("7.3.4");
    ASSERT_TRUE(resolve("debian:7.3", options()));
    make_index_old();
    archive_.mode("down");
    for (int i = 0; i < 2; ++i) {
        const auto kernel = resolve("debian:7.3", options());
        ASSERT_TRUE(kernel) << kernel.error().text();
        EXPECT_THAT(kernel->provenance.notes.back(),
                    HasSubstr("A newer kernel may match debian:7.3"));
    }
    EXPECT_EQ(archive_.calls(" update"), 2) << "the second time it was known to be down";
    // One that isn't cached is an error that says what apt said.
    const auto other = resolve("debian:7.4", options());
    ASSERT_FALSE(other);
    EXPECT_EQ(other.error().code, Code::environment);
    EXPECT_THAT(other.error().text(), HasSubstr("no network"));
}

TEST_F(Resolve, ASuiteThatIsMissingIsNotedAndTheOthersServe) {
    archive_.split_kernel("7.3.4");
    archive_.mode("part");
    const auto kernel = resolve("debian:7.3", options());
    ASSERT_TRUE(kernel) << kernel.error().text();
    ASSERT_EQ(kernel->provenance.notes.size(), 1U);
    EXPECT_THAT(kernel->provenance.notes[0], HasSubstr("two has no Release file"));
}

TEST_F(Resolve, OfflineUsesOnlyWhatIsCached) {
    archive_.split_kernel("7.3.4");
    Options offline = options();
    offline.offline = true;
    const auto missing = resolve("debian:7.3", offline);
    ASSERT_FALSE(missing);
    EXPECT_EQ(missing.error().code, Code::environment);
    EXPECT_EQ(archive_.calls("\n"), 0);
    ASSERT_TRUE(resolve("debian:7.3", options()));
    const int calls = archive_.calls("\n");
    make_index_old();
    EXPECT_TRUE(resolve("debian:7.3", offline));
    EXPECT_EQ(archive_.calls("\n"), calls);
}

TEST_F(Resolve, AVersionThatDoesntExistNamesThoseThatDo) {
    archive_.split_kernel("7.3.4");
    const auto kernel = resolve("debian:9.9", options());
    ASSERT_FALSE(kernel);
    EXPECT_EQ(kernel.error().code, Code::not_found);
    EXPECT_THAT(kernel.error().text(), HasSubstr("7.3"));
}

TEST_F(Resolve, DownloadsThatFailLeaveNothingBehind) {
    archive_.split_kernel("7.3.4");
    for (const char* mode : {"full", "bad", "ok-but-then"}) {
        archive_.mode(mode);
        if (std::string_view(mode) == "ok-but-then") break;
        const auto kernel = resolve("debian:7.3", options());
        ASSERT_FALSE(kernel) << mode;
        EXPECT_EQ(kernel.error().code, Code::environment) << kernel.error().text();
        EXPECT_THAT(unfinished(), IsEmpty());
        EXPECT_FALSE(fs::exists(kernels() / "images"));
        EXPECT_FALSE(fs::exists(kernels() / "debian"));
    }
    EXPECT_TRUE(resolve("debian:7.3", options()));
}

TEST_F(Resolve, AnInterruptStopsADownload) {
    archive_.split_kernel("7.3.4");
    archive_.mode("hang");
    Options stopping = options();
    int asked = 0;
    bool progressed = false;
    stopping.progress = [&](std::string_view what, std::uint64_t done, std::uint64_t total) {
        if (what.starts_with("downloading")) progressed |= done == 100 && total > 100;
    };
    stopping.stop = [&] { return progressed && ++asked > 1; };
    const auto kernel = resolve("debian:7.3", stopping);
    ASSERT_FALSE(kernel);
    EXPECT_EQ(kernel.error().code, Code::interrupted);
    EXPECT_THAT(unfinished(), IsEmpty());
}

// Runs `work` in a process of its own; its result is the exit status.
pid_t in_child(const std::function<bool()>& work) {
    const pid_t pid = ::fork();
    if (pid == 0) ::_exit(work() ? 0 : 1);
    return pid;
}

int wait_for(pid_t pid) {
    int status = 0;
    ::waitpid(pid, &status, 0);
    return status;
}

TEST_F(Resolve, AKillInMidDownloadLeavesACacheThatWorks) {
    archive_.split_kernel("7.3.4");
    archive_.mode("hang");
    const pid_t pid = in_child([&] { return resolve("debian:7.3", options()).has_value(); });
    // Until the half file is there.
    const auto half_there = [&] {
        std::error_code error;
        for (fs::recursive_directory_iterator it(kernels() / "tmp", error), end;
             !error && it != end; it.increment(error)) {
            std::error_code ignored;
            if (it->path().extension() == ".deb" && it->file_size(ignored) == 100) return true;
        }
        return false;
    };
    for (int i = 0; i < 600 && !half_there(); ++i) {
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
    EXPECT_TRUE(half_there());
    ::kill(pid, SIGKILL);
    EXPECT_TRUE(WIFSIGNALED(wait_for(pid)));
    EXPECT_FALSE(unfinished().empty()) << "it had no chance to clean up";
    EXPECT_FALSE(fs::exists(kernels() / "debian"));
    EXPECT_TRUE(list(options())->empty());
    archive_.mode("ok");
    const auto kernel = resolve("debian:7.3", options());
    ASSERT_TRUE(kernel) << kernel.error().text();
    EXPECT_THAT(unfinished(), IsEmpty()) << "the dead process's folder is still there";
}

TEST_F(Resolve, ProcessesAtOnceGetTheSameKernel) {
    archive_.split_kernel("7.3.4");
    const fs::path path = folder_.file("bzImage", test::make_kernel("1.2.3"));
    std::vector<pid_t> children;
    for (int i = 0; i < 4; ++i) {
        children.push_back(in_child([&] {
            const auto one = resolve("debian:7.3", options());
            const auto two = resolve(path.string(), options());
            return one && two && sha256_file(one->image).value() == one->id &&
                   modules_for(*one, {"zram"})->size() == 2 &&
                   sha256_file(two->image).value() == two->id;
        }));
    }
    for (const pid_t child : children)
        EXPECT_EQ(wait_for(child), 0);
    EXPECT_EQ(archive_.calls(" download linux-binary"), 1) << "fetched more than once";
    EXPECT_EQ(archive_.calls(" update"), 1);
    EXPECT_THAT(unfinished(), IsEmpty());
    EXPECT_EQ(list(options())->size(), 2U);
}

// As an ordinary user, since root may write everywhere.
bool as_nobody(const std::function<bool()>& work) {
    return wait_for(in_child([&] {
               if (::geteuid() == 0 && (::setgid(65534) != 0 || ::setuid(65534) != 0)) return false;
               return work();
           })) == 0;
}

TEST_F(Resolve, AReadOnlyCacheServesWhatItHas) {
    archive_.split_kernel("7.3.4");
    const fs::path path = folder_.file("bzImage", test::make_kernel("1.2.3"));
    ASSERT_TRUE(resolve("debian:7.3", options()));
    ASSERT_TRUE(resolve(path.string(), options()));
    make_index_old();
    const fs::path other = folder_.file("other", test::make_kernel("3.2.1"));
    fs::permissions(folder_.path(), fs::perms::others_all | fs::perms::owner_all);
    fs::permissions(kernels(), fs::perms::owner_read | fs::perms::owner_exec |
                                   fs::perms::others_read | fs::perms::others_exec);
    for (const char* below : {"locks", "tmp", "apt", "images", "debian"}) {
        fs::permissions(kernels() / below, fs::perms::owner_read | fs::perms::owner_exec |
                                               fs::perms::others_read | fs::perms::others_exec);
    }
    EXPECT_TRUE(as_nobody([&] {
        const auto exact = resolve("debian:7.3.4", options());
        const auto newest = resolve("debian:7.3", options());
        const auto from_path = resolve(path.string(), options());
        return exact && newest && from_path && modules_for(*newest, {"zram"}).has_value() &&
               newest->provenance.notes.size() == 1;
    }));
    EXPECT_TRUE(as_nobody([&] {
        const auto missing = resolve(other.string(), options());
        const auto absent = resolve("debian:7.4", options());
        return !missing && missing.error().code == Code::environment &&
               missing.error().text().find("can't be written") != std::string::npos && !absent &&
               absent.error().code == Code::environment;
    }));
    for (const char* below : {"", "locks", "tmp", "apt", "images", "debian"}) {
        fs::permissions(kernels() / below, fs::perms::owner_all);
    }
}

TEST_F(Resolve, PathsThatLeadToNoKernelSaySo) {
    const auto refusal = [&](const std::string& spec, Code code) {
        const auto kernel = resolve(spec, options());
        EXPECT_FALSE(kernel) << spec;
        if (kernel) return std::string();
        EXPECT_EQ(kernel.error().code, code) << kernel.error().text();
        return kernel.error().text();
    };
    const std::string good = folder_.file("bzImage", test::make_kernel("1.2.3")).string();
    const std::string empty = folder_.file("empty", "").string();
    const std::string text = folder_.file("text", "hello\n").string();
    const std::string here = folder_.path().string();
    EXPECT_EQ(refusal(empty, Code::invalid), empty + " is empty");
    EXPECT_THAT(refusal(text, Code::invalid), HasSubstr("text file"));
    EXPECT_THAT(refusal(here, Code::invalid), HasSubstr("is a directory"));
    EXPECT_THAT(refusal(here + "/none", Code::not_found), HasSubstr("no such file"));
    EXPECT_THAT(refusal("/dev/zero", Code::invalid), HasSubstr("no regular file"));
    EXPECT_THAT(refusal(good + ",modules=/none", Code::not_found), HasSubstr("modules=/none"));
    EXPECT_THAT(refusal(good + ",config=" + here, Code::invalid), HasSubstr("config="));
    EXPECT_THAT(refusal(good + ",config=", Code::invalid), HasSubstr("empty"));
    EXPECT_THAT(refusal(good + ",module=x", Code::invalid), HasSubstr("module=x"));
    EXPECT_THAT(refusal("", Code::invalid), HasSubstr("empty"));
    EXPECT_THAT(refusal("no-such-name", Code::not_found), HasSubstr("manometer kernel add"));
    EXPECT_THAT(refusal("7.3", Code::not_found), HasSubstr("debian:7.3"));
    EXPECT_THAT(refusal("source:seven", Code::invalid), HasSubstr("is no version"));
    EXPECT_THAT(refusal("tree:" + here, Code::invalid), HasSubstr("not a git tree"));
}

TEST_F(Resolve, APathBringsModulesAndConfiguration) {
    const std::string image = folder_.file("a,b/bzImage", test::make_kernel("1.2.3")).string();
    const std::string config =
        folder_.file("config", "# CONFIG_A is not set\nCONFIG_LZ4_COMPRESS=y\nCONFIG_S=\"t\"\n")
            .string();
    folder_.file("mods/zram.ko", test::make_module("zram", "zsmalloc,lz4_compress"));
    folder_.file("mods/sub/zsmalloc.ko.gz",
                 test::compress(test::make_module("zsmalloc", ""), "gzip"));
    folder_.file("mods/loop-a.ko.zst",
                 test::compress(test::make_module("loop_a", "loop_b"), "zstd"));
    folder_.file("mods/loop_b.ko", test::make_module("loop_b", "loop-a"));
    folder_.file("mods/broken.ko", "not a module");
    folder_.file("mods/lonely.ko", test::make_module("lonely", "nowhere"));
    const std::string modules = (folder_.path() / "mods").string();
    const auto kernel = resolve(image + ",modules=" + modules + ",config=" + config, options());
    ASSERT_TRUE(kernel) << kernel.error().text();
    EXPECT_THAT(kernel->provenance.notes, IsEmpty());
    EXPECT_EQ(config_value(*kernel, "A").value(), "n");
    EXPECT_EQ(config_value(*kernel, "S").value(), "t");
    const auto names = [&](const std::vector<std::string>& wanted) {
        std::vector<std::string> out;
        const auto found = modules_for(*kernel, wanted);
        if (!found) return std::vector<std::string>{found.error().text()};
        for (const Module& one : *found)
            out.push_back(one.name);
        return out;
    };
    EXPECT_THAT(names({"zram"}), ElementsAre("zsmalloc", "zram"));
    EXPECT_THAT(names({"zsmalloc", "zram", "zram"}), ElementsAre("zsmalloc", "zram"));
    EXPECT_THAT(names({"loop-a"}), ElementsAre("loop_b", "loop_a"));
    EXPECT_THAT(names({"broken"})[0], HasSubstr("broken.ko"));
    EXPECT_THAT(names({"lonely"})[0], HasSubstr("'nowhere' (which lonely needs)"));
    EXPECT_THAT(names({"../../etc/passwd"})[0], HasSubstr("no module"));
    // Another kernel at the same path is another kernel.
    folder_.file("a,b/bzImage", test::make_kernel("1.2.4"));
    const auto rebuilt = resolve(image, options());
    ASSERT_TRUE(rebuilt) << rebuilt.error().text();
    EXPECT_NE(rebuilt->id, kernel->id);
    EXPECT_EQ(sha256_file(kernel->image).value(), kernel->id) << "the first one changed";
}

TEST_F(Resolve, AnImageThatCantBeUnpackedStillBoots) {
    std::string bytes = test::make_kernel("1.2.3");
    bytes.replace(5 * 512 + 0x40, 4, "what");
    const auto kernel = resolve(folder_.file("bzImage", bytes).string(), options());
    ASSERT_TRUE(kernel) << kernel.error().text();
    EXPECT_FALSE(kernel->elf);
    EXPECT_FALSE(kernel->pvh);
    EXPECT_EQ(kernel->provenance.release, "1.2.3");
    EXPECT_THAT(kernel->provenance.notes[0], HasSubstr("can't be taken out"));
}

TEST_F(Resolve, NamesStandForSpecs) {
    archive_.split_kernel("7.3.4");
    const fs::path path = folder_.file("bzImage", test::make_kernel("1.2.3"));
    ASSERT_TRUE(add("new", "debian:7.3", options()));
    ASSERT_TRUE(add("mine", path.string(), options()));
    EXPECT_EQ(resolve("new", options())->provenance.spec, "debian:7.3");
    const auto known = list(options());
    ASSERT_TRUE(known) << known.error().text();
    ASSERT_EQ(known->size(), 2U);
    EXPECT_EQ((*known)[0].name, "mine");
    EXPECT_EQ((*known)[1].name, "new");
    EXPECT_GT((*known)[1].bytes, 0U);
    EXPECT_THAT((*known)[1].kernel.provenance.notes, IsEmpty());
    for (const char* bad : {"", "a/b", "a:b", "a,b", "a+b", "a b", "-x", "a=b"}) {
        EXPECT_EQ(add(bad, path.string(), options()).error().code, Code::invalid) << bad;
    }
    EXPECT_EQ(show("new", options())->kernel.provenance.release, "7.3.4+deb13-cloud-amd64");
    EXPECT_EQ(show((*known)[0].kernel.id.substr(0, 12), options())->kernel.id,
              (*known)[0].kernel.id);
    EXPECT_EQ(show("nothing", options()).error().code, Code::not_found);
}

TEST_F(Resolve, RemovingANameKeepsTheKernelAndRemovingTheKernelDoesnt) {
    archive_.split_kernel("7.3.4");
    const auto kernel = add("new", "debian:7.3", options());
    ASSERT_TRUE(kernel) << kernel.error().text();
    ASSERT_TRUE(remove("new", options()));
    ASSERT_EQ(list(options())->size(), 1U);
    EXPECT_EQ((*list(options()))[0].name, "");
    ASSERT_TRUE(remove("debian:7.3", options()));
    EXPECT_TRUE(list(options())->empty());
    EXPECT_FALSE(fs::exists(kernel->image));
    EXPECT_EQ(remove("debian:7.3", options()).error().code, Code::environment);
    EXPECT_EQ(remove("new", options()).error().code, Code::not_found);
    EXPECT_TRUE(resolve("debian:7.3", options())) << "it can be fetched again";
}

TEST_F(Resolve, ADamagedCacheMendsItself) {
    archive_.split_kernel("7.3.4");
    const auto kernel = resolve("debian:7.3", options());
    ASSERT_TRUE(kernel);
    // As a machine leaves it that lost power: the name is there, the bytes aren't.
    fs::resize_file(kernel->image, 10);
    const auto again = resolve("debian:7.3", options());
    ASSERT_TRUE(again) << again.error().text();
    EXPECT_EQ(sha256_file(again->image).value(), kernel->id);
    folder_.file("cache/kernels/names.json", "{ torn");
    EXPECT_EQ(resolve("debian:7.3", options()).error().code, Code::corrupt);
}

TEST_F(Resolve, WithoutAptTheErrorSaysWhatToDo) {
    const std::string old = ::getenv("PATH");
    ::setenv("PATH", "/nonexistent", 1);
    const auto kernel = resolve("debian:7.3", options());
    ::setenv("PATH", old.c_str(), 1);
    ASSERT_FALSE(kernel);
    EXPECT_EQ(kernel.error().code, Code::environment);
    EXPECT_THAT(kernel.error().text(), HasSubstr("apt-get was not found"));
}

}  // namespace
}  // namespace mano::kernels
