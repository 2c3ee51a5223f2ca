// SPDX-License-Identifier: GPL-2.0-or-later
#include "draws.h"

#include <fmt/format.h>

#include <cmath>

namespace mano::proofs {

double normal(Rng& rng) {
    return std::sqrt(-2 * std::log(1 - rng.unit())) * std::cos(2 * M_PI * rng.unit());
}

std::vector<Shape> continuous_shapes() {
    return {{"normal", [](Rng& rng) { return 100 + 10 * normal(rng); }, 100, 100},
            {"lognormal", [](Rng& rng) { return 100 * std::exp(0.5 * normal(rng)); }, 100,
             100 * std::exp(0.125)},
            {"exponential", [](Rng& rng) { return -100 * std::log(1 - rng.unit()); },
             100 * std::log(2), 100}};
}

Shape zero_inflated(double zeros, double sigma) {
    return {fmt::format("{:.0f}% zeros, sigma {}", 100 * zeros, sigma),
            [zeros, sigma](Rng& rng) {
                return rng.unit() < zeros ? 0 : std::round(1000 * std::exp(sigma * normal(rng)));
            },
            0, (1 - zeros) * 1000 * std::exp(sigma * sigma / 2)};
}

double mixed(std::size_t metric, Rng& rng) {
    switch (metric % 5) {
        case 0:
            return 5000 + 900 * normal(rng);
        case 1:
            return std::floor(200 + 3 * normal(rng));  // ties
        case 2:
            return rng.below(10) < 6 ? 0 : std::floor(std::exp(6 + 1.5 * normal(rng)));
        case 3:
            return std::exp(5 + 2 * normal(rng));
        default:
            return static_cast<double>(rng.below(4));
    }
}

std::vector<double> draw(const Shape& shape, std::size_t n, Rng& rng) {
    std::vector<double> values(n);
    for (double& value : values)
        value = shape.draw(rng);
    return values;
}

}  // namespace mano::proofs
