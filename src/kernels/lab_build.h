// SPDX-License-Identifier: GPL-2.0-or-later
// A lab kernel's inputs, all known and hashed, → the kernel in the cache. Called by
// resolve_lab.cpp, which knows what is asked for and what is there.
#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "kernels/built.h"
#include "kernels/kconfig.h"
#include "kernels/lab_source.h"
#include "kernels/lab_spec.h"
#include "kernels/patch.h"

namespace mano::kernels {

struct PatchFile {
    std::string name;   // of the file, without its folder
    std::string exact;  // absolute path, or the name of a shipped one
    std::string bytes;
    std::string sha256;
    std::vector<Patch> patches;
};

struct LabInputs {
    LabSpec spec;
    LabSource source;
    std::vector<PatchFile> patches;
    Merged config;
    std::string cc;        // "gcc"
    std::string compiler;  // its identity
    std::string exact_spec;

    std::string inputs() const;  // hash of all but the compiler
    std::string key() const;     // hash of all
    // The same without the placebo.
    LabInputs base() const;
};

// Builds it, unless another process has done so meanwhile. Code::invalid: a patch doesn't fit, a
// setting didn't stick, the sources don't compile. Code::environment: disk, network, tools.
// Code::interrupted: stopped; the next call goes on.
Result<BuiltEntry> build_lab(const LabInputs& inputs, const Cache& cache, const Options& options);

// Two lists of `nm -n -S`: what a change of layout has moved.
struct LayoutDifference {
    // In both, of the same name, kind and size; and of these, at another address.
    std::size_t functions = 0, moved_functions = 0;
    std::size_t other_symbols = 0, moved_others = 0;
    std::vector<std::int64_t> moved_by;  // bytes by which many functions moved
    std::int64_t end_moved = 0;          // of the image: the memory that the kernel takes
    // In only one, or of another size: the first ten.
    std::vector<std::string> differing;
    std::size_t differing_count = 0;
    std::string text() const;  // a sentence
};
LayoutDifference compare_layout(std::string_view base, std::string_view other);

// The files by which placebo number N (from 1) differs from the base: padding between the
// kernel's parts, in its code and data, in whole units of the functions' alignment, without any
// symbol.
Result<Changes> placebo_changes(unsigned number, const ReadFile& read);

}  // namespace mano::kernels
