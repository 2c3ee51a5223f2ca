// SPDX-License-Identifier: GPL-2.0-or-later
#include "model/engine.h"

#include <algorithm>

#include "model/kernel_threads.h"

namespace mano::model {

bool Task::allocate(Engine& engine, Cpu& cpu, const Request& request, Pfn& page, Step& step) {
    Machine& machine = engine.machine();
    if (!in_slow_path_) {
        page = machine.get_page(cpu, request, machine.fast_flags(request));
        if (page != kNoPage) {
            machine.got(request);
            return true;
        }
        slow_.start(engine.memory(), request);
        in_slow_path_ = true;
        step = {};
        return false;
    }
    const Stage stage = slow_.step(cpu);
    memstall_ = slow_.in_memstall();
    if (stage.what == Stage::What::done) {
        in_slow_path_ = false;
        page = stage.page;
        return true;
    }
    step = stage.what == Stage::What::nap ? Step{Step::What::nap, stage.nap_ns} : Step{};
    return false;
}

Engine::Engine(Memory& memory, const Costs& costs)
    : memory_(memory),
      costs_(costs),
      cpus_(memory.machine().cpus()),
      cpu_free_at_(memory.machine().cpus(), 0),
      psi_(kGroups, PsiGroup(memory.machine().cpus())),
      system_psi_(memory.machine().cpus()) {
    Machine& all = memory.machine();
    for (unsigned id = 0; id < cpus_.size(); ++id) {
        cpus_[id].id = id;
        cpus_[id].node = all.node_of_cpu(id);
    }
    for (unsigned node = 0; node < all.nodes().size(); ++node) {
        unsigned last = 0;
        for (unsigned cpu = 0; cpu < cpus_.size(); ++cpu)
            last = all.node_of_cpu(cpu) == node ? cpu : last;
        kswapd_.push_back(&add(make_kswapd(node, last), 0));
        kcompactd_.push_back(&add(make_kcompactd(node, last), 0));
    }
}

Task& Engine::add(std::unique_ptr<Task> task, double at) {
    task->index_ = static_cast<std::uint32_t>(tasks_.size());
    tasks_.push_back(std::move(task));
    queue(static_cast<std::uint32_t>(tasks_.size() - 1), at);
    return *tasks_.back();
}

void Engine::queue(std::uint32_t task, double at) {
    tasks_[task]->queued_ = true;
    events_.push({at, sequence_++, task});
}

void Engine::wake(Task& task, double at) {
    if (task.queued_ || task.finished_) return;
    queue(task.index_, at);
}

// What the scheduler tells PSI: a task sleeps or not, and is in a memstall section or not.
void Engine::note(Task& task, double at, bool asleep) {
    const bool stalls = task.memstall_;
    if (asleep == task.asleep_ && stalls == task.stalled_) return;
    PsiChange change;
    change.memstall = int{stalls} - int{task.stalled_};
    change.running = int{task.asleep_} - int{asleep};
    change.memstall_running = int{stalls && !asleep} - int{task.stalled_ && !task.asleep_};
    task.stalled_ = stalls;
    task.asleep_ = asleep;
    psi_[static_cast<std::size_t>(task.group_)].change(task.cpu_, at, change);
    system_psi_.change(task.cpu_, at, change);
}

// Time of what was done; work under a zone's lock waits for those who have it.
double Engine::charge(Cpu& cpu, double start) {
    double ns = cpu.work.time(costs_);
    if (cpu.locked != nullptr) {
        const double held = cpu.work.under_lock(costs_);
        const double begin = std::max(start, cpu.locked->lock_free_at);
        cpu.locked->lock_free_at = begin + held;
        ns += begin - start;
        Counters& counters = machine().counters();
        counters[Counter::zone_lock_hold_ns] += static_cast<std::uint64_t>(held);
        counters[Counter::zone_lock_wait_ns] += static_cast<std::uint64_t>(begin - start);
        cpu.locked = nullptr;
    }
    cpu.work.reset();
    return ns;
}

void Engine::wake_kernel_threads() {
    for (std::size_t node = 0; node < kswapd_.size(); ++node) {
        if (machine().nodes()[node].kswapd_awake && !kswapd_[node]->queued_)
            wake(*kswapd_[node], now_);
        if (machine().nodes()[node].kcompactd_awake && !kcompactd_[node]->queued_)
            wake(*kcompactd_[node], now_);
    }
}

void Engine::collect_psi() {
    for (PsiGroup& group : psi_)
        group.collect(now_);
    system_psi_.collect(now_);
}

bool Engine::step() {
    if (events_.empty()) return false;
    const Event event = events_.top();
    events_.pop();
    Task& task = *tasks_[event.task];
    if (event.at >= next_collection_) {
        now_ = next_collection_;
        collect_psi();
        next_collection_ += kPsiPeriodNs;
    }
    if (event.at >= next_decay_) {
        next_decay_ += 1e9;
        Cpu& cpu = cpus_[0];
        machine().decay(cpu);
        cpu.work.reset();
        cpu.locked = nullptr;
    }
    now_ = std::max(now_, event.at);
    note(task, event.at, false);
    double& free_at = cpu_free_at_[task.cpu_];
    if (free_at > event.at) {
        events_.push({free_at, sequence_++, event.task});
        return true;
    }
    task.queued_ = false;
    Cpu& cpu = cpus_[task.cpu_];
    const Step step = task.step(*this, cpu);
    const double ns = charge(cpu, event.at);
    free_at = event.at + ns;
    cpu_ns_[static_cast<std::size_t>(task.group_)] += ns;
    switch (step.what) {
        case Step::What::go_on:
            note(task, free_at, false);
            queue(event.task, free_at);
            break;
        case Step::What::nap:
            note(task, free_at, true);
            queue(event.task, free_at + step.ns);
            break;
        case Step::What::finish:
            task.finished_ = true;
            [[fallthrough]];
        case Step::What::park:
            note(task, free_at, true);
            break;
    }
    wake_kernel_threads();
    return true;
}

bool Engine::run_until(const std::function<bool()>& done, double limit) {
    while (!done()) {
        if (events_.empty() || events_.top().at > limit) return false;
        if (!step()) return false;
    }
    return true;
}

PsiTotals Engine::read_psi(Group group) {
    PsiGroup& one = psi_[static_cast<std::size_t>(group)];
    one.collect(now_);
    return one.totals();
}

PsiTotals Engine::read_system_psi() {
    system_psi_.collect(now_);
    return system_psi_.totals();
}

}  // namespace mano::model
