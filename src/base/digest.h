// SPDX-License-Identifier: GPL-2.0-or-later
// SHA-256 of bytes and files (OpenSSL does the work), as lower-case hex.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "base/error.h"

namespace mano {

std::string sha256(std::string_view bytes);
Result<std::string> sha256_file(const std::filesystem::path& path);

}  // namespace mano
