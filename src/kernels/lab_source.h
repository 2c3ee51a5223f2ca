// SPDX-License-Identifier: GPL-2.0-or-later
// The source that a LabSpec names: one of Debian's packages or a git revision, found and identified
// without unpacking it, and put into a workshop when a kernel is built of it. Called by
// resolve_lab.cpp and lab_build.cpp.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "kernels/debian.h"
#include "kernels/git_source.h"
#include "kernels/kconfig.h"
#include "kernels/lab_spec.h"
#include "kernels/workshop.h"

namespace mano::kernels {

struct LabSource {
    std::string identity;   // equal for equal files: package and sha256, or git's tree
    std::string workshop;   // name of the workshop that it is built in
    std::string described;  // for people: "linux-source-7.3 7.3.4-1~bpo13+1"
    std::string exact;      // the beginning of a SPEC that gives it again
    Series series;
    std::optional<Package> package;
    std::optional<GitRevision> git;
    std::vector<std::string> notes;
};

// All that match, the best first; for a git tree one. Never empty. With options.offline only what
// the last index and the cache know. Code::not_found: none matches, with those there are.
Result<std::vector<LabSource>> find_sources(const LabSpec& spec, const Cache& cache,
                                            const Options& options);

// Downloads and unpacks it into the workshop, unless it is there.
Status put_source(Workshop& workshop, const LabSource& source, const Cache& cache,
                  const Options& options);

// "source:7.3" matches 7.3.4-1~bpo13+1; "source:7.3.4-1~bpo13+1" that package alone.
bool source_matches(std::string_view wanted, const Package& package);

}  // namespace mano::kernels
