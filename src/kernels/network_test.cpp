// SPDX-License-Identifier: GPL-2.0-or-later
// Real kernels from Debian's archive. Needs the network (or a cache that has them) and is labelled
// so. MANO_TEST_CACHE says which cache to use; else it is the user's own.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <iostream>

#include "base/digest.h"
#include "base/file.h"
#include "kernels/kernel.h"

namespace mano::kernels {
namespace {

Options options() {
    Options out;
    const char* cache = std::getenv("MANO_TEST_CACHE");
    out.cache = cache != nullptr ? std::filesystem::path(cache) : cache_folder();
    return out;
}

struct Case {
    const char* spec;
    const char* release;  // begins so
    const char* ends;
    bool modules;
    std::vector<std::string> backend;  // what zram needs besides itself, as far as it is certain
};

void PrintTo(const Case& one, std::ostream* out) {
    *out << one.spec;
}

class Real : public testing::TestWithParam<Case> {};

TEST_P(Real, ResolvesWithAllThatAGuestNeeds) {
    const auto kernel = resolve(GetParam().spec, options());
    ASSERT_TRUE(kernel) << kernel.error().text();
    const Provenance& from = kernel->provenance;
    std::cout << GetParam().spec << ": " << from.release << ", " << from.compiler << "\n";
    EXPECT_TRUE(from.release.starts_with(GetParam().release)) << from.release;
    EXPECT_TRUE(from.release.ends_with(GetParam().ends)) << from.release;
    EXPECT_TRUE(from.banner.starts_with("Linux version " + from.release + " ")) << from.banner;
    EXPECT_THAT(from.compiler, testing::HasSubstr("gcc"));
    EXPECT_TRUE(kernel->pvh);
    ASSERT_TRUE(kernel->elf);
    EXPECT_GT(std::filesystem::file_size(*kernel->elf), 20'000'000U);
    EXPECT_EQ(sha256_file(kernel->image).value(), kernel->id);
    EXPECT_FALSE(from.packages.empty());
    EXPECT_EQ(resolve(from.exact_spec, options())->id, kernel->id);
    if (!GetParam().modules && !kernel->modules) {
        EXPECT_FALSE(from.notes.empty());
        return;
    }
    EXPECT_EQ(config_value(*kernel, "ZRAM").value(), "m");
    EXPECT_EQ(config_value(*kernel, "PSI").value(), "y");
    const auto modules =
        modules_for(*kernel, {"zram", "lz4", "lz4_compress", "zstd", "lzo-rle", "virtio_blk"});
    ASSERT_TRUE(modules) << modules.error().text();
    std::vector<std::string> names;
    for (const Module& one : *modules) {
        EXPECT_TRUE(
            one.bytes.starts_with("\x7f"
                                  "ELF"))
            << one.name;
        names.push_back(one.name);
    }
    const auto at = [&](const std::string& name) {
        return std::find(names.begin(), names.end(), name) - names.begin();
    };
    ASSERT_LT(at("zram"), static_cast<std::ptrdiff_t>(names.size()));
    for (const std::string& name : GetParam().backend)
        EXPECT_LT(at(name), at("zram")) << name;
}

INSTANTIATE_TEST_SUITE_P(
    Debian, Real,
    testing::Values(Case{"debian:7.3", "7.3.", "-cloud-amd64", true, {"lz4hc_compress"}},
                    Case{"debian:7.1", "7.1.", "-cloud-amd64", false, {}},
                    Case{
                        "debian:6.12", "6.12.", "-cloud-amd64", true, {"zsmalloc", "lz4_compress"}},
                    Case{"debian:6.1", "6.1.0-", "-cloud-amd64", true, {"zsmalloc"}},
                    Case{"debian:7.3-rt", "7.3.", "-rt-amd64", true, {"lz4hc_compress"}}),
    [](const auto& one) {
        std::string name = one.param.spec;
        std::replace_if(
            name.begin(), name.end(), [](unsigned char c) { return !std::isalnum(c); }, '_');
        return name;
    });

}  // namespace
}  // namespace mano::kernels
