// SPDX-License-Identifier: GPL-2.0-or-later
#include "substrate/guest/accel.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "base/file.h"

namespace mano::substrate::guest {
namespace {

using ::testing::HasSubstr;

// What is known without a boot depends on this machine's /dev/kvm; both kinds are told apart.
class KnownKvm : public ::testing::Test {
  protected:
    void SetUp() override {
        auto made = TempFolder::make(std::filesystem::temp_directory_path(), "mano-kvm-");
        ASSERT_TRUE(made);
        folder_ = std::move(*made);
        opens_ = ::access("/dev/kvm", R_OK | W_OK) == 0;
    }
    // The one answer that a proof would leave behind, for this QEMU on this host.
    void remember(std::string_view text) {
        const auto before = known_kvm(qemu_, cache());
        ASSERT_FALSE(before) << "nothing is known yet";
        ASSERT_TRUE(write_file_atomic(kvm_answer_file(qemu_, cache()), text));
    }
    std::filesystem::path cache() const { return folder_.path(); }

    Qemu qemu_{"/usr/bin/qemu-system-x86_64", "7.2.22"};
    TempFolder folder_;
    bool opens_ = false;
};

TEST_F(KnownKvm, WithoutADeviceTheAnswerIsNo) {
    if (opens_) GTEST_SKIP() << "this machine has a /dev/kvm that opens";
    const auto answer = known_kvm(qemu_, cache());
    ASSERT_TRUE(answer);
    EXPECT_FALSE(answer->usable);
    EXPECT_THAT(answer->reason, HasSubstr("/dev/kvm"));
}

TEST_F(KnownKvm, AnOpenDeviceProvesNothing) {
    if (!opens_) GTEST_SKIP() << "this machine has no /dev/kvm that opens";
    EXPECT_FALSE(known_kvm(qemu_, cache()));
}

TEST_F(KnownKvm, TheAnswerIsRemembered) {
    if (!opens_) GTEST_SKIP() << "this machine has no /dev/kvm that opens";
    remember("usable\n");
    auto answer = known_kvm(qemu_, cache());
    ASSERT_TRUE(answer);
    EXPECT_TRUE(answer->usable);
    EXPECT_TRUE(answer->remembered);
    ASSERT_TRUE(write_file_atomic(kvm_answer_file(qemu_, cache()), "hangs\n"));
    answer = known_kvm(qemu_, cache());
    ASSERT_TRUE(answer);
    EXPECT_FALSE(answer->usable);
    EXPECT_THAT(answer->reason, HasSubstr("TCG"));
}

TEST_F(KnownKvm, AnotherQemuIsAnotherQuestion) {
    const Qemu other{"/usr/bin/qemu-system-x86_64", "10.0.2"};
    EXPECT_NE(kvm_answer_file(qemu_, cache()), kvm_answer_file(other, cache()));
    if (!opens_) GTEST_SKIP() << "this machine has no /dev/kvm that opens";
    remember("usable\n");
    EXPECT_FALSE(known_kvm(other, cache()));
}

// A guest that says hello, one that is silent, and a host so busy that nobody can know.
TEST_F(KnownKvm, ABootProvesIt) {
    if (!opens_) GTEST_SKIP() << "this machine has no /dev/kvm that opens";
    struct Play {
        const char* part;
        std::uint64_t boot_ns;
        std::uint64_t wall_ns;
        bool usable;
        bool remembered;
    };
    constexpr std::uint64_t kLong = 20'000'000'000;
    constexpr std::uint64_t kShort = 300'000'000;
    const Qemu fake{MANO_FAKE_QEMU, "0"};
    for (const Play& play :
         {Play{"mute", kLong, kShort, false, false}, Play{"mute", kShort, kLong, false, true},
          Play{"deaf", kLong, kLong, true, true}}) {
        std::filesystem::remove_all(cache() / "kvm");
        kernels::Kernel kernel;
        kernel.image = play.part;
        const auto answer = prove_kvm(fake, kernel, cache(), {}, play.boot_ns, play.wall_ns);
        ASSERT_TRUE(answer) << answer.error().text();
        EXPECT_EQ(answer->usable, play.usable) << answer->reason;
        EXPECT_EQ(known_kvm(fake, cache()).has_value(), play.remembered) << answer->reason;
    }
}

// A file that something else wrote there is no "usable".
TEST_F(KnownKvm, RubbishIsNotAYes) {
    if (!opens_) GTEST_SKIP() << "this machine has no /dev/kvm that opens";
    remember("maybe");
    const auto answer = known_kvm(qemu_, cache());
    EXPECT_TRUE(!answer || !answer->usable);
}

}  // namespace
}  // namespace mano::substrate::guest
