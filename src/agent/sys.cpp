// SPDX-License-Identifier: GPL-2.0-or-later
#include "agent/sys.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>

namespace mano::agent {

SmallFile read_small(const char* path, std::span<char> buffer) {
    const int fd = ::open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return {{}, false, errno};
    std::size_t size = 0;
    int error = 0;
    while (size < buffer.size()) {
        const ssize_t got = ::read(fd, buffer.data() + size, buffer.size() - size);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) error = errno;
        if (got <= 0) break;
        size += static_cast<std::size_t>(got);
    }
    ::close(fd);
    if (error != 0) return {{}, false, error};
    while (size > 0 && buffer[size - 1] == '\n')
        --size;
    return {{buffer.data(), size}, true, 0};
}

int write_small(const char* path, std::string_view text) {
    const int fd = ::open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0) return errno;
    ssize_t done = 0;
    do {
        done = ::write(fd, text.data(), text.size());
    } while (done < 0 && errno == EINTR);
    const int error = done < 0 ? errno : 0;
    ::close(fd);
    return error;
}

Text<24> errno_name(int number) {
    switch (number) {
        case ENOMEM:
            return Text<24>("ENOMEM");
        case EPERM:
            return Text<24>("EPERM");
        case EACCES:
            return Text<24>("EACCES");
        case EINVAL:
            return Text<24>("EINVAL");
        case ENOENT:
            return Text<24>("ENOENT");
        case ENOSPC:
            return Text<24>("ENOSPC");
        case EAGAIN:
            return Text<24>("EAGAIN");
        case EBUSY:
            return Text<24>("EBUSY");
        case ENODEV:
            return Text<24>("ENODEV");
        case ENOSYS:
            return Text<24>("ENOSYS");
        case EOPNOTSUPP:
            return Text<24>("EOPNOTSUPP");
        case EFAULT:
            return Text<24>("EFAULT");
        case EEXIST:
            return Text<24>("EEXIST");
        case ENOEXEC:
            return Text<24>("ENOEXEC");
        default:
            return Text<24>("errno ", number);
    }
}

std::uint64_t number_after(std::string_view text, std::string_view key, bool& found) {
    found = false;
    std::size_t line = 0;
    while (line < text.size()) {
        std::size_t end = text.find('\n', line);
        if (end == std::string_view::npos) end = text.size();
        std::string_view rest = text.substr(line, end - line);
        line = end + 1;
        if (!rest.starts_with(key)) continue;
        rest.remove_prefix(key.size());
        if (rest.empty() || (rest[0] != ':' && rest[0] != ' ' && rest[0] != '\t')) continue;
        while (!rest.empty() && (rest[0] == ':' || rest[0] == ' ' || rest[0] == '\t')) {
            rest.remove_prefix(1);
        }
        std::uint64_t number = 0;
        for (; !rest.empty() && rest[0] >= '0' && rest[0] <= '9'; rest.remove_prefix(1)) {
            number = number * 10 + static_cast<std::uint64_t>(rest[0] - '0');
            found = true;
        }
        return number;
    }
    return 0;
}

std::string_view chosen(std::string_view text) {
    const std::size_t open = text.find('[');
    const std::size_t close = text.find(']');
    if (open == std::string_view::npos || close == std::string_view::npos || close < open) {
        return text;
    }
    return text.substr(open + 1, close - open - 1);
}

namespace {

std::uint64_t clock_ns(clockid_t clock) {
    timespec now = {};
    ::clock_gettime(clock, &now);
    return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 +
           static_cast<std::uint64_t>(now.tv_nsec);
}

}  // namespace

std::uint64_t now_ns() {
    return clock_ns(CLOCK_MONOTONIC);
}
std::uint64_t cpu_ns() {
    return clock_ns(CLOCK_PROCESS_CPUTIME_ID);
}

void sleep_ns(std::uint64_t ns) {
    timespec left = {static_cast<time_t>(ns / 1'000'000'000),
                     static_cast<long>(ns % 1'000'000'000)};
    while (::nanosleep(&left, &left) != 0 && errno == EINTR) {
    }
}

void die_with(pid_t parent) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) ::_exit(1);
}

void* shared_memory(std::size_t bytes) {
    void* memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                          MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    return memory == MAP_FAILED ? nullptr : memory;
}

}  // namespace mano::agent
