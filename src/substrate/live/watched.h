// SPDX-License-Identifier: GPL-2.0-or-later
// The guard and the agent as manometer has them: starts the guard, holds its leash, and learns from
// it that everything is as it was. Knows no plan.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/process.h"
#include "substrate/live/cgroups.h"
#include "substrate/live/journal.h"

namespace mano::substrate::live {

class Watched {
  public:
    struct Start {
        const Claim& claim;
        int plan_fd = -1;
        int log_fd = -1;
        Groups groups;
        std::uint64_t limit_bytes = 0;
    };
    // A guard. Returns when it has said that it will see to the end: before anything is changed.
    static Result<Watched> start(const Start& start);
    // The journal is written and the groups are there: the agent may start.
    Status go() const;
    // A guard that only puts back what the journal says; `complaints` as of end().
    static Result<std::vector<std::string>> restore(const Claim& claim);

    Watched() = default;
    Watched(Watched&&) noexcept = default;
    Watched& operator=(Watched&&) noexcept = default;
    Watched(const Watched&) = delete;
    Watched& operator=(const Watched&) = delete;
    ~Watched();

    // Readable when the guard has ended, which it does by itself when the agent has.
    int exit_fd() const { return guard_.exit_fd(); }
    bool has_ended() { return guard_.poll().has_value(); }
    // Lets go of the leash and waits until every process of the trial is gone and all is put back.
    // What couldn't be, a sentence each; empty: all is as it was. A guard that was killed, or takes
    // longer than a minute, is a complaint too.
    std::vector<std::string> end();

  private:
    static Result<Watched> spawn(const std::vector<std::string>& words,
                                 const std::vector<int>& inherit);

    Child guard_;
    Fd leash_;
    Fd says_;
    std::string said_;
};

}  // namespace mano::substrate::live
