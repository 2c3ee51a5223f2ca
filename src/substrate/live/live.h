// SPDX-License-Identifier: GPL-2.0-or-later
// The live substrate: a trial runs on this very machine, in cgroups of its own, by the agent that
// guests have as well. docs/live.md says what is read, what is changed and what is lost where.
// Knows plans; knows nothing of how a guest is made.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "substrate/live/cgroups.h"
#include "substrate/live/journal.h"
#include "substrate/substrate.h"

namespace mano::substrate::live {

struct Options {
    bool yes_this_host = false;  // the user has said that loads may run here
    std::uint64_t log_bytes = std::uint64_t{32} << 20;
    std::uint64_t hang_ns = 120'000'000'000;      // between two heartbeats of the agent
    std::filesystem::path folder = {};            // of lock and journal; empty: live_folder()
    std::optional<Hierarchies> hierarchies = {};  // a test's, in place of this machine's
};

// A pressure, or a probe that loads the machine: what needs --yes-this-host. Empty: none of that.
std::string dangers(const plan::Plan& plan);

class LiveSubstrate : public Substrate {
  public:
    explicit LiveSubstrate(Options options) : options_(std::move(options)) {}

    // Claims the host, and puts back what a killed run has left. Changes nothing else.
    Status prepare(const plan::Plan& plan, const std::vector<kernels::Kernel>& kernels) override;
    Identity identity() const override { return identity_; }
    std::vector<std::string> remarks() const override { return remarks_; }
    std::pair<unsigned, std::string> jobs(const plan::Plan& plan, unsigned wanted) const override;
    Result<measure::TrialRecord> run(const TrialRequest& request, const TrialProgress& progress,
                                     const std::function<bool()>& stop) override;

    // For --dry-run: what a run of this plan would make, change, read and lack, a line each.
    // Changes nothing, not even the claim.
    Result<std::vector<std::string>> intentions(const plan::Plan& plan);

  private:
    // What prepare() and intentions() have in common: looks and decides, changes nothing.
    Status look(const plan::Plan& plan);
    Status put_back(const std::string& why);

    Options options_;
    std::optional<Claim> claim_;
    Site site_;
    std::uint64_t limit_bytes_ = 0;  // of load and probe together; 0: none
    std::uint64_t floor_bytes_ = 0;  // what stays for the rest of the host; 0: not looked at
    Identity identity_;
    std::vector<std::string> remarks_;
};

}  // namespace mano::substrate::live
