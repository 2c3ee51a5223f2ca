// SPDX-License-Identifier: GPL-2.0-or-later
// The readers of the table in importers.cpp: each turns one file's text into trials of the draft.
// All may be handed any bytes. Only for this folder.
#pragma once

#include "interchange/draft.h"

namespace mano::interchange {

Status read_csv(const Source& source, Draft& draft);
// stats.json, matrix.json, or a mail with the robot's table.
Status read_lkp(const Source& source, Draft& draft);
Status read_lkp_mail(const Source& source, Draft& draft);
Status read_stress_ng(const Source& source, Draft& draft);
// JSON (--json), histogram (-h) or the plain lines of -q.
Status read_cyclictest(const Source& source, Draft& draft);
// Text, -x or -j.
Status read_perf_stat(const Source& source, Draft& draft);
Status read_hyperfine(const Source& source, Draft& draft);
Status read_google_benchmark(const Source& source, Draft& draft);
Status read_go_benchmark(const Source& source, Draft& draft);
Status read_ftrace(const Source& source, Draft& draft);

// The files of an LKP result tree below `path`, or the file itself.
Result<std::vector<Source>> find_lkp_files(const std::string& path,
                                           const std::optional<std::string>& arm);
// The bytes of a file that a user named, bounded; Code::invalid when it can't be read.
Result<std::string> read_input(const std::string& path);

}  // namespace mano::interchange
