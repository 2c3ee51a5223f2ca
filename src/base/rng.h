// SPDX-License-Identifier: GPL-2.0-or-later
// The only source of randomness: a seeded generator that gives the same row on every machine
// (std:: distributions don't). Used by plans, loads and resampling. No allocation, no exception:
// the agent uses it too.
#pragma once

#include <cstdint>

namespace mano {

// splitmix64 (Steele, Lea, Flood 2014, "Fast splittable pseudorandom number generators").
class Rng {
  public:
    explicit constexpr Rng(std::uint64_t seed) : state_(seed) {}

    constexpr std::uint64_t next() {
        state_ += 0x9e3779b97f4a7c15ULL;
        std::uint64_t z = state_;
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
        return z ^ (z >> 31);
    }

    // Uniform in [0, bound), without modulo bias (Lemire 2019). bound 0 gives 0.
    constexpr std::uint64_t below(std::uint64_t bound) {
        if (bound == 0) return 0;
        __extension__ using Wide = unsigned __int128;
        Wide product = static_cast<Wide>(next()) * bound;
        auto low = static_cast<std::uint64_t>(product);
        if (low < bound) {
            const std::uint64_t threshold = (0 - bound) % bound;
            while (low < threshold) {
                product = static_cast<Wide>(next()) * bound;
                low = static_cast<std::uint64_t>(product);
            }
        }
        return static_cast<std::uint64_t>(product >> 64);
    }

    // Uniform in [0, 1).
    constexpr double unit() { return static_cast<double>(next() >> 11) * 0x1.0p-53; }

    // A generator whose row is independent of this one's: for worker `index`.
    constexpr Rng split(std::uint64_t index) const {
        Rng mixed(state_ ^ (index + 1) * 0xd1342543de82ef95ULL);
        return Rng(mixed.next());
    }

  private:
    std::uint64_t state_;
};

// Fisher–Yates.
template <typename Range>
constexpr void shuffle(Range& range, Rng& rng) {
    for (std::uint64_t left = range.size(); left > 1; --left) {
        const std::uint64_t pick = rng.below(left);
        auto& a = range[left - 1];
        auto& b = range[pick];
        auto keep = a;
        a = b;
        b = keep;
    }
}

}  // namespace mano
