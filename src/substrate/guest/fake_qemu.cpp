// SPDX-License-Identifier: GPL-2.0-or-later
// A program that stands in for QEMU in tests: it is given QEMU's command line, and plays the guest
// that the word after -kernel names. Tests only.
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

#include "measure/ending.h"
#include "wire/writer.h"

namespace {

using mano::wire::Writer;

struct Machine {
    std::string part;  // what to play
    int console = -1;
    int monitor = -1;
    std::span<std::byte> log;
    Writer writer;

    void print(std::string_view text) const {
        while (!text.empty()) {
            const ssize_t done = ::write(console, text.data(), text.size());
            if (done <= 0) std::exit(9);
            text.remove_prefix(static_cast<std::size_t>(done));
        }
    }
    mano::wire::Header& header() const {
        return *reinterpret_cast<mano::wire::Header*>(log.data());
    }
};

[[noreturn]] void hang() {
    while (true)
        ::pause();
}

int number_after(std::string_view word, std::string_view key) {
    const std::size_t at = word.find(key);
    int number = -1;
    if (at == std::string_view::npos) return number;
    std::from_chars(word.data() + at + key.size(), word.data() + word.size(), number);
    return number;
}

void map_log(Machine& machine, std::string_view object) {
    const std::size_t from = object.find("mem-path=") + 9;
    const std::string path(object.substr(from, object.find(",size=") - from));
    const int fd = ::open(path.c_str(), O_RDWR);
    struct stat status = {};
    if (fd < 0 || ::fstat(fd, &status) != 0) std::exit(8);
    const auto size = static_cast<std::size_t>(status.st_size);
    void* memory = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (memory == MAP_FAILED) std::exit(8);
    machine.log = {static_cast<std::byte*>(memory), size};
}

Machine read_command_line(std::span<char*> words) {
    Machine machine;
    for (std::size_t i = 1; i + 1 < words.size(); ++i) {
        const std::string_view option(words[i]);
        const std::string_view value(words[i + 1]);
        if (option == "-kernel") machine.part = value;
        if (option == "-object" && value.starts_with("memory-backend-file,")) {
            map_log(machine, value);
        }
        if (option != "-chardev") continue;
        if (value.find("id=console,") != std::string_view::npos) {
            machine.console = number_after(value, "fd=");
        }
        if (value.find("id=qmp,") != std::string_view::npos) {
            machine.monitor = number_after(value, "fd=");
        }
    }
    return machine;
}

// ---- guests that never say hello ----

void play_dead(Machine&) {
    std::exit(1);
}
void play_complaint(Machine&) {
    std::fputs("qemu-system-x86_64: could not load kernel\n", stderr);
    std::exit(1);
}
void play_signal(Machine&) {
    ::signal(SIGSEGV, SIG_DFL);
    ::raise(SIGSEGV);
}
void play_panic(Machine& machine) {
    machine.print("[    1.0] booting\n[    2.0] Kernel panic - not syncing: VFS: no root\n");
    machine.print("[    2.1] Call Trace:\n[    2.2]  panic+0x1/0x2\n");
}
void play_reset(Machine& machine) {
    machine.print("[    1.0] booting\n");
}
void play_mute(Machine& machine) {
    machine.print("[    1.0] booting\n");
    hang();
}

// ---- guests that do ----

void hello(Machine& machine) {
    if (!machine.writer.start(machine.log)) std::exit(7);
    machine.writer.hello("fake");
    machine.writer.fact("kernel.release", "0.0");
}
void play_good(Machine& machine) {
    hello(machine);
    machine.writer.goodbye();
    hang();  // the host has what it wants and ends us
}
void play_good_and_exit(Machine& machine) {
    hello(machine);
    machine.writer.goodbye();
}
void play_told(Machine& machine) {
    hello(machine);
    machine.writer.ending(static_cast<std::uint16_t>(mano::measure::Ending::probe_refused),
                          "refused\033[2J: ENOMEM");
    machine.writer.goodbye();
    hang();
}
// Tells the calendar's clock.
void play_clock(Machine& machine) {
    timeval now = {};
    ::gettimeofday(&now, nullptr);
    char text[64];
    std::snprintf(text, sizeof text, "%lld.%06lld", static_cast<long long>(now.tv_sec),
                  static_cast<long long>(now.tv_usec));
    hello(machine);
    machine.writer.ending(static_cast<std::uint16_t>(mano::measure::Ending::probe_refused), text);
    machine.writer.goodbye();
    hang();
}
// Dies of QEMU's fault, but only once where the environment names a file to remember that in.
void play_torn(Machine& machine) {
    const char* const once = std::getenv("MANO_TORN_ONCE");
    if (once != nullptr && ::open(once, O_CREAT | O_EXCL | O_WRONLY, 0600) < 0) {
        play_good(machine);
    }
    machine.print(
        "[    2.1] Oops: int3: 0000 [#1] SMP NOPTI\n"
        "[    2.1] CPU: 1 UID: 0 PID: 1 Comm: swapper/0\n[    2.1] Call Trace:\n"
        "[    2.1]  __mod_timer+0x1c3/0x370\n"
        "[    2.2] Kernel panic - not syncing: Fatal exception\n");
}
void play_panic_later(Machine& machine) {
    hello(machine);
    machine.writer.phase(mano::wire::Phase::probe, 2);
    play_panic(machine);
}
void play_gone(Machine& machine) {
    hello(machine);
    machine.writer.phase(mano::wire::Phase::pressure);
}
void play_killed(Machine& machine) {
    hello(machine);
    machine.writer.phase(mano::wire::Phase::probe, 0);
    ::raise(SIGKILL);
}
void play_flood(Machine& machine) {
    hello(machine);
    machine.print("the first line\n");
    const std::string line(1023, 'x');
    for (int i = 0; i < 16 * 1024; ++i)
        machine.print(line + "\n");
    machine.print("the last line\n");
    machine.writer.goodbye();
    hang();
}
void play_flood_for_ever(Machine& machine) {
    hello(machine);
    const std::string line(1023, 'y');
    while (true)
        machine.print(line + "\n");
}
// Answers the monitor, and a break with a letter as a kernel does.
void play_hang(Machine& machine) {
    hello(machine);
    machine.writer.phase(mano::wire::Phase::probe, 1);
    std::string asked;
    char buffer[512];
    while (true) {
        const ssize_t got = ::read(machine.monitor, buffer, sizeof buffer);
        if (got <= 0) hang();
        asked.append(buffer, static_cast<std::size_t>(got));
        if (asked.find('\n') == std::string::npos) continue;
        const bool is_break = asked.find("chardev-send-break") != std::string::npos &&
                              asked.find("\"console\"") != std::string::npos;
        asked.clear();
        constexpr std::string_view kAnswer = "{\"return\": {}}\r\n";
        if (::write(machine.monitor, kAnswer.data(), kAnswer.size()) < 0) hang();
        if (!is_break || ::read(machine.console, buffer, 1) != 1) continue;
        if (buffer[0] == 't') machine.print("sysrq: Show State\ntask:spin state:R\n");
    }
}
void play_deaf(Machine& machine) {
    hello(machine);
    hang();
}
void play_slow(Machine& machine) {
    hello(machine);
    while (true) {
        machine.writer.beat();
        ::usleep(20'000);
    }
}

// ---- logs that no agent writes ----

void play_version(Machine& machine) {
    hello(machine);
    machine.header().version = 99;
    hang();
}
void play_beyond(Machine& machine) {
    hello(machine);
    machine.header().committed = machine.log.size();
    hang();
}
void play_garbage(Machine& machine) {
    hello(machine);
    const std::uint64_t at = machine.header().committed;
    std::memset(machine.log.data() + mano::wire::kHeaderBytes + at, 0x5a, 4096);
    machine.header().committed = at + 4096;
    hang();
}
void play_checksum(Machine& machine) {
    // Built in memory of its own and damaged there, so that the host never sees it whole.
    std::string copy(machine.log.size(), '\0');
    Writer writer;
    if (!writer.start(std::as_writable_bytes(std::span(copy)))) std::exit(7);
    writer.hello("fake");
    copy[mano::wire::kHeaderBytes + sizeof(mano::wire::FrameHead)] ^= 1;
    std::memcpy(machine.log.data() + 8, copy.data() + 8, copy.size() - 8);
    std::memcpy(machine.log.data(), copy.data(), 8);  // the magic last
    hang();
}
void play_no_hello(Machine& machine) {
    if (!machine.writer.start(machine.log)) std::exit(7);
    machine.writer.fact("kernel.release", "0.0");
    hang();
}
void play_forged_ending(Machine& machine) {
    hello(machine);
    // A panic is the host's to see; a guest that tells one lies.
    machine.writer.ending(static_cast<std::uint16_t>(mano::measure::Ending::panic), "so it says");
    machine.writer.goodbye();
    hang();
}
void play_unknown_ending(Machine& machine) {
    hello(machine);
    machine.writer.ending(4711, "so it says");
    machine.writer.goodbye();
    hang();
}
void play_bad_chain(Machine& machine) {
    hello(machine);
    const auto room = machine.writer.begin(mano::wire::FrameType::goodbye, true);
    const mano::wire::GoodbyeHead head = {.frames = 2, .chain = 12345};
    std::memcpy(room.data(), &head, sizeof head);
    machine.writer.commit(sizeof head);
    hang();
}
void play_after_goodbye(Machine& machine) {
    hello(machine);
    machine.writer.goodbye();
    machine.writer.fact("kernel.release", "1.0");
    hang();
}
void play_full(Machine& machine) {
    hello(machine);
    const std::string text(60'000, 'z');
    for (int i = 0; i < 100; ++i)
        machine.writer.fact("kernel.banner", text);
    machine.writer.goodbye();
    hang();
}

struct Part {
    std::string_view name;
    void (*play)(Machine&);
};
constexpr Part kParts[] = {
    {"dead", play_dead},
    {"complaint", play_complaint},
    {"signal", play_signal},
    {"panic", play_panic},
    {"reset", play_reset},
    {"mute", play_mute},
    {"good", play_good},
    {"good-and-exit", play_good_and_exit},
    {"told", play_told},
    {"clock", play_clock},
    {"torn", play_torn},
    {"panic-later", play_panic_later},
    {"gone", play_gone},
    {"killed", play_killed},
    {"flood", play_flood},
    {"flood-for-ever", play_flood_for_ever},
    {"hang", play_hang},
    {"deaf", play_deaf},
    {"slow", play_slow},
    {"version", play_version},
    {"beyond", play_beyond},
    {"garbage", play_garbage},
    {"checksum", play_checksum},
    {"no-hello", play_no_hello},
    {"forged-ending", play_forged_ending},
    {"unknown-ending", play_unknown_ending},
    {"bad-chain", play_bad_chain},
    {"after-goodbye", play_after_goodbye},
    {"full", play_full},
};

}  // namespace

int main(int count, char** words) {
    Machine machine = read_command_line({words, static_cast<std::size_t>(count)});
    for (const Part& part : kParts) {
        if (part.name != machine.part) continue;
        part.play(machine);
        return 0;
    }
    std::fprintf(stderr, "no part '%s'\n", machine.part.c_str());
    return 5;
}
