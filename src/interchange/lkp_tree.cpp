// SPDX-License-Identifier: GPL-2.0-or-later
// LKP's result trees: …/testcase/params/machine/rootfs/kconfig/compiler/commit/run/stats.json, with
// matrix.json beside the runs. A commit is an arm, a run a trial, what else differs a case.
#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <set>

#include "base/file.h"
#include "interchange/document.h"
#include "interchange/importers.h"

namespace mano::interchange {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxFiles = 10'000;
constexpr std::size_t kMaxEntries = 1'000'000;
constexpr int kMaxFolders = 12;  // levels below the path given

bool all_digits(std::string_view text) {
    return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

// The folders from the commit upwards, nearest first.
constexpr std::array<std::string_view, 7> kAxes{"commit",     "compiler",    "kconfig", "rootfs",
                                                "tbox_group", "path_params", "testcase"};

struct Found {
    fs::path file;
    fs::path commit;  // the folder of the commit
    std::uint64_t run = 0;
    bool matrix = false;
};

// Looks at each folder once, without following links out of the tree.
Status walk(const fs::path& folder, int depth, std::vector<Found>& found, std::size_t& entries) {
    if (depth > kMaxFolders) return {};
    std::error_code error;
    std::vector<fs::path> folders;
    for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
        if (++entries > kMaxEntries) {
            return fail(Code::invalid, "{}: more than {} entries; name the result root itself",
                        folder.string(), kMaxEntries);
        }
        std::error_code ignored;
        const bool link = it->is_symlink(ignored);
        const std::string name = it->path().filename().string();
        if (!link && it->is_directory(ignored)) folders.push_back(it->path());
        if (link || !it->is_regular_file(ignored)) continue;
        const std::string parent = folder.filename().string();
        if (name == "stats.json" && all_digits(parent) && parent.size() < 10) {
            found.push_back({it->path(), folder.parent_path(), *parse_whole(parent), false});
        } else if (name == "matrix.json" && !all_digits(parent)) {
            found.push_back({it->path(), folder, 0, true});
        }
        if (found.size() > kMaxFiles) {
            return fail(Code::invalid, "{}: more than {} results", folder.string(), kMaxFiles);
        }
    }
    if (error) {
        return fail(Code::invalid, "{}: {}", folder.string(), error.message());
    }
    std::sort(folders.begin(), folders.end());
    for (const fs::path& each : folders)
        MANO_TRY(walk(each, depth + 1, found, entries));
    return {};
}

// A matrix is made of the runs: it is taken only where they are gone.
void drop_made_matrices(std::vector<Found>& found) {
    std::set<fs::path> with_runs;
    for (const Found& each : found) {
        if (!each.matrix) with_runs.insert(each.commit);
    }
    std::erase_if(
        found, [&](const Found& each) { return each.matrix && with_runs.contains(each.commit); });
}

std::vector<std::string> axes_of(const Found& found, const fs::path& root) {
    std::vector<std::string> axes;
    fs::path at = fs::weakly_canonical(found.commit);
    const fs::path top = fs::weakly_canonical(root);
    for (std::size_t i = 0; i < kAxes.size(); ++i) {
        axes.push_back(at.filename().string());
        if (at == top || !at.has_parent_path() || at == at.parent_path()) break;
        at = at.parent_path();
    }
    axes.resize(kAxes.size());
    return axes;
}

// The axes that differ between the results, but for the commit, from the testcase down.
std::string case_of(const std::vector<std::string>& axes, const std::array<bool, 7>& differs) {
    std::string name;
    for (std::size_t i = kAxes.size(); i-- > 1;) {
        if (differs[i]) name += (name.empty() ? "" : "/") + axes[i];
    }
    return name;
}

Status read_stats(const Node& root, const Source& source, Draft& draft) {
    const Place place = root.place;
    MANO_ASSIGN(const std::uint32_t arm, draft.arm(source.arm.value_or(source.stem), place));
    MANO_ASSIGN(const std::uint32_t in_case, draft.case_(source.case_.value_or(""), place));
    MANO_ASSIGN(const std::uint32_t trial, draft.trial(arm, in_case, std::nullopt, place));
    for (const measure::Fact& fact : source.facts)
        draft.fact(trial, fact.key, fact.value);
    for (const auto& [key, value] : root.members) {
        if (key == "stats_source") continue;
        if (!value.is(Node::Kind::number)) {
            draft.lose(value.place,
                       fmt::format("{} is {}, expected a number", key, name_of(value.kind)));
            continue;
        }
        if (key == "last_state.is_incomplete_run" && value.number != 0) {
            draft.at(trial).record.ending = measure::Ending::harness_fault;
            draft.at(trial).record.evidence = "LKP says that this run is incomplete";
        }
        ForeignMetric what;
        what.unit = key.ends_with('%') ? "%" : "";
        what.meaning = "a metric of LKP";
        MANO_ASSIGN(const std::uint32_t metric, draft.metric(key, what, value.place));
        MANO_TRY(draft.value(trial, metric, value.number, value.place));
    }
    return {};
}

// How many runs a matrix has: the length of "stats_source", else of its longest list.
std::size_t runs_of(const Node& root) {
    if (const Node* const paths = root.find("stats_source"); paths != nullptr) {
        if (!paths->items.empty()) return paths->items.size();
    }
    std::size_t runs = 0;
    for (const auto& [key, value] : root.members)
        runs = std::max(runs, value.items.size());
    return runs;
}

Status read_matrix_row(const std::string& key, const Node& list,
                       const std::vector<std::uint32_t>& trials, std::uint64_t& zeros,
                       Draft& draft) {
    if (!list.is(Node::Kind::list)) {
        draft.lose(list.place, fmt::format("{} is {}, expected a list with a number for each run",
                                           key, name_of(list.kind)));
        return {};
    }
    if (list.items.size() > trials.size()) {
        return fail_at(draft.file(), list.place, "{} has {} values of {} runs", key,
                       list.items.size(), trials.size());
    }
    ForeignMetric what;
    what.unit = key.ends_with('%') ? "%" : "";
    what.meaning = "a metric of LKP";
    MANO_ASSIGN(const std::uint32_t metric, draft.metric(key, what, list.place));
    for (std::size_t i = 0; i < trials.size(); ++i) {
        if (i >= list.items.size()) {
            draft.lose(list.place, fmt::format("{} has no value of run {}", key, i));
            MANO_TRY(draft.value(trials[i], metric, std::nullopt, list.place));
            continue;
        }
        const Node& item = list.items[i];
        std::optional<double> value;
        if (item.is(Node::Kind::number)) value = item.number;
        if (!value) {
            draft.lose(item.place, fmt::format("{} of run {} is {}, expected a number", key, i,
                                               name_of(item.kind)));
        }
        if (value == 0) ++zeros;
        MANO_TRY(draft.value(trials[i], metric, value, item.place));
    }
    return {};
}

Status read_matrix(const Node& root, const Source& source, Draft& draft) {
    const Place place = root.place;
    constexpr std::size_t kMostRuns = 10'000;
    const std::size_t runs = runs_of(root);
    if (runs == 0) return fail_at(source.file, place, "a matrix without any run");
    if (runs > kMostRuns) return fail_at(source.file, place, "more than {} runs", kMostRuns);
    MANO_ASSIGN(const std::uint32_t arm, draft.arm(source.arm.value_or(source.stem), place));
    MANO_ASSIGN(const std::uint32_t in_case, draft.case_(source.case_.value_or(""), place));
    std::vector<std::uint32_t> trials;
    for (std::size_t i = 0; i < runs; ++i) {
        MANO_ASSIGN(const std::uint32_t trial, draft.trial(arm, in_case, std::nullopt, place));
        for (const measure::Fact& fact : source.facts)
            draft.fact(trial, fact.key, fact.value);
        trials.push_back(trial);
    }
    std::uint64_t zeros = 0;
    for (const auto& [key, list] : root.members) {
        if (key != "stats_source") MANO_TRY(read_matrix_row(key, list, trials, zeros, draft));
        if (key != "last_state.is_incomplete_run") continue;
        for (std::size_t i = 0; i < list.items.size() && i < trials.size(); ++i) {
            if (list.items[i].number == 0) continue;
            draft.at(trials[i]).record.ending = measure::Ending::harness_fault;
            draft.at(trials[i]).record.evidence = "LKP says that this run is incomplete";
        }
    }
    if (zeros > 0) {
        draft.lose(place, fmt::format("{} zeros: LKP's matrix also holds 0 where a run lacks a "
                                      "metric; the runs' stats.json would tell",
                                      zeros));
    }
    return {};
}

}  // namespace

Result<std::vector<Source>> find_lkp_files(const std::string& path,
                                           const std::optional<std::string>& arm) {
    std::error_code error;
    std::vector<Source> sources;
    if (!fs::is_directory(path, error)) {
        Source source;
        source.file = path;
        source.arm = arm;
        const fs::path parent = fs::path(path).parent_path();
        const bool in_run = all_digits(parent.filename().string());
        // …/COMMIT/3/stats.json and …/COMMIT/matrix.json: the folder names the arm.
        const fs::path named = in_run ? parent.parent_path() : parent;
        source.stem = fs::path(path).stem().string();
        if ((source.stem == "stats" || source.stem == "matrix") && !named.filename().empty()) {
            source.stem = named.filename().string();
        }
        sources.push_back(std::move(source));
        return sources;
    }
    std::vector<Found> found;
    std::size_t entries = 0;
    MANO_TRY(walk(path, 0, found, entries));
    drop_made_matrices(found);
    if (found.empty()) {
        return fail(Code::invalid,
                    "{}: no result of LKP below it; expected RUN/stats.json or matrix.json", path);
    }
    std::stable_sort(found.begin(), found.end(), [](const Found& a, const Found& b) {
        return std::tie(a.commit, a.run) < std::tie(b.commit, b.run);
    });
    std::vector<std::vector<std::string>> axes;
    for (const Found& each : found)
        axes.push_back(axes_of(each, path));
    // What was run tells cases apart wherever it differs; how a kernel was built only where one
    // commit was built in several ways: else it belongs to what is compared.
    std::array<bool, 7> differs{};
    for (std::size_t i = 0; i < kAxes.size(); ++i) {
        const bool built = kAxes[i] == "kconfig" || kAxes[i] == "compiler";
        std::map<std::string, std::set<std::string>> of_commit;
        for (const auto& each : axes)
            of_commit[built ? each[0] : std::string()].insert(each[i]);
        differs[i] = std::any_of(of_commit.begin(), of_commit.end(),
                                 [](const auto& each) { return each.second.size() > 1; });
    }
    for (std::size_t k = 0; k < found.size(); ++k) {
        Source source;
        source.file = found[k].file.string();
        source.arm = arm ? arm : std::optional(axes[k][0]);
        source.case_ = case_of(axes[k], differs);
        for (std::size_t i = 1; i < kAxes.size(); ++i) {
            if (!axes[k][i].empty())
                source.facts.push_back({"lkp." + std::string(kAxes[i]), axes[k][i]});
        }
        sources.push_back(std::move(source));
    }
    return sources;
}

Status read_lkp(const Source& source, Draft& draft) {
    std::string_view text = source.text;
    text.remove_prefix(std::min(text.find_first_not_of(" \t\r\n\xEF\xBB\xBF"), text.size()));
    if (!text.starts_with('{')) return read_lkp_mail(source, draft);
    MANO_ASSIGN(const Node root, parse_json(source.text, source.file));
    if (root.members.empty()) return fail_at(source.file, root.place, "no metric in it");
    const bool matrix = std::any_of(root.members.begin(), root.members.end(), [](const auto& each) {
        return each.first != "stats_source" && each.second.is(Node::Kind::list);
    });
    return matrix ? read_matrix(root, source, draft) : read_stats(root, source, draft);
}

}  // namespace mano::interchange
