// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/stop.h"

#include <signal.h>
#include <unistd.h>

#include <atomic>

namespace mano::cli {
namespace {

std::atomic<int> received = 0;
static_assert(std::atomic<int>::is_always_lock_free, "a signal handler uses it");

void on_signal(int number) {
    if (received.exchange(number) != 0) ::_exit(128 + number);
}

}  // namespace

void catch_signals() {
    for (const int number : {SIGINT, SIGTERM, SIGHUP}) {
        struct sigaction before = {};
        ::sigaction(number, nullptr, &before);
        if (before.sa_handler == SIG_IGN) continue;
        struct sigaction action = {};
        action.sa_handler = on_signal;
        sigemptyset(&action.sa_mask);
        // Without SA_RESTART a wait ends at once and the question is asked sooner.
        ::sigaction(number, &action, nullptr);
    }
}

bool stop_requested() {
    return received.load() != 0;
}

int interrupted_exit_code() {
    const int number = received.load();
    return 128 + (number == 0 ? SIGINT : number);
}

}  // namespace mano::cli
