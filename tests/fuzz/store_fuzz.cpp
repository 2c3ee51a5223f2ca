// SPDX-License-Identifier: GPL-2.0-or-later
// A store that somebody else damaged or forged: a good one is made once, the input patches it
// (three bytes of offset, one of value), and reading it must end in a run set or an error.
#include <fcntl.h>

#include <cstdint>
#include <cstdlib>

#include "store/store.h"
#include "store/test_data.h"

namespace {

namespace store = mano::store;

std::string make_good(const std::filesystem::path& file) {
    {
        auto made = store::Store::open(file);
        const auto id = made->create(store::test::new_runset(store::test::small_plan(2, 1, 2)));
        mano::Rng rng(1);
        for (std::uint32_t i = 0; i < 3; ++i) {
            if (!made->finish_trial(*id, i, store::test::random_record(rng))) std::abort();
        }
    }
    return *mano::read_file(file);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    static const mano::TempFolder folder = store::test::temp_folder();
    static const std::string good = make_good(folder.path() / "good.db");
    std::string bad = good;
    for (std::size_t at = 0; at + 4 <= size; at += 4) {
        const std::size_t offset = (static_cast<std::size_t>(data[at]) << 16U) |
                                   (static_cast<std::size_t>(data[at + 1]) << 8U) | data[at + 2];
        bad[offset % bad.size()] = static_cast<char>(data[at + 3]);
    }
    const std::filesystem::path file = folder.path() / "bad.db";
    // Not write_file_atomic: its sync is slower than all the rest.
    const auto fd = mano::open_file(file, O_WRONLY | O_CREAT | O_TRUNC);
    if (!fd || !mano::write_all(fd->get(), bad, file.string())) return 0;
    auto opened = store::Store::open(file, true);
    if (!opened) return 0;
    static_cast<void>(opened->list().has_value());
    static_cast<void>(opened->find("2").has_value());
    static_cast<void>(opened->load("last").has_value());
    return 0;
}
