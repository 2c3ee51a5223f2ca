// SPDX-License-Identifier: GPL-2.0-or-later
#include "kernels/shipped.h"

namespace mano::kernels {

std::optional<std::string_view> shipped_file(std::string_view path) {
    for (const Embedded& file : shipped_files()) {
        if (file.name == path) return file.text;
    }
    return std::nullopt;
}

std::vector<std::string> shipped_names(std::string_view folder) {
    std::vector<std::string> out;
    const std::string prefix = std::string(folder) + "/";
    for (const Embedded& file : shipped_files()) {
        if (file.name.starts_with(prefix)) out.emplace_back(file.name.substr(prefix.size()));
    }
    return out;
}

}  // namespace mano::kernels
