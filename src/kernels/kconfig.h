// SPDX-License-Identifier: GPL-2.0-or-later
// Configuration fragments → one list of wanted settings; a kernel's finished .config and Kconfig
// files → which of them didn't stick, and why. Reads Kconfig only to explain: what an option needs,
// not what the kernel's own tools make of it. Called by lab_build.cpp.
//
// A fragment has the lines of a .config ("CONFIG_A=y", "# CONFIG_B is not set", also "CONFIG_B=n"),
// comments, and "#@ from 6.12", "#@ before 6.12", "#@ all", which say for which kernels the lines
// behind them are.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace mano::kernels {

// "7.3" of a kernel's Makefile.
struct Series {
    unsigned version = 0;
    unsigned patchlevel = 0;
    auto operator<=>(const Series&) const = default;
    std::string text() const { return fmt::format("{}.{}", version, patchlevel); }
};
// "7.3", also "7.3.4" and "7.3-rc1"; nullopt when it doesn't begin so.
std::optional<Series> parse_series(std::string_view text);

struct Setting {
    std::string option;  // without "CONFIG_"
    std::string value;   // "y", "m", "n", "250", "\"-lab\""
    std::string where;   // "base.config:12"
};

// Code::invalid names file, line and what was expected.
Result<std::vector<Setting>> parse_fragment(std::string_view text, std::string_view name,
                                            Series kernel);

struct Merged {
    std::vector<Setting> settings;   // each option once, sorted by option
    std::vector<std::string> notes;  // a sentence for each setting that a later fragment replaced
};
Merged merge_settings(const std::vector<std::vector<Setting>>& fragments);
// As a file for KCONFIG_ALLCONFIG.
std::string settings_text(const std::vector<Setting>& settings);

// option → value of a finished .config; what is "not set" is "n".
using Config = std::map<std::string, std::string>;
Config parse_config(std::string_view text);

// The Kconfig files of one kernel for one architecture.
class Kconfig {
  public:
    // `tree`: the kernel's source. Files that can't be read are left out: less can be explained.
    static Kconfig read(const std::filesystem::path& tree, std::string_view architecture = "x86");
    Kconfig();
    Kconfig(Kconfig&&) noexcept;
    Kconfig& operator=(Kconfig&&) noexcept;
    ~Kconfig();

    bool has(std::string_view option) const;
    // The option with the most similar name; empty when none is similar.
    std::string nearest(std::string_view option) const;
    // Why `config` doesn't have this setting, a sentence.
    std::string explain(const Setting& setting, const Config& config) const;

  private:
    struct Tables;
    std::unique_ptr<Tables> tables_;
};

// Value of a Kconfig expression ("A && (B=y || !C)"): 0 n, 1 m, 2 y. nullopt: it can't be read.
std::optional<int> evaluate_kconfig(std::string_view expression, const Config& config);

// One line for each setting that isn't so in `config`: where it stands, what came out, and why.
// Empty: all stuck.
std::vector<std::string> unmet_settings(const std::vector<Setting>& settings, const Config& config,
                                        const Kconfig& kconfig);

}  // namespace mano::kernels
