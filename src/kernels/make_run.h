// SPDX-License-Identifier: GPL-2.0-or-later
// Runs the kernel's make: its output → a log file, progress, and, when it fails, the first error in
// it. Knows nothing of what is built. Called by lab_build.cpp and module_build.cpp.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "kernels/kernel.h"

namespace mano::kernels {

struct Make {
    std::filesystem::path folder;        // where make runs (-C)
    std::vector<std::string> arguments;  // targets, VARIABLE=value
    std::filesystem::path log;           // appended to
    std::string cc;                      // "gcc", "clang-14"
    std::filesystem::path ccache;        // folder of the compiler cache; used where there is one
    std::filesystem::path relative_to;   // paths below it count as equal for the compiler cache
    std::string what;                    // "building 7.3.4", for progress
    std::uint64_t expected = 0;          // objects; 0: unknown
    bool log_is_new = true;              // begins the log afresh
};

struct MakeResult {
    std::uint64_t objects = 0;  // compiled
    double seconds = 0;
};

// Code::interrupted: stopped, and make has taken away what was half done. Code::environment: a
// program is missing, the disk is full, or the compiler was killed. Code::invalid: the sources
// don't compile; the message has the first error and the log's path.
Result<MakeResult> run_make(const Make& make, const Options& options);

// One line of make's output: is it an object that was compiled ("  CC      mm/page_alloc.o")?
bool counts_as_object(std::string_view line);

// The first error in a build's log with the lines that belong to it, at most `most` lines; empty:
// there is none that is known.
struct FirstError {
    std::string text;
    Code code = Code::invalid;  // environment: disk full, compiler killed, a program is missing
};
std::optional<FirstError> first_error(std::string_view log, std::size_t most = 8);

// What identifies a compiler: "gcc (Debian 12.2.0-14) 12.2.0, GNU ld (GNU Binutils for
// Debian) 2.40". Code::environment when it, or the linker, isn't there, with what to install.
Result<std::string> compiler_identity(const std::string& cc, const Options& options);

// The programs and headers that building a kernel needs and that aren't here, by the Debian
// packages that have them ("flex", "libelf-dev"); for doctor, and before a build begins.
std::vector<std::string> missing_build_packages();

}  // namespace mano::kernels
