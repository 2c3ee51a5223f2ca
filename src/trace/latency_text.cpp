// SPDX-License-Identifier: GPL-2.0-or-later
#include "trace/latency_text.h"

#include <charconv>
#include <cmath>

namespace mano::trace {
namespace {

constexpr std::size_t kMaxLine = 64 * 1024;
constexpr std::size_t kMaxWord = 200;

std::string_view trim(std::string_view text) {
    const std::size_t first = text.find_first_not_of(" \t\r");
    if (first == std::string_view::npos) return {};
    return text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

template <typename T>
std::optional<T> number_at(std::string_view text) {
    text = trim(text);
    T value{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end == text.data()) return std::nullopt;
    if constexpr (std::is_floating_point_v<T>) {
        if (!std::isfinite(value)) return std::nullopt;
    }
    return value;
}

// What follows `key` in `text`.
template <typename T>
std::optional<T> number_behind(std::string_view text, std::string_view key) {
    const std::size_t at = text.find(key);
    if (at == std::string_view::npos) return std::nullopt;
    return number_at<T>(text.substr(at + key.size()));
}

// Names go into tables and JSON: printable ASCII, bounded.
std::string name_of(std::string_view text) {
    std::string name(text.substr(0, kMaxWord));
    for (char& c : name) {
        if (c < ' ' || c > '~') c = '?';
    }
    return name;
}

// "stress-n-232" or "<idle>-0": the last hyphen stands before the pid.
std::optional<std::int32_t> pid_of(std::string_view task) {
    const std::size_t hyphen = task.rfind('-');
    if (hyphen == std::string_view::npos) return std::nullopt;
    return number_at<std::int32_t>(task.substr(hyphen + 1));
}

// An entry: "stress-n-232   0dn.h413   12us : what", in older kernels also with the time and its
// mark apart, in verbose form without "us".
struct Entry {
    std::string_view task, flags, what;
};
std::optional<Entry> split_entry(std::string_view line) {
    // The time ends in "us" and a mark ('+', '!', '#', '*', '@', '$' or ' '), then ':'.
    std::size_t us = line.find("us");
    while (us != std::string_view::npos) {
        const std::size_t colon = line.find(':', us);
        const bool digit = us > 0 && line[us - 1] >= '0' && line[us - 1] <= '9';
        if (digit && colon != std::string_view::npos && colon - us <= 4) break;
        us = line.find("us", us + 2);
    }
    if (us == std::string_view::npos) return std::nullopt;
    Entry entry;
    entry.what = trim(line.substr(line.find(':', us) + 1));
    std::string_view head = line.substr(0, us);
    while (!head.empty() && ((head.back() >= '0' && head.back() <= '9') || head.back() == '.'))
        head.remove_suffix(1);
    // "0d...3.. 1671" runs together where the time is wide: the blank before it ends the flags.
    head = trim(head);
    const std::size_t blank = head.find_last_of(" \t");
    if (blank == std::string_view::npos) return std::nullopt;
    entry.flags = head.substr(blank + 1);
    entry.task = trim(head.substr(0, blank));
    // "(task-pid )" of the oldest form has blanks inside.
    if (entry.task.empty() || !pid_of(entry.task)) return std::nullopt;
    while (!entry.flags.empty() && entry.flags.front() >= '0' && entry.flags.front() <= '9')
        entry.flags.remove_prefix(1);
    return entry;
}

class Parser {
  public:
    Parser(std::string_view text, std::string_view file) : text_(text), file_(file) {}

    Result<std::vector<LatencyTrace>> run() {
        while (!text_.empty()) {
            const std::size_t end = text_.find('\n');
            std::string_view line = text_.substr(0, end);
            text_.remove_prefix(end == std::string_view::npos ? text_.size() : end + 1);
            ++number_;
            if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
            if (line.size() > kMaxLine) {
                return fail(Code::hostile, "{}:{}:1: a line of {} bytes, expected at most {}",
                            file_, number_, line.size(), kMaxLine);
            }
            MANO_TRY(take(line));
        }
        MANO_TRY(end_trace());
        if (traces_.empty()) {
            return fail(
                Code::hostile,
                "{}:1:1: no latency trace in it: expected the text of a tracefs file "
                "\"trace\" or \"snapshot\" under a latency tracer (\"# tracer: wakeup_rt\", "
                "\"# latency: 123 us\")",
                file_);
        }
        return std::move(traces_);
    }

  private:
    Status take(std::string_view line) {
        const std::string_view all = trim(line);
        if (all.empty()) return {};
        // Headers of 2.6 kernels have no '#'.
        const std::string_view body = all.front() == '#' ? trim(all.substr(1)) : all;
        if (body.starts_with("tracer:")) {
            MANO_TRY(end_trace());
            MANO_TRY(begin(name_of(trim(body.substr(7)))));
            return {};
        }
        if (const std::size_t at = body.find(" latency trace v");
            at != std::string_view::npos && body.find(" on ") != std::string_view::npos) {
            return title(body, at);
        }
        if (!open_) return {};  // text before the first trace
        if (all.front() == '#' || body.starts_with("latency:") || body.starts_with("|"))
            return header(body);
        if (all.starts_with("=>")) {
            if (stack_ != nullptr && stack_->size() < kMaxStackDepth) {
                stack_->push_back(name_of(function_name(all.substr(2))));
            }
            return {};
        }
        entry(line);
        return {};
    }

    // "wakeup_rt latency trace v1.1.5 on 6.5.0-rt6"
    Status title(std::string_view body, std::size_t at) {
        const std::string tracer = name_of(trim(body.substr(0, at)));
        if (!open_ || seen_title_) {
            MANO_TRY(end_trace());
            MANO_TRY(begin(tracer));
        }
        seen_title_ = true;
        if (now_.tracer.empty()) now_.tracer = tracer;
        now_.kernel = name_of(trim(body.substr(body.find(" on ") + 4)));
        return {};
    }

    Status begin(std::string tracer) {
        if (traces_.size() >= kMaxLatencyTraces) {
            return fail(Code::hostile, "{}:{}:1: more than {} traces", file_, number_,
                        kMaxLatencyTraces);
        }
        open_ = true;
        seen_title_ = seen_latency_ = false;
        now_ = {};
        now_.line = number_;
        now_.tracer = std::move(tracer);
        last_stack_.clear();
        stack_ = nullptr;
        functions_.clear();
        return {};
    }

    Status header(std::string_view body) {
        if (body.starts_with("latency:")) {
            const auto latency = number_behind<double>(body, "latency:");
            if (!latency || *latency < 0) {
                return fail(Code::hostile, "{}:{}:1: no number behind \"latency:\"", file_,
                            number_);
            }
            now_.latency_us = *latency;
            seen_latency_ = true;
            now_.cpu = number_behind<std::uint32_t>(body, "CPU#");
            if (const std::size_t at = body.find("(M:"); at != std::string_view::npos) {
                now_.model = name_of(body.substr(at + 3, body.find_first_of(" ,)", at) - at - 3));
            }
        }
        if (const std::size_t at = body.find("task:");
            at != std::string_view::npos && now_.task.empty()) {
            const std::string_view rest = trim(body.substr(at + 5));
            // A task's own name may hold blanks and brackets: the last "(uid:" ends it.
            const std::size_t uid = rest.rfind("(uid:");
            now_.task = name_of(trim(rest.substr(0, uid)));
            now_.pid = pid_of(now_.task);
            now_.policy = number_behind<std::int32_t>(rest, "policy:");
            now_.rt_priority = number_behind<std::int32_t>(rest, "rt_prio:");
        }
        return {};
    }

    void entry(std::string_view line) {
        const auto found = split_entry(line);
        if (!found) {
            ++now_.odd_lines;
            return;
        }
        ++now_.entries;
        stack_ = nullptr;
        if (found->what == "<stack trace>") {
            last_stack_.clear();
            stack_ = &last_stack_;
            now_.culprit_task = name_of(found->task);
            now_.flags = name_of(found->flags);
            return;
        }
        // "func <-caller" of the function tracer, or "func" alone.
        const std::size_t arrow = found->what.find(" <-");
        const bool one_word = found->what.find(' ') == std::string_view::npos &&
                              found->what.find_first_of(":0123456789") != 0;
        if (arrow == std::string_view::npos && !one_word) return;
        Function function;
        function.stack.push_back(name_of(function_name(found->what.substr(0, arrow))));
        if (arrow != std::string_view::npos) {
            function.stack.push_back(name_of(function_name(found->what.substr(arrow + 3))));
        }
        function.task = name_of(found->task);
        function.flags = name_of(found->flags);
        constexpr std::size_t kKept = 64;
        if (functions_.size() >= kKept) functions_.erase(functions_.begin());
        functions_.push_back(std::move(function));
    }

    Status end_trace() {
        if (!open_) return {};
        if (!seen_latency_) {
            // An empty trace of another tracer ("# tracer: nop") says nothing, and isn't a fault
            // when it comes before the one that does.
            if (now_.entries == 0 && now_.tracer == "nop") {
                open_ = false;
                return {};
            }
            return fail(Code::hostile,
                        "{}:{}:1: the trace of \"{}\" has no line \"# latency: … us\": is it a "
                        "latency tracer's, and whole?",
                        file_, now_.line, now_.tracer);
        }
        if (!last_stack_.empty()) {
            now_.stack = std::move(last_stack_);
            now_.culprit = culprit_of(now_.stack);
        } else {
            now_.culprit_task.clear();
            now_.flags.clear();
            for (auto at = functions_.rbegin(); at != functions_.rend() && !now_.culprit; ++at) {
                now_.culprit = culprit_of(at->stack);
                if (!now_.culprit) continue;
                now_.stack = at->stack;
                now_.culprit_task = at->task;
                now_.flags = at->flags;
            }
        }
        traces_.push_back(std::move(now_));
        open_ = false;
        stack_ = nullptr;
        last_stack_.clear();
        return {};
    }

    struct Function {
        std::vector<std::string> stack;
        std::string task, flags;
    };
    std::string_view text_, file_;
    std::uint64_t number_ = 0;
    bool open_ = false, seen_title_ = false, seen_latency_ = false;
    LatencyTrace now_;
    std::vector<std::string> last_stack_;
    std::vector<std::string>* stack_ = nullptr;  // where "=>" lines go
    std::vector<Function> functions_;            // the last ones
    std::vector<LatencyTrace> traces_;
};

}  // namespace

Result<std::vector<LatencyTrace>> read_latency_text(std::string_view text, std::string_view file) {
    return Parser(text, file).run();
}

}  // namespace mano::trace
