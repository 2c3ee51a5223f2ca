// SPDX-License-Identifier: GPL-2.0-or-later
// A revision of the user's git tree → the files of that revision. Reads the repository and writes
// nothing into it, neither into the checkout nor into .git: files come through `git archive`, no
// index is refreshed, and objects that git might store (of a partial clone) go to a folder of ours.
// Called by lab_source.cpp.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "kernels/kernel.h"
#include "kernels/workshop.h"

namespace mano::kernels {

struct GitRevision {
    std::filesystem::path folder;    // as given, made absolute
    std::filesystem::path git_dir;   // the repository's own folder, where its objects are
    std::string commit;              // 40 (or 64) hex digits
    std::string tree;                // of the files
    std::string described;           // "v7.3-12-g0123456789ab", or the commit's beginning
    std::vector<std::string> notes;  // shallow clone; changes that aren't committed
};

// Code::not_found: no such folder or revision (saying so when the clone is shallow).
// Code::invalid: no git tree, or its files aren't Linux. Code::environment: git is missing or
// refuses (a folder of another user).
Result<GitRevision> find_revision(const std::filesystem::path& folder, std::string_view revision,
                                  const std::filesystem::path& scratch, const Options& options);

// Brings the workshop's tree to that revision: all of it, or only what differs from the revision
// that is there.
Status checkout(Workshop& workshop, const GitRevision& revision,
                const std::filesystem::path& scratch, const Options& options);

}  // namespace mano::kernels
