// SPDX-License-Identifier: GPL-2.0-or-later
// The formats that are read, and how a file comes to its reader.
#include "interchange/importers.h"

#include <algorithm>
#include <array>
#include <filesystem>

#include "base/file.h"

namespace mano::interchange {
namespace {

constexpr std::size_t kMaxInputBytes = std::size_t{512} << 20;

constexpr std::array<Importer, 9> kImporters{{
    {"csv", "", "long CSV, as export csv writes it", read_csv},
    {"lkp", "lkp-tests", "LKP: result trees, stats.json, matrix.json, a mail with its table",
     read_lkp},
    {"stress-ng", "", "stress-ng --metrics --yaml FILE", read_stress_ng},
    {"cyclictest", "rt-tests", "cyclictest --json=FILE, -h histogram, or -q", read_cyclictest},
    {"perf-stat", "perf", "perf stat, as text, with -x or with -j", read_perf_stat},
    {"hyperfine", "", "hyperfine --export-json FILE", read_hyperfine},
    {"google-benchmark", "gbench", "Google Benchmark's JSON", read_google_benchmark},
    {"gobench", "benchstat", "Go's benchmark text", read_go_benchmark},
    {"ftrace", "latency-trace", "a latency tracer's trace (wakeup_rt, irqsoff, ...)", read_ftrace},
}};

std::string stem_of(const std::string& path) {
    const std::string stem = std::filesystem::path(path).stem().string();
    return stem.empty() ? "imported" : stem;
}

// "before=runs/1.json": an arm and a path, unless there is a file of the whole name.
struct Named {
    std::optional<std::string> arm;
    std::string path;
};
Named split_name(const std::string& word, const std::optional<std::string>& arm) {
    const std::size_t equals = word.find('=');
    std::error_code ignored;
    if (equals == std::string::npos || equals == 0 || std::filesystem::exists(word, ignored) ||
        word.substr(0, equals).find('/') != std::string::npos) {
        return {arm, word};
    }
    return {word.substr(0, equals), word.substr(equals + 1)};
}

// A file that ends within a line may have lost the rest of it. JSON shows by its last bracket that
// it is whole.
void note_cut(const Source& source, Draft& draft) {
    const std::string_view text = source.text;
    if (text.empty() || text.back() == '\n' || text.back() == '}' || text.back() == ']') return;
    draft.lose(place_of(text, text.size()),
               "the last line has no line end: the file may be cut off there");
}

}  // namespace

std::span<const Importer> importers() {
    return kImporters;
}

const Importer* find_importer(std::string_view name) {
    const auto* const found =
        std::find_if(kImporters.begin(), kImporters.end(), [&](const Importer& each) {
            return each.name == name || (!each.alias.empty() && each.alias == name);
        });
    return found == kImporters.end() ? nullptr : found;
}

Result<std::string> read_input(const std::string& path) {
    auto text = read_file(path, kMaxInputBytes);
    if (!text) return fail(Code::invalid, "{}", text.error().text());
    return std::move(*text);
}

Result<Imported> import_text(const Importer& importer, std::string_view text,
                             const ImportOptions& options) {
    Draft draft(std::string(importer.name), options);
    Source source;
    source.file = options.file;
    source.arm = options.arm;
    source.stem = stem_of(options.file);
    source.text = text;
    MANO_TRY(importer.read(source, draft));
    note_cut(source, draft);
    return draft.finish();
}

Result<Imported> import_paths(const Importer& importer, std::span<const std::string> paths,
                              const ImportOptions& options) {
    Draft draft(std::string(importer.name), options);
    for (const std::string& word : paths) {
        const Named named = split_name(word, options.arm);
        std::vector<Source> sources;
        if (importer.name == "lkp") {
            MANO_ASSIGN(sources, find_lkp_files(named.path, named.arm));
        } else {
            Source source;
            source.file = named.path;
            source.arm = named.arm;
            source.stem = stem_of(named.path);
            sources.push_back(std::move(source));
        }
        for (Source& source : sources) {
            // One at a time: a tree of results may be larger than memory.
            MANO_ASSIGN(source.text, read_input(source.file));
            draft.begin_file(source.file);
            MANO_TRY(importer.read(source, draft));
            note_cut(source, draft);
            source.text = {};
        }
    }
    return draft.finish();
}

}  // namespace mano::interchange
