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

Engine::Engine(Memory& memory, const Costs& costs, Preemption preemption)
    : memory_(memory),
      costs_(costs),
      preemption_(preemption),
      cpus_(memory.machine().cpus()),
      running_(memory.machine().cpus()),
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
    events_.push({at, sequence_++, task, tasks_[task]->used_, tasks_[task]->realtime_});
}

void Engine::wait_until(const Event& event, double at, double used, bool urgent) {
    events_.push({at, sequence_++, event.task, used, urgent});
}

// Whether the task's CPU isn't its own yet; it is then queued for when that may be.
bool Engine::must_wait(const Event& event, const Task& task) {
    const Running& running = running_[task.cpu_];
    const bool busy = running.until > event.at;
    // Behind the one that keeps the CPU.
    const double behind = std::max(task.used_, tasks_[running.task]->used_);
    if (!task.realtime_) {
        const bool kept = running.after != After::point && running.task != event.task;
        if (busy) {
            wait_until(event, running.until, task.used_, false);
        } else if (kept) {
            wait_until(event, event.at, behind, false);
        }
        return busy || kept;
    }
    if (!busy) {
        if (may_switch_after(preemption_, running.after)) return false;
        wait_until(event, event.at, behind, false);
        return true;
    }
    if (!may_switch_inside(preemption_, running.inside)) {
        wait_until(event, running.until, 0, true);
        return true;
    }
    if (running.locked_until <= event.at) return false;
    wait_until(event, running.locked_until, 0, true);
    return true;
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
double Engine::charge(Cpu& cpu, double start, double& locked_until) {
    double ns = cpu.work.time(costs_);
    if (cpu.locked != nullptr) {
        const double held = cpu.work.under_lock(costs_);
        const double begin = std::max(start, cpu.locked->lock_free_at);
        cpu.locked->lock_free_at = begin + held;
        ns += begin - start;
        // With PREEMPT_RT the lock sleeps.
        if (preemption_ != Preemption::rt) locked_until = begin + held;
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
    Running& running = running_[task.cpu_];
    if (task.asleep_) task.used_ = std::max(task.used_, running.used);
    note(task, event.at, false);
    if (must_wait(event, task)) return true;
    task.queued_ = false;
    Cpu& cpu = cpus_[task.cpu_];
    const Step step = task.step(*this, cpu);
    double locked_until = 0;
    const double ns = charge(cpu, event.at, locked_until);
    const double free_at = event.at + ns;
    if (task.realtime_) {
        // Whoever was there goes on behind it.
        running.until = std::max(running.until + ns, free_at);
        if (running.locked_until > event.at) running.locked_until += ns;
    } else {
        const bool goes_on = step.what == Step::What::go_on;
        running = {free_at,    locked_until, step.inside, goes_on ? step.after : After::point,
                   event.task, task.used_};
        task.used_ += ns;
    }
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
