// SPDX-License-Identifier: GPL-2.0-or-later
#include "agent/sampler/triggers.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "agent/sys.h"

namespace mano::agent {
namespace {

// oomd's own: how often it looks, for how long it does nothing after it acted, and the fall of the
// 10 s average from one look to the next that it takes for a recovery (its documentation:
// interval, post_action_delay, fast_fall_ratio).
constexpr std::uint64_t kRuleEveryNs = 5'000'000'000;
constexpr std::uint64_t kQuietNs = 15'000'000'000;
constexpr double kFastFall = 0.85;

// The number behind "avg10=" in the line that begins with `kind`; negative: not there.
double average(std::string_view text, std::string_view kind, std::string_view key) {
    std::size_t at = text.find(kind);
    if (at == std::string_view::npos) return -1;
    at = text.find(key, at);
    if (at == std::string_view::npos) return -1;
    at += key.size();
    double value = 0;
    double scale = 0;  // 0: before the point
    for (; at < text.size(); ++at) {
        const char c = text[at];
        if (c == '.' && scale == 0) {
            scale = 1;
        } else if (c >= '0' && c <= '9') {
            value = value * 10 + (c - '0');
            scale *= 10;
        } else {
            break;
        }
    }
    return scale > 0 ? value / scale : value;
}

}  // namespace

void Triggers::open(const plan::PlanView& plan, std::string_view probe_pressure,
                    wire::Writer& log) {
    for (const plan::TriggerView& what : plan.triggers) {
        Trigger& trigger = triggers_[count_];
        pollfd& place = fds_[count_++];
        trigger.what = what;
        const std::string_view file = what.system ? "/proc/pressure/memory" : probe_pressure;
        const bool rule = what.rising_pct > 0;
        const Path path(file);
        place.fd = ::open(path.c_str(), (rule ? O_RDONLY : O_RDWR) | O_NONBLOCK | O_CLOEXEC);
        place.events = rule ? 0 : POLLPRI;
        int error = place.fd < 0 ? errno : 0;
        if (error == 0 && !rule) {
            const Text<64> text(what.full ? "full " : "some ", what.stall_us, " ", what.window_us);
            // With the byte that ends it: the kernel takes that for the end of the text.
            const auto size = static_cast<ssize_t>(text.view().size() + 1);
            if (::write(place.fd, text.c_str(), text.view().size() + 1) != size) error = errno;
            const std::uint64_t settle = what.window_us * 1000 / 10;
            if (error == 0 && settle > settle_ns_) settle_ns_ = settle;
        }
        trigger.open = error == 0;
        if (trigger.open) continue;
        if (place.fd >= 0) ::close(place.fd);
        place.fd = -1;
        log.loss(what.metric, 1,
                 Text<128>(rule ? "" : "a PSI trigger on ", file, ": ", errno_name(error).view()));
    }
    // A tick more than the kernel's own period.
    if (settle_ns_ > 0) settle_ns_ += 20'000'000;
}

void Triggers::start() {
    look();
    for (std::size_t i = 0; i < count_; ++i)
        triggers_[i].fired = 0;
}

void Triggers::look() {
    if (count_ == 0) return;
    if (::poll(fds_, count_, 0) > 0) {
        for (std::size_t i = 0; i < count_; ++i) {
            if ((fds_[i].revents & POLLPRI) != 0) ++triggers_[i].fired;
        }
    }
    const std::uint64_t now = now_ns();
    if (now < next_rule_) return;
    next_rule_ = now + kRuleEveryNs;
    for (std::size_t i = 0; i < count_; ++i) {
        if (triggers_[i].open && triggers_[i].what.rising_pct > 0)
            rule(triggers_[i], fds_[i].fd, now);
    }
}

// oomd's pressure_rising_beyond: the average over a minute has been beyond the limit for so long,
// that over ten seconds is as well, and it isn't falling fast.
void Triggers::rule(Trigger& trigger, int fd, std::uint64_t now) {
    char buffer[256];
    const ssize_t got = ::pread(fd, buffer, sizeof buffer, 0);
    const std::string_view text(buffer, got > 0 ? static_cast<std::size_t>(got) : 0);
    const std::string_view kind = trigger.what.full ? "full " : "some ";
    const double avg10 = average(text, kind, "avg10=");
    const double avg60 = average(text, kind, "avg60=");
    if (avg10 < 0 || avg60 < 0) {
        trigger.open = false;
        return;
    }
    const auto limit = static_cast<double>(trigger.what.rising_pct);
    if (avg60 <= limit) {
        trigger.beyond_since = 0;
    } else if (trigger.beyond_since == 0) {
        trigger.beyond_since = now;
    }
    const bool long_enough =
        trigger.beyond_since != 0 && now - trigger.beyond_since >= trigger.what.during_ns;
    const bool falling = avg10 < trigger.last_avg10 * kFastFall;
    trigger.last_avg10 = avg10;
    if (!long_enough || avg10 <= limit || falling || now < trigger.quiet_until) return;
    ++trigger.fired;
    trigger.quiet_until = now + kQuietNs;
}

void Triggers::take(wire::Writer& log, std::uint32_t iteration) const {
    for (std::size_t i = 0; i < count_; ++i) {
        if (!triggers_[i].open) continue;
        log.value(triggers_[i].what.metric, static_cast<double>(triggers_[i].fired), iteration);
    }
}

}  // namespace mano::agent
