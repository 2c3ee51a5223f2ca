// SPDX-License-Identifier: GPL-2.0-or-later
#include "substrate/trial_log.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>

#include "substrate/guest/console.h"

namespace mano::substrate {
namespace {

using measure::Ending;

// Of all endings, those that an agent can know; the others are the host's to find.
bool may_tell(std::uint16_t ending) {
    switch (static_cast<Ending>(ending)) {
        case Ending::probe_refused:
        case Ending::worker_oom_killed:
        case Ending::probe_oom_killed:
        case Ending::precondition_missing:
        case Ending::pressure_missed:
        case Ending::harness_fault:
        case Ending::probe_failed:
            return true;
        default:
            return false;
    }
}

}  // namespace

Result<LogMemory> LogMemory::make(const Fd& file, std::uint64_t bytes, std::string_view name) {
    if (::ftruncate(file.get(), static_cast<off_t>(bytes)) != 0) return fail_errno(errno, name);
    void* mapped = ::mmap(nullptr, bytes, PROT_READ, MAP_SHARED, file.get(), 0);
    if (mapped == MAP_FAILED) return fail_errno(errno, name);
    LogMemory memory;
    memory.memory_ = {static_cast<const std::byte*>(mapped), bytes};
    return memory;
}

LogMemory::~LogMemory() {
    if (!memory_.empty()) ::munmap(const_cast<std::byte*>(memory_.data()), memory_.size());
}

std::string TrialLog::where() const {
    switch (reader_.phase()) {
        case wire::Phase::boot:
            return "boot";
        case wire::Phase::setup:
            return "setup";
        case wire::Phase::pressure:
            return "pressure";
        case wire::Phase::probe:
            return fmt::format("probe {}", reader_.phase_step() + 1);
        case wire::Phase::done:
            return "end";
    }
    return "boot";
}

std::optional<End> TrialLog::note(const wire::Frame& frame) {
    if (frames_.empty() && frame.type != wire::FrameType::hello) {
        return End{Ending::log_torn, "the record log doesn't begin with a hello"};
    }
    if (frame.type != wire::FrameType::ending) return std::nullopt;
    const auto told = wire::as_ending(frame);
    if (!told || told_ || !may_tell(told->ending)) {
        return End{Ending::log_torn, "the record log tells an ending that no agent tells"};
    }
    told_ = End{static_cast<Ending>(told->ending), guest::clean(told->evidence)};
    return std::nullopt;
}

std::optional<End> TrialLog::read() {
    while (true) {
        auto frame = reader_.next();
        if (!frame) return End{Ending::log_torn, frame.error().text()};
        if (!*frame) return std::nullopt;
        if (auto end = note(**frame)) return end;
        frames_.push_back(std::move(**frame));
        if (!reader_.said_goodbye()) continue;
        if (reader_.lost_frames() > 0) {
            return End{Ending::log_full, fmt::format("the record log was full: {} records are lost",
                                                     reader_.lost_frames())};
        }
        return told_ ? *told_ : End{Ending::goodbye, {}};
    }
}

}  // namespace mano::substrate
