// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/units.h"

#include <array>
#include <charconv>
#include <cmath>

namespace mano {
namespace {

struct Split {
    double number;
    std::string_view unit;
};

// Decimal number, optional blanks, unit. No sign, no exponent: these are settings people type.
Result<Split> split_number(std::string_view text) {
    double number = 0;
    const auto [end, error] =
        std::from_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed);
    if (error != std::errc{} || !std::isfinite(number) || text.starts_with('-')) {
        return fail(Code::invalid, "'{}' is not a number with a unit", text);
    }
    std::string_view unit(end, static_cast<std::size_t>(text.data() + text.size() - end));
    while (unit.starts_with(' '))
        unit.remove_prefix(1);
    return Split{number, unit};
}

Result<std::uint64_t> scale(double number, double factor, std::string_view text) {
    const double scaled = std::round(number * factor);
    if (!(scaled < 9.2e18)) return fail(Code::invalid, "'{}' is too large", text);
    return static_cast<std::uint64_t>(scaled);
}

}  // namespace

Result<Bytes> parse_bytes(std::string_view text) {
    MANO_ASSIGN(const Split split, split_number(text));
    struct Unit {
        std::string_view name;
        std::uint64_t factor;
    };
    static constexpr std::array kUnits{Unit{"", 1},       Unit{"B", 1},     Unit{"K", kKiB},
                                       Unit{"KiB", kKiB}, Unit{"kB", kKiB}, Unit{"M", kMiB},
                                       Unit{"MiB", kMiB}, Unit{"G", kGiB},  Unit{"GiB", kGiB}};
    for (const Unit& unit : kUnits) {
        if (unit.name != split.unit) continue;
        MANO_ASSIGN(const std::uint64_t bytes,
                    scale(split.number, static_cast<double>(unit.factor), text));
        return Bytes{bytes};
    }
    return fail(Code::invalid, "'{}': unknown unit '{}' (expected B, KiB, MiB or GiB)", text,
                split.unit);
}

Result<std::uint64_t> parse_duration_ns(std::string_view text) {
    MANO_ASSIGN(const Split split, split_number(text));
    struct Unit {
        std::string_view name;
        double factor;
    };
    static constexpr std::array kUnits{Unit{"ns", 1},  Unit{"us", 1e3},   Unit{"ms", 1e6},
                                       Unit{"s", 1e9}, Unit{"min", 6e10}, Unit{"h", 3.6e12}};
    for (const Unit& unit : kUnits) {
        if (unit.name == split.unit) return scale(split.number, unit.factor, text);
    }
    if (split.unit.empty()) {
        return fail(Code::invalid, "'{}': unit missing (expected ns, us, ms, s, min or h)", text);
    }
    return fail(Code::invalid, "'{}': unknown unit '{}' (expected ns, us, ms, s, min or h)", text,
                split.unit);
}

Result<std::int64_t> parse_share_ppm(std::string_view text) {
    MANO_ASSIGN(const Split split, split_number(text));
    double factor = 0;
    if (split.unit.empty()) factor = 1e6;
    if (split.unit == "%") factor = 1e4;
    if (factor == 0) return fail(Code::invalid, "'{}': expected a share such as 90% or 0.9", text);
    MANO_ASSIGN(const std::uint64_t ppm, scale(split.number, factor, text));
    return static_cast<std::int64_t>(ppm);
}

std::string show_bytes(std::uint64_t bytes) {
    struct Unit {
        std::uint64_t factor;
        const char* name;
    };
    static constexpr std::array kUnits{Unit{kGiB, "GiB"}, Unit{kMiB, "MiB"}, Unit{kKiB, "KiB"}};
    for (const Unit& unit : kUnits) {
        if (bytes < unit.factor) continue;
        if (bytes % unit.factor == 0) return fmt::format("{} {}", bytes / unit.factor, unit.name);
        return fmt::format(
            "{:.1f} {}", static_cast<double>(bytes) / static_cast<double>(unit.factor), unit.name);
    }
    return fmt::format("{} B", bytes);
}

std::string show_duration_ns(std::uint64_t ns) {
    const auto value = static_cast<double>(ns);
    if (ns < 1'000) return fmt::format("{} ns", ns);
    if (ns < 1'000'000) return fmt::format("{:.3g} us", value / 1e3);
    if (ns < 1'000'000'000) return fmt::format("{:.3g} ms", value / 1e6);
    if (ns < 60'000'000'000) return fmt::format("{:.1f} s", value / 1e9);
    const std::uint64_t seconds = (ns + 500'000'000) / 1'000'000'000;
    if (seconds < 3600) return fmt::format("{} min {} s", seconds / 60, seconds % 60);
    return fmt::format("{} h {} min", seconds / 3600, seconds / 60 % 60);
}

}  // namespace mano
