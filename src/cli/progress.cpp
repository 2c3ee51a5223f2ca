// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/progress.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cmath>

#include "base/file.h"
#include "base/units.h"
#include "cli/output.h"
#include "cli/stop.h"

namespace mano::cli {
namespace {

constexpr auto kRedraw = std::chrono::milliseconds(100);

std::string left_words(const runner::Event& event) {
    if (event.done >= event.total || event.seconds_left < 0) return "";
    return ", about " + show_seconds(event.seconds_left) + " left";
}

}  // namespace

std::string show_seconds(double seconds) {
    const auto whole = static_cast<std::uint64_t>(std::llround(std::max(0.0, seconds)));
    if (whole < 1) return "1 s";
    if (whole < 60) return fmt::format("{} s", whole);
    if (whole < 3600) return fmt::format("{} min {} s", whole / 60, whole % 60);
    return fmt::format("{} h {} min", whole / 3600, whole / 60 % 60);
}

kernels::Options kernel_options(Progress& progress) {
    kernels::Options options;
    options.cache = cache_folder();
    options.stop = stop_requested;
    options.progress = [&progress](std::string_view what, std::uint64_t done, std::uint64_t total) {
        progress.download(what, done, total);
    };
    options.building = [&progress](const kernels::Building& step) { progress.building(step); };
    return options;
}

Progress::Progress(bool quiet) : quiet_(quiet), terminal_(::isatty(STDERR_FILENO) == 1) {
    winsize size = {};
    if (terminal_ && ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 20) {
        width_ = size.ws_col - 1U;
    }
}

void Progress::clear() {
    if (drawn_) print_error("\r\x1b[K");
    drawn_ = false;
}

void Progress::draw(std::string text, bool at_once) {
    if (quiet_ || !terminal_) return;
    const auto now = std::chrono::steady_clock::now();
    if (!at_once && drawn_ && now - last_draw_ < kRedraw) return;
    last_draw_ = now;
    text = printable(text);
    if (text.size() > width_) text.resize(width_);
    print_error("\r\x1b[K" + text);
    drawn_ = true;
}

void Progress::say(std::string_view text) {
    if (quiet_) return;
    clear();
    print_error(printable(text) + "\n");
}

void Progress::download(std::string_view what, std::uint64_t done, std::uint64_t total) {
    if (downloading_ != what) {
        downloading_ = what;
        if (!terminal_ && !what.empty()) say(downloading_);
    }
    std::string text(what);
    if (total > 0) {
        const double share = 100.0 * static_cast<double>(done) / static_cast<double>(total);
        text += fmt::format(": {:.0f} % of {}", std::min(share, 100.0), show_bytes(total));
    }
    draw(std::move(text), false);
}

void Progress::building(const kernels::Building& step) {
    std::string text = fmt::format("{}: {}", step.what, step.phase);
    std::uint64_t tenths = 0;
    if (step.expected > 0 && step.done > 0) {
        text += fmt::format(", {} of {} objects", step.done, step.expected);
        tenths = 10 * step.done / step.expected;
    } else if (step.done > 0) {
        text += fmt::format(", {} objects", step.done);
    }
    if (step.seconds_left >= 0) text += ", about " + show_seconds(step.seconds_left) + " left";
    // In a pipe a line for each phase and tenth part.
    const std::string mark = fmt::format("{} {} {}", step.what, step.phase, tenths);
    if (!terminal_ && mark != built_) say(text);
    built_ = mark;
    draw(std::move(text), false);
}

void Progress::trial_ended(const runner::Event& event) {
    const std::string label = running_[event.position].label;
    running_.erase(event.position);
    // On a terminal only what went wrong stays in sight.
    const bool good = event.text == "goodbye";
    if (terminal_ && good) return;
    say(fmt::format("[{}/{}] {}{}{}", event.done, event.total, label, good ? "" : ": " + event.text,
                    left_words(event)));
}

void Progress::trial(const runner::Event& event) {
    switch (event.what) {
        case runner::Event::What::trial_started:
            running_[event.position] = {event.text, ""};
            break;
        case runner::Event::What::trial_phase:
            running_[event.position].phase = event.text;
            break;
        case runner::Event::What::trial_ended:
            trial_ended(event);
            break;
        case runner::Event::What::note:
            say(event.text);
            return;
    }
    std::string now;
    for (const auto& [position, running] : running_) {
        now += (now.empty() ? " " : " | ") + running.label;
        if (!running.phase.empty()) now += ": " + running.phase;
    }
    draw(fmt::format("[{}/{}{}]{}", event.done, event.total, left_words(event), now),
         event.what == runner::Event::What::trial_ended);
}

}  // namespace mano::cli
