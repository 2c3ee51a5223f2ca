// SPDX-License-Identifier: GPL-2.0-or-later
// The speed of the page-allocator model: operations a second on per-CPU lists and on the buddy
// lists, and a server of 192 CPUs and 256 GiB under shm-churn. All times are CPU time. bench_model
// [SIMULATED-SECONDS] (default 1).
#include <sys/resource.h>
#include <time.h>

#include <charconv>
#include <cstdio>
#include <string_view>
#include <vector>

#include "base/rng.h"
#include "model/pagemodel.h"

namespace {

using namespace mano::model;
// CPU time of this one thread, so that other programs on the machine count little.
double cpu_seconds() {
    timespec now{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

double peak_mib() {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return static_cast<double>(usage.ru_maxrss) / 1024;
}

struct Block {
    Pfn head;
    std::uint8_t order;
};

// Random takes and gives of blocks by `order_of` on one core; `held` blocks are alive at a time.
template <typename OrderOf>
void operations(const char* name, std::size_t held_count, const OrderOf& order_of) {
    Machine machine(MachineShape::plain(std::uint64_t{4} << 18, 4), *find_variant("7.3"));
    mano::Rng rng(1);
    Cpu cpu;
    std::vector<Block> held;
    const auto take = [&] {
        Request request;
        request.order = order_of(rng);
        const Pfn head = machine.try_alloc(cpu, request);
        if (head != kNoPage) held.push_back({head, static_cast<std::uint8_t>(request.order)});
    };
    while (held.size() < held_count)
        take();
    const auto before = machine.counters();
    constexpr std::uint64_t kPairs = 20'000'000;
    const auto start = cpu_seconds();
    for (std::uint64_t i = 0; i < kPairs; ++i) {
        Block& victim = held[rng.below(held.size())];
        machine.free_pages(cpu, victim.head, victim.order);
        victim = held.back();
        held.pop_back();
        take();
    }
    const double seconds = cpu_seconds() - start;
    const auto& after = machine.counters();
    const auto since = [&](Counter c) { return static_cast<double>(after[c] - before[c]); };
    const double allocations = since(Counter::mm_page_alloc);
    std::printf("%-28s %6.1f ns/operation  %5.1f M/s  %5.1f %% of allocations from per-CPU lists\n",
                name, seconds * 1e9 / (2.0 * kPairs), 2.0 * kPairs / seconds / 1e6,
                100 * since(Counter::pcp_hits) / allocations);
}

MachineShape server() {
    MachineShape shape;
    for (int node = 0; node < 2; ++node) {
        NodeShape one;
        one.cpus = 96;
        one.managed[kDma32] = node == 0 ? std::uint64_t{2} << 18 : 0;
        one.managed[kNormal] = std::uint64_t{126} << 18;
        shape.nodes.push_back(one);
    }
    shape.boot.thp = true;
    return shape;
}

void server_churn(double simulated) {
    const auto start = cpu_seconds();
    Memory memory(server(), *find_variant("7.3"), 1);
    const double setup = cpu_seconds() - start;
    std::printf("192 CPUs, 256 GiB: set up in %.3f s, %.0f MiB of the host\n", setup, peak_mib());
    Engine engine(memory, Costs());
    ShmSettings settings;
    settings.workers = 192;
    settings.threads = 32;
    settings.vfree = parse_arm("7.3").value().vfree;
    settings.duration_ns = simulated * 1e9;
    ShmProbe probe(engine, settings, 1);
    probe.begin(engine);
    const auto run = cpu_seconds();
    engine.run_until([&] { return probe.ended(); }, 1e14);
    const double wall = cpu_seconds() - run;
    const Counters& counters = engine.machine().counters();
    const auto pages = static_cast<double>(counters[Counter::mm_page_alloc]);
    std::printf(
        "shm-churn there: %.2f simulated s in %.1f s (60 s would take %.0f s), %.1f M page "
        "operations/s, peak %.0f MiB\n",
        engine.now() / 1e9, wall, 60 * wall / (engine.now() / 1e9), 2 * pages / wall / 1e6,
        peak_mib());
}

}  // namespace

int main(int argc, char** argv) {
    double simulated = 1;
    if (argc > 1) {
        const std::string_view text = argv[1];
        const auto [end, error] =
            std::from_chars(text.data(), text.data() + text.size(), simulated);
        if (error != std::errc() || end != text.data() + text.size() || !(simulated > 0)) {
            std::fprintf(stderr, "bench_model: '%s', expected seconds such as 0.5\n", argv[1]);
            return 1;
        }
    }
    operations("order 0, 20,000 held", 20'000, [](mano::Rng&) { return 0U; });
    operations("orders 0 to 3, 5,000 held", 5'000,
               [](mano::Rng& rng) { return static_cast<unsigned>(rng.below(4)); });
    operations("order 4, buddy lists only", 5'000, [](mano::Rng&) { return 4U; });
    server_churn(simulated);
}
