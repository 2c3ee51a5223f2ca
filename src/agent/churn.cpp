// SPDX-License-Identifier: GPL-2.0-or-later
#include "agent/churn.h"

#include <linux/futex.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <climits>

namespace mano::agent {
namespace {

constexpr std::size_t kStackBytes = 8192;
alignas(64) char stacks[kMaxThreads][kStackBytes];
pid_t tids[kMaxThreads];

std::atomic<std::uint32_t> may_end;

// Threads of our own making (no libc thread, no TLS): they only come into being, wait until all are
// there, and end together. Only so do their stacks outnumber the few that the kernel keeps for the
// next thread, and are really freed.
int thread_main(void* /*unused*/) {
    while (may_end.load(std::memory_order_acquire) == 0) {
        ::syscall(SYS_futex, &may_end, FUTEX_WAIT_PRIVATE, 0, nullptr, nullptr, 0);
    }
    return 0;
}

void let_them_end() {
    may_end.store(1, std::memory_order_release);
    ::syscall(SYS_futex, &may_end, FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
}

int process_main(unsigned threads) {
    constexpr int kFlags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD |
                           CLONE_SYSVSEM | CLONE_CHILD_CLEARTID | CLONE_PARENT_SETTID;
    for (unsigned i = 0; i < threads; ++i) {
        tids[i] = -1;
        if (::clone(thread_main, stacks[i] + kStackBytes, kFlags, nullptr, &tids[i], nullptr,
                    &tids[i]) < 0) {
            const int error = errno < 126 ? errno : 126;
            let_them_end();
            return error;
        }
    }
    let_them_end();
    for (unsigned i = 0; i < threads; ++i) {
        // The kernel clears the word and wakes us when the thread is gone.
        std::atomic_ref<pid_t> tid(tids[i]);
        for (pid_t now = tid.load(); now != 0; now = tid.load()) {
            ::syscall(SYS_futex, &tids[i], FUTEX_WAIT, now, nullptr, nullptr, 0);
        }
    }
    return 0;
}

}  // namespace

int churn_once(unsigned threads) {
    const unsigned wanted = threads < kMaxThreads ? threads : kMaxThreads;
    const pid_t pid = ::fork();
    if (pid < 0) return errno;
    if (pid == 0) ::_exit(process_main(wanted));
    int status = 0;
    while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    if (WIFEXITED(status)) return WEXITSTATUS(status);
    return EINTR;
}

}  // namespace mano::agent
