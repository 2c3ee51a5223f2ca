// SPDX-License-Identifier: GPL-2.0-or-later
// Virtual time: CPUs, tasks that do one step after the other, the zones' locks as queues, PSI. The
// only clock of the model is its event queue. Turns the work that the mechanism reports into
// nanoseconds.
#pragma once

#include <functional>
#include <memory>
#include <queue>
#include <string>
#include <vector>

#include "model/preemption.h"
#include "model/psi.h"
#include "model/slow_path.h"

namespace mano::model {

// Whose pressure: each task belongs to one group, and all to the system.
enum class Group : std::uint8_t { kernel, load, probe };
constexpr std::size_t kGroups = 3;

struct Step {
    enum class What : std::uint8_t {
        go_on,   // runnable: the next step follows
        nap,     // sleeps for `ns`
        park,    // sleeps until somebody wakes it
        finish,  // never again
    } what = What::go_on;
    double ns = 0;
    // For real-time tasks that wake up meanwhile.
    Inside inside = Inside::open;
    After after = After::point;
};

class Engine;

class Task {
  public:
    // `realtime`: runs before all others of its CPU, as soon as that may be given away.
    Task(Group group, unsigned cpu, bool realtime = false)
        : group_(group), cpu_(cpu), realtime_(realtime) {}
    virtual ~Task() = default;
    Task(const Task&) = delete;
    Task& operator=(const Task&) = delete;
    // A short piece of what the task does, without a wait in it. Work goes to cpu.work.
    virtual Step step(Engine& engine, Cpu& cpu) = 0;
    Group group() const { return group_; }
    unsigned cpu() const { return cpu_; }
    bool finished() const { return finished_; }

  protected:
    // Allocates, through the slow path when it has to. True: `page` is the answer (kNoPage: none).
    // False: the step ends here as `step` says, and asks again next time.
    bool allocate(Engine& engine, Cpu& cpu, const Request& request, Pfn& page, Step& step);
    // Whether the last failure was for want of any memory.
    bool out_of_memory() const { return slow_.out_of_memory(); }
    void set_memstall(bool on) { memstall_ = on; }

  private:
    friend class Engine;
    Group group_;
    unsigned cpu_;
    bool realtime_;
    double used_ = 0;          // CPU time; who slept isn't owed what others had meanwhile
    std::uint32_t index_ = 0;  // of the engine's tasks
    SlowPath slow_;
    bool in_slow_path_ = false;
    bool memstall_ = false;  // wanted from the next step on
    bool stalled_ = false;   // as PSI knows it
    bool asleep_ = true;
    bool queued_ = false;
    bool finished_ = false;
};

class Engine {
  public:
    Engine(Memory& memory, const Costs& costs, Preemption preemption = Preemption::lazy);

    Memory& memory() { return memory_; }
    Machine& machine() { return memory_.machine(); }
    double now() const { return now_; }
    double cost(Work work) const { return costs_[work]; }

    Task& add(std::unique_ptr<Task> task, double at);
    void wake(Task& task, double at);
    // Until `done` says so, asked after each step. False: nobody had anything left to do, or
    // `limit` (model time) was reached.
    bool run_until(const std::function<bool()>& done, double limit);
    // One step. False: nothing is left.
    bool step();

    // Read as a pressure file is read: collects first. nullptr: the whole system.
    PsiTotals read_psi(Group group);
    PsiTotals read_system_psi();
    double nonidle_ns(Group group) const {
        return psi_[static_cast<std::size_t>(group)].nonidle_ns();
    }
    // CPU time that the group's tasks used.
    double cpu_ns(Group group) const { return cpu_ns_[static_cast<std::size_t>(group)]; }

  private:
    struct Event {
        double at;
        std::uint64_t sequence;
        std::uint32_t task;
        double used = 0;      // of the CPU: who has had less goes first
        bool urgent = false;  // before all others of the same time
        bool operator>(const Event& other) const {
            if (at != other.at) return at > other.at;
            if (urgent != other.urgent) return other.urgent;
            return used != other.used ? used > other.used : sequence > other.sequence;
        }
    };
    // What a CPU does: the last step that began there.
    struct Running {
        double until = 0;
        double locked_until = 0;  // a zone's lock is waited for and held, interrupts off
        Inside inside = Inside::open;
        After after = After::point;
        std::uint32_t task = 0;
        double used = 0;  // of the task, when the step began
    };
    bool must_wait(const Event& event, const Task& task);
    void wait_until(const Event& event, double at, double used, bool urgent);
    void queue(std::uint32_t task, double at);
    double charge(Cpu& cpu, double start, double& locked_until);
    void note(Task& task, double at, bool asleep);
    void wake_kernel_threads();
    void collect_psi();

    Memory& memory_;
    Costs costs_;
    Preemption preemption_;
    double now_ = 0;
    double next_collection_ = kPsiPeriodNs;
    double next_decay_ = 1e9;  // the vmstat worker's second
    std::uint64_t sequence_ = 0;
    std::vector<std::unique_ptr<Task>> tasks_;
    std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
    std::vector<Cpu> cpus_;
    std::vector<Running> running_;  // by CPU
    std::vector<PsiGroup> psi_;
    PsiGroup system_psi_;
    std::array<double, kGroups> cpu_ns_{};
    std::vector<Task*> kswapd_;
    std::vector<Task*> kcompactd_;
};

}  // namespace mano::model
