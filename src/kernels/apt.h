// SPDX-License-Identifier: GPL-2.0-or-later
// Debian's archive through apt, with a configuration of our own in the cache: the system's apt is
// neither read for packages nor changed. apt checks the signatures. Knows packages by name and
// version only, not what is in them. Called by fetch.cpp.
#pragma once

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "kernels/debian.h"
#include "kernels/kernel.h"

namespace mano::kernels {

// Where this machine gets Debian from, out of its own apt sources.
struct Mirror {
    std::string uri;
    std::optional<std::string> security_uri;
    std::optional<std::string> signed_by;  // as the sources say; the archive's keyring is preferred
};

// Reads sources.list, sources.list.d/*.list and *.sources below `etc_apt` (normally /etc/apt).
// Code::environment when none of them names a Debian suite.
Result<Mirror> find_mirror(const std::filesystem::path& etc_apt);

class Apt {
  public:
    // `folder` holds the private configuration (made when first needed).
    Apt(std::filesystem::path folder, std::filesystem::path etc_apt)
        : folder_(std::move(folder)), etc_apt_(std::move(etc_apt)) {}

    // The kernel packages of the last refresh; nullopt when there was none.
    std::optional<std::vector<Package>> index() const;
    // Since the last refresh that worked, and since the last try; nullopt: never.
    std::optional<std::chrono::seconds> age() const;
    std::optional<std::chrono::seconds> since_try() const;

    // Fetches the index anew. The caller holds no lock; this takes apt's own. When only some of the
    // suites could be had, the index has these and the text of the warning is returned.
    Result<std::optional<std::string>> refresh(const Options& options) const;

    // Downloads one package into `folder` (which exists) and returns its path. apt has checked it
    // against the signed index, and its sha256 is compared with the package's once more.
    Result<std::filesystem::path> download(const Package& package,
                                           const std::filesystem::path& folder,
                                           const Options& options) const;

  private:
    Status configure() const;
    Status rebuild_index(const Options& options) const;
    std::filesystem::path index_file() const { return folder_ / "kernels.packages"; }
    std::filesystem::path tried_file() const { return folder_ / "tried"; }

    std::filesystem::path folder_;
    std::filesystem::path etc_apt_;
};

}  // namespace mano::kernels
