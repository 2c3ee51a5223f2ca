// SPDX-License-Identifier: GPL-2.0-or-later
// The agent's own reading code, compiled with the agent's flags, on this host: `readings ROUNDS
// [user]` takes that many whole readings into a log in a memfd; with `user` as nobody, who may read
// neither pagetypeinfo nor trigger stat_refresh. Prints what each source cost and what came of it.
// Part of bench/agent.
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "agent/sampler/readings.h"
#include "agent/sys.h"
#include "wire/writer.h"

namespace {

using mano::wire::Source;

constexpr std::size_t kLogBytes = std::size_t{4} << 20;
constexpr unsigned kMostRounds = 20000;
constexpr std::size_t kSources = 64;
constexpr std::size_t kMthp = static_cast<std::size_t>(Source::mthp_stats);

std::uint64_t whole_ns[kMostRounds];
std::uint64_t source_ns[kSources][kMostRounds];
std::uint64_t source_bytes[kSources];

std::uint64_t faults() {
    rusage usage = {};
    ::getrusage(RUSAGE_SELF, &usage);
    return static_cast<std::uint64_t>(usage.ru_minflt + usage.ru_majflt);
}

std::uint64_t median(std::uint64_t* values, unsigned count) {
    std::sort(values, values + count);
    return count == 0 ? 0 : values[count / 2];
}

// The frames of one reading: each carries the time at which its text was complete, so that the
// difference to the one before is what its source cost (and the checksum over the one before).
void note_sources(const std::byte* log, std::uint64_t from_ns, unsigned round) {
    const std::uint64_t end = reinterpret_cast<const mano::wire::Header*>(log)->committed.load();
    const std::byte* frames = log + mano::wire::kHeaderBytes;
    for (std::uint64_t at = 0; at < end;) {
        mano::wire::FrameHead head;
        mano::wire::ReadingHead reading;
        std::memcpy(&head, frames + at, sizeof head);
        std::memcpy(&reading, frames + at + sizeof head, sizeof reading);
        const auto source = static_cast<std::size_t>(reading.source);
        if (head.type == mano::wire::FrameType::reading && source < kSources) {
            source_ns[source][round] = head.guest_ns - from_ns;
            source_bytes[source] = head.size - sizeof reading;
        }
        from_ns = head.guest_ns;
        at += mano::wire::padded(sizeof head + head.size);
    }
}

}  // namespace

int main(int count, char** arguments) {
    const unsigned long asked = count > 1 ? std::strtoul(arguments[1], nullptr, 10) : 1000;
    const unsigned rounds = static_cast<unsigned>(std::min<unsigned long>(asked, kMostRounds));
    constexpr unsigned kNobody = 65534;
    if (count > 2 && ::geteuid() == 0 && (::setgid(kNobody) != 0 || ::setuid(kNobody) != 0))
        return 1;
    const int fd = ::memfd_create("log", MFD_CLOEXEC);
    if (rounds == 0 || fd < 0 || ::ftruncate(fd, kLogBytes) != 0) return 1;
    auto* log = static_cast<std::byte*>(
        ::mmap(nullptr, kLogBytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, 0));
    if (log == MAP_FAILED) return 1;
    const rlimit files = {16384, 16384};
    ::setrlimit(RLIMIT_NOFILE, &files);
    static mano::agent::Readings readings;
    readings.open();
    mano::wire::Writer rehearsal;  // as the agent's
    rehearsal.start({log, kLogBytes});
    readings.take(rehearsal, 0, 0);
    std::memset(whole_ns, 1, sizeof whole_ns);
    std::memset(source_ns, 0, sizeof source_ns);
    std::uint64_t faulted = 0;
    for (unsigned i = 0; i < rounds; ++i) {
        mano::wire::Writer writer;
        writer.start({log, kLogBytes});
        const std::uint64_t before = faults();
        const std::uint64_t start = mano::agent::now_ns();
        readings.take(writer, i, static_cast<std::uint8_t>(i % 2));
        whole_ns[i] = mano::agent::now_ns() - start;
        faulted += faults() - before;
        note_sources(log, start, i);
    }
    std::uint64_t bytes = 0;
    for (std::size_t s = 0; s < kSources; ++s) {
        if (source_bytes[s] == 0) continue;
        bytes += source_bytes[s];
        const std::uint64_t middle = median(source_ns[s], rounds);  // sorts
        std::printf("source %zu: %llu ns, least %llu ns, %llu bytes\n", s,
                    static_cast<unsigned long long>(middle),
                    static_cast<unsigned long long>(source_ns[s][0]),
                    static_cast<unsigned long long>(source_bytes[s]));
    }
    const std::uint64_t least = *std::min_element(whole_ns, whole_ns + rounds);
    std::printf("BENCH ns=%llu least_ns=%llu bytes=%llu faults=%llu mthp=%d\n",
                static_cast<unsigned long long>(median(whole_ns, rounds)),
                static_cast<unsigned long long>(least), static_cast<unsigned long long>(bytes),
                static_cast<unsigned long long>(faulted), source_bytes[kMthp] != 0 ? 1 : 0);
    return 0;
}
