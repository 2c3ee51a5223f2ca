// SPDX-License-Identifier: GPL-2.0-or-later
// 10,000 kernel stacks (order 2) are taken and given back in another order, on 7.3 and on 6.12: how
// often is the zone's lock taken, and what is left on the per-CPU lists?
#include <algorithm>
#include <cstdio>
#include <vector>

#include "base/rng.h"
#include "model/pagemodel.h"

int main() {
    using namespace mano::model;
    for (const char* name : {"6.12", "7.3"}) {
        Machine machine(MachineShape::plain(1 << 20, 4), *find_variant(name));
        Cpu cpu;
        mano::Rng rng(1);
        Request stack;
        stack.order = 2;
        std::vector<Pfn> stacks(10'000);
        for (Pfn& head : stacks)
            head = machine.try_alloc(cpu, stack);
        shuffle(stacks, rng);
        for (const Pfn head : stacks)
            machine.free_pages(cpu, head, stack.order);
        std::printf("%s: %lu lock holds, %lu pages left on the lists\n", name,
                    static_cast<unsigned long>(machine.counters()[Counter::zone_lock_holds]),
                    static_cast<unsigned long>(machine.pcp_pages_total()));
    }
}
