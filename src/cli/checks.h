// SPDX-License-Identifier: GPL-2.0-or-later
// What `doctor` looks at, as values. Reads files and starts `qemu --version`; changes nothing.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace mano::cli {

struct Check {
    std::string name;
    std::optional<bool> found;  // nullopt: can't be known without trying
    bool required = false;      // for `run`
    std::string detail;
    std::string mend;  // the one line that mends it, when it is missing
};

std::vector<Check> check_machine(const std::filesystem::path& store);

}  // namespace mano::cli
