// SPDX-License-Identifier: GPL-2.0-or-later
// Huge pages that the pressure has in use when the probe starts. A kernel that has them and one
// that hasn't don't do the same work, whatever their knobs say. docs/methods.md.
#include <algorithm>
#include <charconv>
#include <cmath>

#include "report/internal.h"

namespace mano::report {
namespace {

constexpr std::string_view kPmdInUse = "meminfo.AnonHugePages";
constexpr double kPmdBytes = 2097152;
// A few huge pages of the guest's own programs come and go.
constexpr double kShareOfMemory = 0.01;
constexpr double kRelative = 0.10;

// "mthp.64kB.nr_anon" → 65536.
std::optional<double> folio_bytes(std::string_view name) {
    constexpr std::string_view kBefore = "mthp.";
    constexpr std::string_view kAfter = "kB.nr_anon";
    if (!name.starts_with(kBefore) || !name.ends_with(kAfter)) return std::nullopt;
    const std::string_view digits =
        name.substr(kBefore.size(), name.size() - kBefore.size() - kAfter.size());
    double kib = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), kib);
    if (error != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
    return kib * 1024;
}

struct InUse {
    std::optional<double> pmd, smaller;  // bytes; null: this kernel doesn't say
};

// Before the first iteration's probe.
InUse before_probe(const FoldedTrial& folded) {
    InUse found;
    for (const measure::Sample& sample : folded.trial->record.samples) {
        if (sample.moment != measure::Moment::before || sample.iteration != 0U || !sample.value) {
            continue;
        }
        if (sample.metric == kPmdInUse) {
            found.pmd = sample.value;
        } else if (const auto bytes = folio_bytes(sample.metric)) {
            // Folios of the PMD's size are in the other figure.
            if (*bytes < kPmdBytes)
                found.smaller = found.smaller.value_or(0) + *bytes * *sample.value;
        }
    }
    return found;
}

void check(const plan::Plan& plan, std::string_view what,
           const std::vector<std::optional<double>>& in_use, CaseReport& report) {
    if (std::none_of(in_use.begin(), in_use.end(), [](const auto& each) { return each; })) return;
    Equivalence row;
    row.check = what;
    // On a live host it is everybody's, not what the harness brought about: told, never a gate.
    row.gate = plan.substrate != "live" &&
               std::none_of(plan.expected_differences.begin(), plan.expected_differences.end(),
                            [&](const std::string& pattern) { return matches(pattern, what); });
    for (std::size_t arm = 0; arm < in_use.size(); ++arm) {
        row.values.push_back(in_use[arm] ? fmt::format("{:.1f} MiB", *in_use[arm] / 1048576)
                                         : "unknown");
        if (arm == 0 || !in_use[0] || !in_use[arm]) continue;
        const double allowed =
            std::max(kShareOfMemory * static_cast<double>(plan.shape.memory_bytes),
                     kRelative * std::min(*in_use[0], *in_use[arm]));
        if (std::fabs(*in_use[0] - *in_use[arm]) <= allowed) continue;
        row.same = false;
        if (!row.gate) continue;
        auto& reason = report.not_comparable_arms[arm];
        reason = (reason ? *reason + "; " : "") +
                 fmt::format("{} differs: {} / {}", what, row.values[0], row.values[arm]);
        if (!report.not_comparable) report.not_comparable = reason;
    }
    report.equivalence.push_back(std::move(row));
}

}  // namespace

void check_in_use(const plan::Plan& plan, const std::vector<std::vector<FoldedTrial>>& cell,
                  CaseReport& report) {
    std::vector<std::optional<double>> pmd;
    std::vector<std::optional<double>> smaller;
    for (const auto& trials : cell) {
        std::vector<double> of_pmd;
        std::vector<double> of_smaller;
        for (const FoldedTrial& folded : trials) {
            const InUse found = before_probe(folded);
            if (found.pmd) of_pmd.push_back(*found.pmd);
            if (found.smaller) of_smaller.push_back(*found.smaller);
        }
        pmd.push_back(stats::median(of_pmd));
        smaller.push_back(stats::median(of_smaller));
    }
    check(plan, "state.thp_in_use", pmd, report);
    check(plan, "state.mthp_in_use", smaller, report);
}

}  // namespace mano::report
