// SPDX-License-Identifier: GPL-2.0-or-later
#include "kernels/range.h"

#include <algorithm>
#include <chrono>
#include <set>

#include "kernels/apt.h"
#include "kernels/cache.h"

namespace mano::kernels {
namespace {

constexpr std::string_view kPrefix = "debian:";
constexpr std::string_view kDots = "..";
constexpr std::chrono::seconds kIndexAge = std::chrono::hours(24);

struct Range {
    std::string from, to, flavour;
    bool precise = false;  // by version, not by series
};

std::size_t dots_in(std::string_view version) {
    return static_cast<std::size_t>(std::count(version.begin(), version.end(), '.'));
}

Result<Range> parse_range(std::string_view spec) {
    const std::size_t dots = spec.find(kDots);
    if (!is_range(spec)) {
        return fail(Code::invalid, "'{}': expected debian:FROM..TO, as in debian:6.1..7.3", spec);
    }
    MANO_ASSIGN(const DebianSpec from, parse_debian_spec(spec.substr(0, dots)));
    MANO_ASSIGN(const DebianSpec to,
                parse_debian_spec(std::string(kPrefix) + std::string(spec.substr(dots + 2))));
    if (compare_versions(from.version, to.version) > 0) {
        return fail(Code::invalid, "'{}': {} is newer than {}, expected the older end first", spec,
                    from.version, to.version);
    }
    return Range{from.version, to.version, to.flavour,
                 dots_in(from.version) > 1 || dots_in(to.version) > 1};
}

// "7.1.13" → "7.1", "7.3~rc7" → "7.3".
std::string series(std::string_view upstream) {
    const std::size_t dot = upstream.find('.');
    return std::string(upstream.substr(0, upstream.find_first_of(".~", dot + 1)));
}

// Is `version` at most `end`, of which it may be a later point: 7.1.13 belongs to ..7.1.
bool reaches(std::string_view version, std::string_view end) {
    return compare_versions(version, end) <= 0 || version.starts_with(std::string(end) + ".");
}

}  // namespace

bool is_range(std::string_view spec) {
    return spec.starts_with(kPrefix) && spec.find(kDots) != std::string_view::npos;
}

Result<std::vector<std::string>> range_of(std::string_view spec,
                                          const std::vector<DebianKernel>& kernels) {
    MANO_ASSIGN(const Range range, parse_range(spec));
    const auto older = [](const std::string& a, const std::string& b) {
        return compare_versions(a, b) < 0;
    };
    std::set<std::string, decltype(older)> found(older);
    for (const DebianKernel& one : kernels) {
        if (one.flavour != range.flavour || one.upstream.find('.') == std::string::npos) continue;
        if (range.precise && one.candidate) continue;
        const std::string name = range.precise ? one.upstream : series(one.upstream);
        if (compare_versions(name, range.from) >= 0 && reaches(name, range.to)) found.insert(name);
    }
    if (found.empty()) {
        return fail(Code::not_found, "{}: Debian's archive has no such kernel; it has: {}", spec,
                    series_of(kernels, range.flavour));
    }
    std::vector<std::string> specs;
    for (const std::string& name : found)
        specs.push_back(std::string(kPrefix) + name +
                        (range.flavour == "cloud" ? "" : "-" + range.flavour));
    return specs;
}

Result<std::vector<std::string>> expand_range(std::string_view spec, const Options& options) {
    MANO_TRY(parse_range(spec));
    const Cache cache(options.cache);
    const Apt apt(cache.root() / "apt", options.system_apt);
    const auto age = apt.age();
    const bool old = !age || *age < std::chrono::seconds(0) || *age > kIndexAge;
    if (old && !options.offline) {
        const auto done = apt.refresh(options);
        // An old list is better than none; what is missing from it is named when it is fetched.
        if (!done && (done.error().code == Code::interrupted || !apt.index())) {
            return wrap(done.error(), "{}", spec);
        }
    }
    std::vector<DebianKernel> kernels =
        debian_kernels(apt.index().value_or(std::vector<Package>{}));
    for (const DebianEntry& entry : cache.all_debian()) {
        DebianKernel cached;
        cached.release = entry.release;
        cached.flavour = entry.flavour;
        cached.upstream = upstream_of(entry.version);
        cached.candidate = cached.upstream.find("~rc") != std::string::npos;
        kernels.push_back(std::move(cached));
    }
    if (kernels.empty()) {
        return fail(Code::environment,
                    "{}: Debian's list of kernels isn't here yet; `manometer kernel add NAME "
                    "debian:7.3` fetches it with a kernel, and so does a run",
                    spec);
    }
    return range_of(spec, kernels);
}

}  // namespace mano::kernels
