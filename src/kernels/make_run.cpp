// SPDX-License-Identifier: GPL-2.0-or-later
#include "kernels/make_run.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <thread>

#include "base/process.h"

namespace mano::kernels {

namespace fs = std::filesystem;

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kLogLimit = std::size_t{64} << 20;
constexpr int kGraceMs = 10'000;

bool starts_with_any(std::string_view text, std::initializer_list<std::string_view> heads) {
    return std::any_of(heads.begin(), heads.end(),
                       [&](std::string_view head) { return text.starts_with(head); });
}

bool contains(std::string_view text, std::string_view part) {
    return text.find(part) != std::string_view::npos;
}

// Follows make's output line by line.
class Follower {
  public:
    Follower(const Make& make, const Options& options) : make_(make), options_(options) {}

    void take(std::string_view bytes) {
        partial_ += bytes;
        std::size_t at = 0;
        for (std::size_t end = 0; (end = partial_.find('\n', at)) != std::string::npos;
             at = end + 1) {
            line(std::string_view(partial_).substr(at, end - at));
        }
        partial_.erase(0, at);
        // A line that never ends is no line of make's.
        if (partial_.size() > 65'536) partial_.clear();
    }

    void report() const {
        if (!options_.building) return;
        Building step;
        step.what = make_.what;
        step.phase = phase_;
        step.done = objects_;
        step.expected = std::max(make_.expected, make_.expected == 0 ? 0 : objects_);
        step.seconds_left = left();
        options_.building(step);
    }

    std::uint64_t objects() const { return objects_; }
    double seconds() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }

  private:
    void line(std::string_view text) {
        if (counts_as_object(text)) {
            ++objects_;
            if (objects_ == 1) first_object_ = Clock::now();
            last_object_ = Clock::now();
            phase_ = "compiling";
        } else if (starts_with_any(text,
                                   {"  LD      vmlinux", "  LD      .tmp_vmlinux", "  KSYMS "})) {
            phase_ = "linking";
        } else if (starts_with_any(text, {"  GZIP ", "  ZOFFSET", "  BUILD "})) {
            phase_ = "compressing";
        }
    }

    // By the rate of the objects so far; the link at the end takes about as long as 5 % of them.
    double left() const {
        constexpr double kLink = 0.05;
        if (make_.expected == 0 || objects_ < 20) return -1;
        const double took = std::chrono::duration<double>(last_object_ - first_object_).count();
        const double each = took / static_cast<double>(objects_);
        const double rest =
            objects_ < make_.expected ? static_cast<double>(make_.expected - objects_) : 0;
        if (phase_ != "compiling") return -1;
        return each * (rest + kLink * static_cast<double>(make_.expected));
    }

    const Make& make_;
    const Options& options_;
    std::string partial_;
    std::string phase_ = "preparing";
    std::uint64_t objects_ = 0;
    Clock::time_point start_ = Clock::now();
    Clock::time_point first_object_ = start_;
    Clock::time_point last_object_ = start_;
};

// Reads until the pipe's end. False: the user asked to stop.
bool follow(int fd, int log, Follower& follower, const Options& options, Status& logged) {
    std::array<char, 65'536> block{};
    auto shown = Clock::now() - std::chrono::hours(1);
    while (true) {
        if (options.stop && options.stop()) return false;
        if (Clock::now() - shown > std::chrono::milliseconds(200)) {
            follower.report();
            shown = Clock::now();
        }
        pollfd ready{fd, POLLIN, 0};
        if (::poll(&ready, 1, 100) <= 0) continue;
        const ssize_t got = ::read(fd, block.data(), block.size());
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return true;
        const std::string_view bytes(block.data(), static_cast<std::size_t>(got));
        follower.take(bytes);
        // A log that can't be written doesn't end a build; the disk's state will.
        if (logged) logged = write_all(log, bytes, "the build's log");
    }
}

SpawnOptions environment(const Make& make, bool use_ccache) {
    SpawnOptions out;
    out.folder = make.folder;
    out.environment = {"LC_ALL=C", "TZ=UTC"};
    // What the user has set for builds of his own (also by way of a make that runs us) must not
    // get into these.
    out.unset = {"MAKEFLAGS",
                 "MFLAGS",
                 "MAKELEVEL",
                 "MAKEOVERRIDES",
                 "ARCH",
                 "M",
                 "O",
                 "V",
                 "W",
                 "C",
                 "CC",
                 "LLVM",
                 "CROSS_COMPILE",
                 "KCFLAGS",
                 "KAFLAGS",
                 "KCPPFLAGS",
                 "KBUILD_OUTPUT",
                 "KBUILD_EXTMOD",
                 "LOCALVERSION",
                 "KCONFIG_CONFIG",
                 "KERNELRELEASE",
                 "KDEB_PKGVERSION",
                 "CFLAGS",
                 "HOSTCFLAGS",
                 "LDFLAGS"};
    if (use_ccache) {
        out.environment.push_back("CCACHE_DIR=" + make.ccache.string());
        out.environment.push_back("CCACHE_BASEDIR=" + make.relative_to.string());
        out.environment.emplace_back("CCACHE_NOHASHDIR=1");
        out.environment.emplace_back("CCACHE_MAXSIZE=2G");
        out.environment.emplace_back("CCACHE_COMPILERCHECK=content");
    }
    return out;
}

std::vector<std::string> command_line(const Make& make, bool use_ccache) {
    const unsigned jobs = std::max(1U, std::thread::hardware_concurrency());
    std::vector<std::string> out = {"make",
                                    fmt::format("-j{}", jobs),
                                    "--output-sync=target",
                                    "ARCH=x86_64",
                                    "CROSS_COMPILE=",
                                    "LOCALVERSION=",
                                    "KBUILD_BUILD_USER=manometer",
                                    "KBUILD_BUILD_HOST=lab",
                                    "KBUILD_BUILD_VERSION=1",
                                    "KBUILD_BUILD_TIMESTAMP=Thu Jan  1 00:00:00 UTC 2026",
                                    fmt::format("CC={}{}", use_ccache ? "ccache " : "", make.cc),
                                    "HOSTCC=" + make.cc};
    out.insert(out.end(), make.arguments.begin(), make.arguments.end());
    return out;
}

tl::unexpected<Error> explain_failure(const Make& make, const Exit& exit) {
    const auto log = read_file(make.log, kLogLimit);
    const auto found = log ? first_error(*log) : std::nullopt;
    if (!found) {
        return fail(Code::environment, "{}: make ended with {}; its log is {}", make.what,
                    exit.text(), make.log.string());
    }
    return fail(found->code, "{} failed; the whole log is {}; the first error in it:\n{}",
                make.what, make.log.string(), found->text);
}

}  // namespace

bool counts_as_object(std::string_view line) {
    return starts_with_any(line, {"  CC      ", "  CC [M]  ", "  AS      ", "  AS [M]  "});
}

Result<MakeResult> run_make(const Make& make, const Options& options) {
    const bool use_ccache = !make.ccache.empty() && find_program("ccache").has_value();
    if (use_ccache) MANO_TRY(make_folders(make.ccache));
    const int flags = O_WRONLY | O_CREAT | (make.log_is_new ? O_TRUNC : O_APPEND);
    MANO_ASSIGN(const Fd log, open_file(make.log, flags));
    MANO_ASSIGN(Pipe pipe, make_pipe());
    SpawnOptions spawn = environment(make, use_ccache);
    spawn.stdout_fd = pipe.write.get();
    spawn.stderr_fd = pipe.write.get();
    Follower follower(make, options);
    MANO_ASSIGN(Child child, Child::spawn(command_line(make, use_ccache), spawn));
    pipe.write.close();
    Status logged;
    if (!follow(pipe.read.get(), log.get(), follower, options, logged)) {
        child.end_group(kGraceMs);
        return fail(Code::interrupted, "stopped while {}; it goes on from there the next time",
                    make.what);
    }
    const Exit exit = child.wait();
    if (!exit.ok()) {
        if (!logged) return wrap(logged.error(), "{}", make.what);
        return explain_failure(make, exit);
    }
    return MakeResult{follower.objects(), follower.seconds()};
}

namespace {

// Is it a line by which a build's failure is told, and what does it say of whose fault it is?
std::optional<Code> error_line(std::string_view line) {
    if (contains(line, "No space left on device") || contains(line, "Disk quota exceeded")) {
        return Code::environment;
    }
    if (contains(line, "Killed signal terminated program") ||
        contains(line, "virtual memory exhausted") || contains(line, "out of memory allocating")) {
        return Code::environment;
    }
    if (contains(line, ": not found") && contains(line, "/bin/sh")) return Code::environment;
    if (contains(line, "command not found")) return Code::environment;
    if (contains(line, ": error: ") || contains(line, ": fatal error: ") ||
        contains(line, "undefined reference to") || contains(line, "multiple definition of") ||
        line.starts_with("ERROR: ") || line.starts_with("error: ") || contains(line, "ld: ") ||
        contains(line, "Assembler messages") || contains(line, "No rule to make target") ||
        contains(line, ": syntax error")) {
        return Code::invalid;
    }
    return std::nullopt;
}

}  // namespace

std::optional<FirstError> first_error(std::string_view log, std::size_t most) {
    std::vector<std::string_view> lines;
    for (std::size_t at = 0; at < log.size();) {
        const std::size_t end = std::min(log.find('\n', at), log.size());
        lines.push_back(log.substr(at, end - at));
        at = end + 1;
    }
    std::optional<std::size_t> first;
    std::optional<std::size_t> stars;  // "make[3]: *** [mm/x.o] Error 1"
    Code code = Code::invalid;
    for (std::size_t i = 0; i < lines.size(); ++i) {
        if (!stars && contains(lines[i], "***")) stars = i;
        const auto kind = error_line(lines[i]);
        if (!kind) continue;
        // A full disk shows as many errors; that it is full is what counts.
        if (!first || (*kind == Code::environment && code != Code::environment)) {
            first = i;
            code = *kind;
        }
    }
    if (!first) first = stars;
    if (!first) return std::nullopt;
    std::size_t begin = *first;
    // "In function 'f':" before it says where.
    if (begin > 0 && contains(lines[begin - 1], ": In function")) --begin;
    FirstError out;
    out.code = code;
    for (std::size_t i = begin; i < lines.size() && i < begin + most; ++i) {
        if (i > *first && lines[i].starts_with("make")) break;
        out.text += std::string(lines[i].substr(0, 500)) + "\n";
    }
    if (contains(out.text, "No space left on device")) {
        out.text += "The disk is full: free some space, or `manometer kernel prune`.\n";
    }
    return out;
}

Result<std::string> compiler_identity(const std::string& cc, const Options& options) {
    const auto first_line = [](const std::string& text) { return text.substr(0, text.find('\n')); };
    if (!find_program(cc)) {
        return fail(
            Code::environment,
            "the compiler '{}' was not found on PATH: apt-get install {}, or choose another "
            "with ,cc=PROGRAM",
            cc, cc.find('/') == std::string::npos ? cc : "gcc");
    }
    MANO_ASSIGN(const Output compiler,
                run_program({cc, "--version"}, {}, kReadLimit, options.stop));
    if (!compiler.exit.ok() || compiler.out.empty()) {
        return fail(Code::environment, "'{} --version' gave {}: no compiler that builds a kernel",
                    cc, compiler.exit.text());
    }
    if (!find_program("ld")) {
        return fail(Code::environment, "ld was not found on PATH: apt-get install binutils");
    }
    MANO_ASSIGN(const Output linker,
                run_program({"ld", "--version"}, {}, kReadLimit, options.stop));
    return first_line(compiler.out) + ", " + first_line(linker.out);
}

std::vector<std::string> missing_build_packages() {
    struct Tool {
        const char* program;
        const char* package;
    };
    constexpr std::array<Tool, 7> kTools = {{{"make", "make"},
                                             {"gcc", "gcc"},
                                             {"ld", "binutils"},
                                             {"flex", "flex"},
                                             {"bison", "bison"},
                                             {"bc", "bc"},
                                             {"perl", "perl"}}};
    std::vector<std::string> out;
    for (const Tool& tool : kTools) {
        if (!find_program(tool.program)) out.emplace_back(tool.package);
    }
    // objtool reads and writes ELF; the header stands for the library.
    std::error_code error;
    if (!fs::exists("/usr/include/libelf.h", error)) out.emplace_back("libelf-dev");
    return out;
}

}  // namespace mano::kernels
