// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/kernel_json.h"

#include <nlohmann/json.hpp>

namespace mano::cli {

using nlohmann::json;

namespace {

json text_or_null(const std::string& text) {
    return text.empty() ? json(nullptr) : json(text);
}

}  // namespace

json kernel_to_json(const kernels::Kernel& kernel) {
    const kernels::Provenance& from = kernel.provenance;
    std::error_code gone;  // a cache that was emptied meanwhile
    const auto bytes = std::filesystem::file_size(kernel.image, gone);
    return {{"id", kernel.id},
            {"image_bytes", gone ? json(nullptr) : json(bytes)},
            {"spec", from.spec},
            {"exact_spec", text_or_null(from.exact_spec)},
            {"release", text_or_null(from.release)},
            {"banner", text_or_null(from.banner)},
            {"compiler", text_or_null(from.compiler)},
            {"packages", from.packages},
            {"sha256", from.sha256},
            {"config_sha256", from.config_sha256 ? json(*from.config_sha256) : json(nullptr)},
            {"modules", kernel.modules.has_value()},
            {"pvh", kernel.pvh},
            {"notes", from.notes}};
}

std::string kernel_json_text(const kernels::Kernel& kernel) {
    return kernel_to_json(kernel).dump(-1, ' ', false, json::error_handler_t::replace);
}

std::optional<StoredKernel> stored_kernel(std::string_view json_text) {
    const json value = json::parse(json_text, nullptr, false);
    if (!value.is_object()) return std::nullopt;
    const auto text = [&](const char* key) {
        const auto found = value.find(key);
        return found != value.end() && found->is_string() ? found->get<std::string>()
                                                          : std::string();
    };
    StoredKernel stored{text("id"), text("spec"), text("exact_spec"), text("release")};
    if (stored.exact_spec.empty()) stored.exact_spec = stored.spec;
    if (stored.id.empty() || stored.exact_spec.empty()) return std::nullopt;
    return stored;
}

}  // namespace mano::cli
