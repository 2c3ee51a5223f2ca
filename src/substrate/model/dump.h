// SPDX-License-Identifier: GPL-2.0-or-later
// The texts of a running machine's zoneinfo, buddyinfo and pagetypeinfo → the model's machine and
// the state of its zones. The texts are hostile: bounded, each fault named by file, line and
// column. Called by the model substrate; does no I/O but read_dump_folder().
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "model/arrange.h"

namespace mano::substrate::model {

struct DumpTexts {
    std::string zoneinfo, buddyinfo, pagetypeinfo;
};

struct Dump {
    mano::model::MachineShape shape;            // nodes, zones, CPUs; min_free_kbytes as found
    std::vector<mano::model::ZoneState> zones;  // in the machine's order: by node, lowest first
    std::uint64_t managed = 0;                  // pages of all zones
    std::vector<std::string> remarks;           // what of the dump isn't in the model
};

// Code::invalid names what is wrong and where.
Result<Dump> read_dump(const DumpTexts& texts);

// "<folder>/zoneinfo" and so on, as copied from /proc. Code::invalid when one can't be read (only
// root may read pagetypeinfo).
Result<DumpTexts> read_dump_folder(const std::filesystem::path& folder);

}  // namespace mano::substrate::model
