// SPDX-License-Identifier: GPL-2.0-or-later
// The guest substrate: a trial is one boot of a kernel in a throwaway QEMU guest.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kernels/kernel.h"
#include "substrate/guest/accel.h"
#include "substrate/guest/vm.h"
#include "substrate/substrate.h"

namespace mano::substrate::guest {

struct Options {
    std::filesystem::path cache;  // cache_folder() unless a test says otherwise
    std::uint64_t log_bytes = std::uint64_t{32} << 20;
    Limits limits;               // wall_ns comes from the plan where that sets it
    std::function<bool()> stop;  // asked while KVM is proved and modules are built
    kernels::Progress progress;  // of building modules; may be empty
};

class GuestSubstrate : public Substrate {
  public:
    explicit GuestSubstrate(Options options) : options_(std::move(options)) {}

    Status prepare(const plan::Plan& plan, const std::vector<kernels::Kernel>& kernels) override;
    Identity identity() const override { return identity_; }
    std::vector<std::string> remarks() const override { return remarks_; }
    std::pair<unsigned, std::string> jobs(const plan::Plan& plan, unsigned wanted) const override;
    Result<measure::TrialRecord> run(const TrialRequest& request, const TrialProgress& progress,
                                     const std::function<bool()>& stop) override;

    // How building of modules is shown; before prepare().
    void show_progress(kernels::Progress progress) { options_.progress = std::move(progress); }

  private:
    Status build_modules(const plan::Plan& plan, const std::vector<kernels::Kernel>& kernels);

    Options options_;
    // Modules of ours, by the kernel's id and their name.
    std::map<std::pair<std::string, std::string>, kernels::Module> modules_;
    std::optional<Qemu> qemu_;
    bool kvm_ = false;
    Identity identity_;
    std::vector<std::string> remarks_;
};

// A file of the user's for the image: "SHA256 PATH-IN-IMAGE HOST-PATH", as plans keep it.
Result<std::string> describe_added_file(const std::filesystem::path& file);

}  // namespace mano::substrate::guest
