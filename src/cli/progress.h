// SPDX-License-Identifier: GPL-2.0-or-later
// What goes on, on standard error: one line that rewrites itself on a terminal, a plain line for
// each ended trial in a pipe, nothing when quiet. Knows the runner's events and the kernels'
// downloads; decides nothing.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "kernels/kernel.h"
#include "runner/runner.h"

namespace mano::cli {

class Progress {
  public:
    explicit Progress(bool quiet);
    Progress(const Progress&) = delete;
    Progress& operator=(const Progress&) = delete;
    ~Progress() { clear(); }

    void trial(const runner::Event& event);
    void download(std::string_view what, std::uint64_t done, std::uint64_t total);
    void building(const kernels::Building& step);
    // A line that stays.
    void say(std::string_view text);
    // Takes the changing line away, before anything else is printed.
    void clear();

  private:
    void draw(std::string text, bool at_once);
    void trial_ended(const runner::Event& event);

    bool quiet_ = false;
    bool terminal_ = false;
    std::size_t width_ = 79;
    bool drawn_ = false;
    std::string downloading_;
    std::string built_;  // what is said of a build in a pipe: what, phase, tenths
    std::chrono::steady_clock::time_point last_draw_;
    struct Running {
        std::string label;
        std::string phase;
    };
    std::map<std::uint32_t, Running> running_;
};

// What `kernels` is to be told: the user's cache, our progress, Ctrl-C.
kernels::Options kernel_options(Progress& progress);

// "3 min 20 s", "less than a second"; for people.
std::string show_seconds(double seconds);

}  // namespace mano::cli
