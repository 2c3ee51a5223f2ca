// SPDX-License-Identifier: GPL-2.0-or-later
// "source:7.3+fix.patch,rt" and "tree:../linux@v7.3" → their parts. Called by resolve_lab.cpp.
//
//   source:VERSION[+PATCH…][,OPTION…]     Debian's kernel source package
//   tree:DIR[@REV][+PATCH…][,OPTION…]     a revision of a git tree (HEAD unless said)
//
// OPTION: rt, numa, debug (fragments that ship with the program), config=FILE (the user's own),
// cc=PROGRAM, placebo[=N]. Each but config= at most once.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace mano::kernels {

struct LabSpec {
    bool tree = false;
    std::string version;                         // source: "7.3", "7.3.4-1~bpo13+1"
    std::filesystem::path folder;                // tree
    std::string revision = "HEAD";               // tree
    std::vector<std::string> patches;            // as written: paths, or names of shipped ones
    std::vector<std::string> fragments;          // "rt", "numa", "debug", in this order
    std::vector<std::filesystem::path> configs;  // the user's fragments
    std::string compiler;                        // empty: gcc
    unsigned placebo = 0;                        // 0: none; others are different layouts

    // Written again; paths as they are here.
    std::string text() const;
};

// Does it begin like one? ("source:…", "tree:…")
bool looks_like_lab_spec(std::string_view spec);

// Is there such a file, or folder? Where a path has a '+', ',' or '@' in it, that decides where it
// ends.
struct Exists {
    std::function<bool(const std::string&)> file;
    std::function<bool(const std::string&)> folder;
};
Exists exists_on_disk();

// Code::invalid says what was expected.
Result<LabSpec> parse_lab_spec(std::string_view spec, const Exists& exists = exists_on_disk());

}  // namespace mano::kernels
