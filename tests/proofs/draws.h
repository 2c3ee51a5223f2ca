// SPDX-License-Identifier: GPL-2.0-or-later
// Simulated values of the shapes that kernels give: smooth, with ties, mostly 0, with a heavy tail.
// For the proofs only.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/rng.h"

namespace mano::proofs {

double normal(Rng& rng);

struct Shape {
    std::string name;
    std::function<double(Rng&)> draw;  // one trial's value
    double median = 0, mean = 0;       // of the distribution
};
// Normal with 10 % spread around 100; lognormal; exponential; small counts.
std::vector<Shape> continuous_shapes();
// Counts that are 0 with probability `zeros`, else lognormal around 1,000 with `sigma`.
Shape zero_inflated(double zeros, double sigma);
// As the metrics of a run: one of the above, by turns.
double mixed(std::size_t metric, Rng& rng);

std::vector<double> draw(const Shape& shape, std::size_t n, Rng& rng);

}  // namespace mano::proofs
