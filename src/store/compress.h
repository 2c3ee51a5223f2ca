// SPDX-License-Identifier: GPL-2.0-or-later
// Text ⇄ zstd frame, for consoles and large evidence. Called by the store only.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/error.h"

namespace mano::store {

// No stored text is larger, so that a forged size takes no memory.
constexpr std::size_t kTextLimit = std::size_t{256} << 20;

// More than kTextLimit: Code::invalid.
Result<std::string> compress(std::string_view text);
// `size` is what the text must have. A damaged frame or another size: Code::corrupt.
Result<std::string> decompress(std::string_view frame, std::uint64_t size);

}  // namespace mano::store
