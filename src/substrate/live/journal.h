// SPDX-License-Identifier: GPL-2.0-or-later
// What a live trial is going to change, written down before it is changed. One live run at a time
// has the host, and one journal. The guard reads it back (src/agent/guard.h). Knows no measurement.
//
// The journal is text: "manometer 1", then a line each of
//   group FOLDER            a group of ours, to be emptied and removed
//   setting FILE<tab>VALUE  what a setting was
// A last line without its newline counts as not written; an empty journal has nothing to put back.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/file.h"
#include "plan/trial_plan.h"

namespace mano::substrate::live {

// A setting, what it is now, and what a trial makes of it.
struct Change {
    std::string path;
    std::string now;   // as it is written back: the chosen word of "always [madvise] never"
    std::string then;  // as the plan has it; empty: not set, but it changes along with another
    bool operator==(const Change&) const = default;
};

// What the settings are at present, one a file. Code::invalid: one that can't be recorded (not one
// line of text), lies elsewhere than in /proc/sys and /sys/kernel/mm, or can't be taken back once
// it is written (vm.drop_caches); Code::environment: this kernel has no such file, or this user may
// not write it.
Result<std::vector<Change>> read_changes(const std::vector<plan::Setting>& settings);

std::string journal_text(const std::vector<Change>& changes,
                         const std::vector<std::filesystem::path>& groups);

// The host, claimed for one live run of this user: two would measure each other, and undo each
// other's settings. The claim is free again when manometer and its guard are both gone.
class Claim {
  public:
    // Code::environment while another run has it, or where no folder is safe from other users.
    static Result<Claim> take(const std::filesystem::path& folder);
    int lock_fd() const { return lock_.get(); }
    int journal_fd() const { return journal_.get(); }
    // A run that was killed together with its guard left something to put back.
    Result<bool> is_stale() const;
    // In place of what was there; synced before it returns.
    Status write(std::string_view text) const;
    const std::filesystem::path& path() const { return path_; }

  private:
    Fd lock_;
    Fd journal_;
    std::filesystem::path path_;
};

// /run/manometer-live for root, else below this user's runtime folder.
std::filesystem::path live_folder();

}  // namespace mano::substrate::live
