// SPDX-License-Identifier: GPL-2.0-or-later
// The little that the agent needs of an operating system's comforts: fixed texts, small files,
// clocks. No allocation after start, no exception, no stdio. Knows nothing of plans or logs.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace mano::agent {

// A text that lives in itself. What doesn't fit is cut off; full() says so.
template <std::size_t N>
class Text {
  public:
    constexpr Text() = default;
    template <typename... Parts>
    constexpr explicit Text(const Parts&... parts) {
        (add(parts), ...);
    }
    constexpr Text& add(std::string_view part) {
        for (const char c : part) {
            if (size_ + 1 < N)
                data_[size_++] = c;
            else
                full_ = true;
        }
        data_[size_] = '\0';
        return *this;
    }
    Text& add(std::uint64_t number) {
        char digits[20];
        std::size_t count = 0;
        do {
            digits[count++] = static_cast<char>('0' + number % 10);
            number /= 10;
        } while (number != 0);
        while (count > 0)
            add(std::string_view(&digits[--count], 1));
        return *this;
    }
    Text& add(int number) {
        if (number < 0) add("-");
        return add(static_cast<std::uint64_t>(number < 0 ? -std::int64_t{number} : number));
    }
    Text& add(unsigned number) { return add(std::uint64_t{number}); }
    const char* c_str() const { return data_; }
    std::string_view view() const { return {data_, size_}; }
    operator std::string_view() const { return view(); }  // NOLINT: a text is a view of itself
    bool full() const { return full_; }
    bool empty() const { return size_ == 0; }

  private:
    char data_[N] = {};
    std::size_t size_ = 0;
    bool full_ = false;
};

using Path = Text<256>;

// Content of a small file in `buffer`, without the newline at its end; empty view with ok=false
// when it can't be read.
struct SmallFile {
    std::string_view text;
    bool ok = false;
    int error = 0;
};
SmallFile read_small(const char* path, std::span<char> buffer);
// 0, or errno.
int write_small(const char* path, std::string_view text);
// errno's name for those that probes meet ("ENOMEM"), else "errno 123".
Text<24> errno_name(int number);

// The number behind "Key:" or "key " at a line's start in a /proc text; `found` false: not there.
std::uint64_t number_after(std::string_view text, std::string_view key, bool& found);
// What stands in [brackets], as sysfs marks the chosen one; the whole text when nothing does.
std::string_view chosen(std::string_view text);

std::uint64_t now_ns();  // CLOCK_MONOTONIC
std::uint64_t cpu_ns();  // CPU time of this process
void sleep_ns(std::uint64_t ns);

// In a process just forked: it ends when `parent` does, or at once when that is gone already. On a
// live host the agent may be killed, and nobody of its crew outlives it.
void die_with(pid_t parent);

// An anonymous shared mapping, zeroed and faulted in; nullptr when memory is short.
void* shared_memory(std::size_t bytes);

}  // namespace mano::agent
