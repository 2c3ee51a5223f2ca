// SPDX-License-Identifier: GPL-2.0-or-later
#include "kernels/built.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "kernels/resolve.h"

namespace mano::kernels {

namespace fs = std::filesystem;
using nlohmann::json;

namespace {

constexpr int kFormat = 1;
constexpr std::size_t kJsonLimit = std::size_t{4} << 20;

std::optional<fs::path> if_file(const fs::path& path) {
    std::error_code error;
    return fs::is_regular_file(path, error) ? std::optional(path) : std::nullopt;
}

std::optional<fs::path> if_folder(const fs::path& path) {
    std::error_code error;
    return fs::is_directory(path, error) ? std::optional(path) : std::nullopt;
}

BuiltEntry entry_of(const json& value) {
    using Texts = std::map<std::string, std::string>;
    BuiltEntry out;
    out.inputs = value.at("inputs").get<std::string>();
    out.workshop = value.at("workshop").get<std::string>();
    out.image_id = value.at("image").get<std::string>();
    out.spec = value.at("spec").get<std::string>();
    out.release = value.at("release").get<std::string>();
    out.compiler = value.at("compiler").get<std::string>();
    out.cc = value.at("cc").get<std::string>();
    out.source = value.at("source").get<std::string>();
    out.packages = value.at("packages").get<Texts>();
    out.sha256 = value.at("sha256").get<Texts>();
    out.notes = value.at("notes").get<std::vector<std::string>>();
    out.seconds = value.at("seconds").get<std::uint64_t>();
    out.objects = value.at("objects").get<std::uint64_t>();
    return out;
}

json json_of(const BuiltEntry& entry) {
    return {{"format", kFormat},          {"inputs", entry.inputs},  {"workshop", entry.workshop},
            {"image", entry.image_id},    {"spec", entry.spec},      {"release", entry.release},
            {"compiler", entry.compiler}, {"cc", entry.cc},          {"source", entry.source},
            {"packages", entry.packages}, {"sha256", entry.sha256},  {"notes", entry.notes},
            {"seconds", entry.seconds},   {"objects", entry.objects}};
}

}  // namespace

std::optional<BuiltEntry> built_entry(const Cache& cache, std::string_view key) {
    if (!hex_id(key)) return std::nullopt;
    const fs::path folder = cache.built() / key;
    const auto text = read_file(folder / "entry.json", kJsonLimit);
    if (!text) return std::nullopt;
    const json value = json::parse(*text, nullptr, false);
    if (!value.is_object() || value.value("format", 0) != kFormat) return std::nullopt;
    try {
        BuiltEntry out = entry_of(value);
        out.key = key;
        out.folder = folder;
        out.config = if_file(folder / "config");
        out.modules = if_folder(folder / "modules");
        out.devel = if_folder(folder / "devel");
        return out;
    } catch (const json::exception&) {
        return std::nullopt;
    }
}

std::vector<BuiltEntry> all_built(const Cache& cache) {
    std::vector<BuiltEntry> out;
    std::error_code error;
    for (fs::directory_iterator it(cache.built(), error), end; !error && it != end;
         it.increment(error)) {
        if (auto entry = built_entry(cache, it->path().filename().string())) {
            out.push_back(std::move(*entry));
        }
    }
    std::sort(out.begin(), out.end(), [](const BuiltEntry& a, const BuiltEntry& b) {
        return std::tie(a.spec, a.key) < std::tie(b.spec, b.key);
    });
    return out;
}

Result<BuiltEntry> store_built(const Cache& cache, const fs::path& folder,
                               const BuiltEntry& entry) {
    MANO_TRY(write_file_atomic(
        folder / "entry.json",
        json_of(entry).dump(1, ' ', false, json::error_handler_t::replace) + "\n"));
    const fs::path place = cache.built() / entry.key;
    MANO_TRY(publish(folder, place, [&] { return built_entry(cache, entry.key).has_value(); }));
    auto stored = built_entry(cache, entry.key);
    if (!stored) {
        return fail(Code::internal, "{} isn't readable after storing it", place.string());
    }
    return std::move(*stored);
}

std::optional<Kernel> kernel_of(const Cache& cache, const BuiltEntry& entry) {
    const auto image = cache.image(entry.image_id);
    if (!image) return std::nullopt;
    Kernel kernel = kernel_of(*image);
    Provenance& from = kernel.provenance;
    from.spec = entry.spec;
    from.exact_spec = entry.spec;
    from.packages = entry.packages;
    from.notes.insert(from.notes.end(), entry.notes.begin(), entry.notes.end());
    for (const auto& [what, digest] : entry.sha256)
        from.sha256[what] = digest;
    if (entry.modules) kernel.modules = entry.modules;
    if (entry.config) {
        kernel.config = entry.config;
        if (const auto digest = entry.sha256.find("config"); digest != entry.sha256.end()) {
            from.config_sha256 = digest->second;
        }
    }
    kernel.devel = entry.devel;
    return kernel;
}

void touch(const fs::path& folder) {
    std::error_code ignored;
    fs::last_write_time(folder, fs::file_time_type::clock::now(), ignored);
}

}  // namespace mano::kernels
