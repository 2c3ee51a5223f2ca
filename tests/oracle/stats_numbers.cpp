// SPDX-License-Identifier: GPL-2.0-or-later
// Reads datasets from standard input, prints what mano::stats makes of them: one JSON value a line,
// all digits. For the oracle tests only. A line is
//   two N a1 … aN M b1 … bM     two samples: summaries, rank test, shift
//   fisher k1 n1 k2 n2
//   adjust N p1 … pN            Holm, then Benjamini–Hochberg
//   pairs N a1 … aN N b1 … bN   signed rank, sign-flip, shift of pairs, Spearman
//   counts N a1 … aN M b1 … bM  permutation of totals, Fisher of zeros
//   bca N r1 … rN 1 t N u1 … uN M v1 … vM   the BCa interval of resampled estimates
#include <fmt/format.h>

#include <iostream>
#include <sstream>
#include <string>
#include <vector>

#include "stats/bootstrap.h"
#include "stats/paired.h"
#include "stats/permutation.h"
#include "stats/stats.h"

namespace {

using mano::stats::Interval;

std::vector<double> read_values(std::istream& in) {
    std::size_t n = 0;
    in >> n;
    std::vector<double> values(n);
    for (double& value : values)
        in >> value;
    return values;
}

std::string show(double value) {
    return fmt::format("{:.17g}", value);
}
std::string show(const std::optional<double>& value) {
    return value ? show(*value) : "null";
}
std::string show(const std::optional<Interval>& interval) {
    return interval ? fmt::format("[{},{}]", show(interval->first), show(interval->second))
                    : "null";
}
std::string show(const std::vector<double>& values) {
    std::string text;
    for (const double value : values) {
        if (!text.empty()) text += ',';
        text += show(value);
    }
    return fmt::format("[{}]", text);
}
std::string show(const mano::stats::Summary& s) {
    return fmt::format(
        R"({{"n":{},"total":{},"mean":{},"median":{},"sd":{},"psd":{},"ci95":{},"coverage":{}}})",
        s.n, show(s.total), show(s.mean), show(s.median), show(s.stddev_sample),
        show(s.stddev_population), show(s.ci95), show(s.ci95_coverage));
}

std::string two_samples(std::istream& in) {
    const std::vector<double> a = read_values(in);
    const std::vector<double> b = read_values(in);
    const auto test = mano::stats::mann_whitney(a, b);
    const auto shift = mano::stats::hodges_lehmann(a, b);
    return fmt::format(
        R"({{"a":{},"b":{},"test":"{}","p":{},"best":{},"shift":{},"ci95":{},"coverage":{}}})",
        show(mano::stats::summarize(a)), show(mano::stats::summarize(b)), test.name, show(test.p),
        show(test.best_attainable_p), shift ? show(shift->estimate) : "null",
        shift ? show(shift->ci95) : "null", shift ? show(shift->coverage) : "null");
}

std::string pairs(std::istream& in) {
    const std::vector<double> a = read_values(in);
    const std::vector<double> b = read_values(in);
    const auto ranks = mano::stats::compare_pairs(a, b, false);
    const auto signs = mano::stats::compare_pairs(a, b, true);
    return fmt::format(
        R"({{"test":"{}","p":{},"flip":"{}","flip_p":{},"shift":{},"ci95":{},"rho":{}}})",
        ranks.test.name, show(ranks.test.p), signs.test.name, show(signs.test.p), show(ranks.shift),
        show(ranks.shift_ci95), show(ranks.correlation));
}

std::string counts(std::istream& in) {
    const std::vector<double> a = read_values(in);
    const std::vector<double> b = read_values(in);
    const auto tests = mano::stats::count_tests(a, b);
    return fmt::format(R"({{"test":"{}","totals":{},"zeros":{},"both":{}}})", tests.totals.name,
                       show(tests.totals.p), show(tests.zeros.p), show(tests.both.p));
}

std::string bca(std::istream& in) {
    std::vector<double> resampled = read_values(in);
    const std::vector<double> estimate = read_values(in);
    const std::vector<std::vector<double>> left_out{read_values(in), read_values(in)};
    return fmt::format(R"({{"ci95":{}}})", show(mano::stats::bca_interval(
                                               std::move(resampled), estimate.at(0), left_out)));
}

}  // namespace

int main() {
    std::string line;
    while (std::getline(std::cin, line)) {
        std::istringstream in(line);
        std::string what;
        in >> what;
        if (what == "two") {
            std::cout << two_samples(in) << '\n';
        } else if (what == "fisher") {
            std::uint64_t k1 = 0, n1 = 0, k2 = 0, n2 = 0;
            in >> k1 >> n1 >> k2 >> n2;
            const auto test = mano::stats::fisher_exact(k1, n1, k2, n2);
            std::cout << fmt::format("{{\"p\":{}}}\n", show(test.p));
        } else if (what == "adjust") {
            const std::vector<double> p = read_values(in);
            std::cout << fmt::format("{{\"holm\":{},\"bh\":{}}}\n", show(mano::stats::holm(p)),
                                     show(mano::stats::benjamini_hochberg(p)));
        } else if (what == "pairs") {
            std::cout << pairs(in) << '\n';
        } else if (what == "counts") {
            std::cout << counts(in) << '\n';
        } else if (what == "bca") {
            std::cout << bca(in) << '\n';
        } else {
            std::cerr << "unknown line: " << line << '\n';
            return 1;
        }
    }
    return 0;
}
