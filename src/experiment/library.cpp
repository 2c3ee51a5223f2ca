// SPDX-License-Identifier: GPL-2.0-or-later
// Experiments by name: those built in, and files.
#include <algorithm>
#include <filesystem>

#include "base/file.h"
#include "experiment/embedded.h"
#include "experiment/experiment.h"
#include "experiment/faults.h"

namespace mano::experiment {
namespace {

constexpr std::size_t kMaxFile = std::size_t{256} << 10;

// "idle.toml" → "idle"
std::string_view name_of(const Embedded& one) {
    return one.name.substr(0, one.name.find('.'));
}

}  // namespace

std::vector<std::string> built_in_names() {
    std::vector<std::string> names;
    for (const Embedded& one : embedded_experiments())
        names.emplace_back(name_of(one));
    std::sort(names.begin(), names.end());
    return names;
}

Result<Experiment> load(std::string_view name_or_path) {
    const bool is_path =
        name_or_path.find('/') != std::string_view::npos || name_or_path.ends_with(".toml");
    if (is_path) {
        std::error_code unreadable;  // read_file says what
        const auto kind = std::filesystem::status(std::string(name_or_path), unreadable).type();
        if (kind == std::filesystem::file_type::fifo || kind == std::filesystem::file_type::socket)
            return fail(Code::invalid, "{} is no regular file", name_or_path);
        MANO_ASSIGN(const std::string text, read_file(std::string(name_or_path), kMaxFile));
        return parse(text, name_or_path);
    }
    for (const Embedded& one : embedded_experiments()) {
        if (name_of(one) != name_or_path) continue;
        MANO_ASSIGN(Experiment found, parse(one.text, one.name));
        found.source = "built-in";
        return found;
    }
    const std::vector<std::string> names = built_in_names();
    const std::vector<std::string_view> views(names.begin(), names.end());
    return fail(Code::not_found, "no experiment '{}', {} (or a path to a .toml file)",
                name_or_path.substr(0, 64), expected_one_of(name_or_path, views));
}

}  // namespace mano::experiment
