// SPDX-License-Identifier: GPL-2.0-or-later
#include "plan/schema.h"

#include <array>

namespace mano::plan {
namespace {

constexpr std::int64_t kKiB = 1024;
constexpr std::int64_t kMiB = 1024 * kKiB;
constexpr std::int64_t kGiB = 1024 * kMiB;
constexpr std::int64_t kMs = 1'000'000;
constexpr std::int64_t kSecond = 1000 * kMs;
constexpr std::int64_t kHour = 3600 * kSecond;
constexpr std::int64_t kOnePct = 10'000;  // in millionths

constexpr auto kInteger = ParamType::integer;
constexpr auto kBytes = ParamType::bytes;
constexpr auto kDuration = ParamType::duration;
constexpr auto kShare = ParamType::share;
constexpr auto kBoolean = ParamType::boolean;
constexpr auto kChoice = ParamType::choice;
constexpr auto kText = ParamType::text;

// The agent reads values by position: append, never reorder.
constexpr std::array kNone{
    ParamDef{"jitter_pages", kInteger, "", 64, 0, 1 << 20,
             "pages taken and given back once, in an order drawn from the seed. Even an idle guest "
             "must depend on its seed, or all trials of exact mode would be one trial"},
};

constexpr std::array kHold{
    ParamDef{"demand", kShare, "share", 90 * kOnePct, 5 * kOnePct, 150 * kOnePct,
             "what is held in the end, after holes were punched, as a share of MemAvailable at the "
             "start; counted as resident plus swapped, and verified. From 95% on the guest needs "
             "swap"},
    ParamDef{"workers", kInteger, "", 4, 1, 32, "processes that share the demand equally"},
    ParamDef{"folio", kBytes, "bytes", 0, 0, 2 * kMiB,
             "size of the folios asked for by madvise: 0 for base pages, else a power of two from "
             "16KiB to 2MiB, which the guest must allow under [guest.mthp] or thp"},
    ParamDef{"punch", kShare, "share", 0, 0, 90 * kOnePct,
             "share of chunks that are given back after filling, drawn from the seed. This is what "
             "fragments memory: 25% leaves free space, but hardly a large free block"},
    ParamDef{"punch_chunk", kBytes, "bytes", 16 * kKiB, 4 * kKiB, 2 * kMiB,
             "size of a chunk that is given back or kept as a whole: free blocks come out about "
             "this large"},
    ParamDef{"compressible", kShare, "share", 50 * kOnePct, 0, 100 * kOnePct,
             "share of each page that is one repeated byte, the rest is random. Swap is compressed "
             "memory (zram), so this decides how much room swapping really makes"},
    ParamDef{"settle", kDuration, "ns", 200 * kMs, 0, 60 * kSecond,
             "how long the level must stay within its tolerance before the first iteration"},
    ParamDef{"tolerance", kShare, "share", 1 * kOnePct, kOnePct / 10, 20 * kOnePct,
             "how far the level may lie from the demand; a trial that misses it is spoiled"},
};

constexpr std::array kChurn{
    ParamDef{"workers", kInteger, "", 2, 1, 64,
             "processes that go on making short-lived processes while the probe runs"},
    ParamDef{
        "threads", kInteger, "", 8, 1, 64,
        "threads in each short-lived process; each has a kernel stack that is taken and freed"},
    ParamDef{"burst", kDuration, "ns", 0, 0, 10 * kSecond,
             "pause between two short-lived processes of one worker; 0 for none"},
};

constexpr std::array kShm{
    ParamDef{"workers", kInteger, "", 4, 1, 255,
             "processes that each do the same; a guest has room for 64"},
    ParamDef{
        "size", kBytes, "bytes", 8 * kMiB, 64 * kKiB, 1 * kGiB,
        "size of a shared-memory file; it is made, touched page by page, and removed. One such "
        "round is one operation"},
    ParamDef{"duration", kDuration, "ns", 3 * kSecond, 10 * kMs, kHour,
             "guest time of one iteration; a round that has begun is ended"},
    ParamDef{"threads", kInteger, "", 8, 0, 64,
             "short-lived threads that a process makes and joins between two files, so that kernel "
             "stacks are freed among shared-memory faults; 0 for none"},
};

constexpr std::array kMthp{
    ParamDef{"folio", kBytes, "bytes", 64 * kKiB, 16 * kKiB, 2 * kMiB,
             "size of the folios asked for by madvise, a power of two; the guest must allow it "
             "under [guest.mthp]"},
    ParamDef{"size", kBytes, "bytes", 32 * kMiB, 64 * kKiB, 64 * kGiB,
             "memory that each worker maps and touches, folio by folio"},
    ParamDef{"workers", kInteger, "", 1, 1, 16, "processes that each do the same"},
    ParamDef{"duration", kDuration, "ns", 0, 0, kHour,
             "guest time for which mapping, touching and unmapping is repeated; 0 for just once"},
};

constexpr std::array kThp{
    ParamDef{"size", kBytes, "bytes", 64 * kMiB, 2 * kMiB, 64 * kGiB,
             "memory that each worker maps, aligned to the PMD's size, and touches once"},
    ParamDef{"workers", kInteger, "", 1, 1, 16, "processes that each do the same"},
};

constexpr std::array kCommand{
    ParamDef{"timeout", kDuration, "ns", 60 * kSecond, 100 * kMs, kHour,
             "guest time after which the program is killed and the iteration has failed"},
};

constexpr std::array kIdle{
    ParamDef{"duration", kDuration, "ns", 200 * kMs, 1 * kMs, kHour,
             "guest time of one iteration, in which nothing is done"},
};

constexpr std::array kPacketRing{
    ParamDef{"rings", kInteger, "", 4, 1, 64, "receive rings that are held at the same time"},
    ParamDef{"size", kBytes, "bytes", 4 * kMiB, 64 * kKiB, 1 * kGiB,
             "size of one ring, a multiple of `block`"},
    ParamDef{"block", kBytes, "bytes", 1 * kMiB, 4 * kKiB, 4 * kMiB,
             "size of a ring's blocks, a power of two. The kernel first tries to get each as one "
             "piece (order 8 for 1MiB), then puts it together from single pages"},
    ParamDef{"rounds", kInteger, "", 4, 1, 100'000,
             "how often an iteration makes all the rings and gives them back. PSI counts in "
             "jiffies: an iteration has to last some 40 ms"},
};

constexpr std::array kIoUringRing{
    ParamDef{"rings", kInteger, "", 4, 1, 64, "rings that are held at the same time"},
    ParamDef{"entries", kInteger, "", 32768, 8, 32768,
             "entries of a ring's submission queue, a power of two; 32768 are 2 MiB, and its "
             "completion queue is about 1.1 MiB more"},
    ParamDef{"sqe128", kBoolean, "", 0, 0, 1,
             "whether submission entries are 128 bytes long instead of 64 (kernels from 5.19 on)"},
    ParamDef{"rounds", kInteger, "", 8, 1, 100'000,
             "how often an iteration makes all the rings and closes them. The kernel frees a ring "
             "some time after it was closed"},
};

constexpr std::array<std::string_view, 4> kCapabilities{"pages", "prefer-large", "no-sg",
                                                        "default"};
constexpr std::array kAux{
    ParamDef{"pmu", kText, "", 0, 0, 0,
             "name of a PMU below /sys/bus/event_source/devices, such as intel_pt; left out, it is "
             "Manometer's own software PMU (module aux_pmu) with the capability named below"},
    ParamDef{"capability", kChoice, "", 1, 0, 3,
             "what the software PMU tells the kernel about its hardware: pages (single pages will "
             "do), prefer-large (large chunks, but small ones will do), no-sg (one contiguous "
             "piece, or nothing), default (nothing: what the kernel then does changed over time)",
             kCapabilities},
    ParamDef{"size", kBytes, "bytes", 4 * kMiB, 4 * kKiB, 1 * kGiB,
             "size of each CPU's AUX area, a power of two"},
    ParamDef{"data_pages", kInteger, "", 256, 1, 65536,
             "pages of each CPU's ordinary ring buffer, which an AUX area needs beside it; a power "
             "of two. The kernel takes them one by one, and the time for that isn't counted as "
             "map time"},
    ParamDef{"overwrite", kBoolean, "", 0, 0, 1,
             "whether the area is mapped read-only, so that tracing would go over it again and "
             "again (snapshot mode): the kernel then tries the whole area as one chunk first"},
    ParamDef{"watermark", kBytes, "bytes", 0, 0, 1 * kGiB,
             "aux_watermark: how much is written before the reader is woken, which bounds the "
             "chunks too; 0 for the kernel's choice, half of the area"},
    ParamDef{"rounds", kInteger, "", 1, 1, 100'000,
             "how often an iteration maps all areas and gives them back"},
    ParamDef{"privileged", kBoolean, "", 1, 0, 1,
             "false: as user 65534 without capabilities. The kernel then opens events of whole "
             "CPUs only with guest.sysctl.kernel.perf_event_paranoid=0, and counts mapped pages "
             "against kernel.perf_event_mlock_kb"},
    ParamDef{"linger", kDuration, "ns", 0, 0, 600 * kSecond,
             "after an iteration's last release, how long it waits before free blocks are counted "
             "once more (probe.blocks.later); 0 for not at all. Released pages stay on the CPUs' "
             "own lists at first"},
};

constexpr std::array kPageout{
    ParamDef{"workers", kInteger, "", 4, 1, 64, "processes that each do the same"},
    ParamDef{
        "size", kBytes, "bytes", 48 * kMiB, 64 * kKiB, 64 * kGiB,
        "memory that each worker writes and has paged out, over and over; half of each page is "
        "noise that doesn't compress"},
    ParamDef{"pause", kDuration, "ns", 0, 0, 10 * kSecond,
             "pause of a worker between two rounds, drawn around this; 0 for none"},
};

constexpr std::array kTimer{
    ParamDef{"interval", kDuration, "ns", 1 * kMs, kMs / 20, 10 * kSecond,
             "time between two wake-ups of a CPU's timer process"},
    ParamDef{"duration", kDuration, "ns", 4 * kSecond, 10 * kMs, kHour,
             "guest time of one iteration"},
};

constexpr std::array kPressures{
    LoadDef{LoadId::none, LoadKind::pressure, "none",
            "no pressure; only a few pages are shuffled by the seed", kNone},
    LoadDef{LoadId::hold, LoadKind::pressure, "hold",
            "fills memory to a stated level, punches holes, holds it at next to no CPU", kHold},
    LoadDef{LoadId::churn, LoadKind::pressure, "churn",
            "makes short-lived processes and threads all the time", kChurn},
    LoadDef{LoadId::pageout, LoadKind::pressure, "pageout",
            "writes memory and has it paged out with MADV_PAGEOUT, all the time", kPageout},
};

constexpr std::array kProbes{
    LoadDef{LoadId::idle, LoadKind::probe, "idle", "waits: the control", kIdle},
    LoadDef{LoadId::shm, LoadKind::probe, "shm",
            "makes, faults and removes shared-memory files between short-lived threads", kShm},
    LoadDef{LoadId::mthp, LoadKind::probe, "mthp",
            "touches memory for the first time in folios of one mTHP size", kMthp},
    LoadDef{LoadId::thp, LoadKind::probe, "thp",
            "touches memory for the first time in huge pages of the PMD's size", kThp},
    LoadDef{LoadId::command, LoadKind::probe, "command",
            "runs a program that was put into the guest", kCommand},
    LoadDef{LoadId::packet_ring, LoadKind::probe, "packet-ring",
            "makes receive rings of packet sockets, whose blocks are optional high orders in any "
            "kernel, and gives them back",
            kPacketRing},
    LoadDef{LoadId::io_uring_ring, LoadKind::probe, "io-uring-ring",
            "makes io_uring rings and closes them; their queues are high orders, optional from "
            "6.10 on, demanded before",
            kIoUringRing},
    LoadDef{LoadId::aux, LoadKind::probe, "aux",
            "maps a perf AUX area for each CPU, with tracing off, touches nothing, and unmaps it",
            kAux},
    LoadDef{LoadId::timer, LoadKind::probe, "timer",
            "sleeps to absolute times with the highest real-time priority, on each CPU, and counts "
            "how late it runs",
            kTimer},
};

}  // namespace

std::span<const LoadDef> pressures() {
    return kPressures;
}
std::span<const LoadDef> probes() {
    return kProbes;
}

const LoadDef* find_load(LoadKind kind, std::string_view name) {
    for (const LoadDef& load : kind == LoadKind::pressure ? pressures() : probes()) {
        if (load.name == name) return &load;
    }
    return nullptr;
}

const LoadDef* find_load(LoadId id) {
    for (const LoadDef& load : kPressures) {
        if (load.id == id) return &load;
    }
    for (const LoadDef& load : kProbes) {
        if (load.id == id) return &load;
    }
    return nullptr;
}

std::optional<std::size_t> find_param(const LoadDef& load, std::string_view name) {
    for (std::size_t i = 0; i < load.params.size(); ++i) {
        if (load.params[i].name == name) return i;
    }
    return std::nullopt;
}

}  // namespace mano::plan
