// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/digest.h"

#include <fcntl.h>
#include <openssl/evp.h>
#include <unistd.h>

#include <cerrno>
#include <memory>

#include "base/file.h"

namespace mano {
namespace {

struct Sha256 {
    std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context{EVP_MD_CTX_new(),
                                                                    &EVP_MD_CTX_free};
    Sha256() { EVP_DigestInit_ex(context.get(), EVP_sha256(), nullptr); }
    void add(const void* bytes, std::size_t size) { EVP_DigestUpdate(context.get(), bytes, size); }
    std::string hex() {
        unsigned char digest[EVP_MAX_MD_SIZE];
        unsigned int size = 0;
        EVP_DigestFinal_ex(context.get(), digest, &size);
        std::string text;
        for (unsigned int i = 0; i < size; ++i)
            text += fmt::format("{:02x}", digest[i]);
        return text;
    }
};

}  // namespace

std::string sha256(std::string_view bytes) {
    Sha256 sum;
    sum.add(bytes.data(), bytes.size());
    return sum.hex();
}

Result<std::string> sha256_file(const std::filesystem::path& path) {
    MANO_ASSIGN(const Fd fd, open_file(path, O_RDONLY));
    Sha256 sum;
    char buffer[65536];
    while (true) {
        const ssize_t got = ::read(fd.get(), buffer, sizeof buffer);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return fail_errno(errno, path.string());
        if (got == 0) return sum.hex();
        sum.add(buffer, static_cast<std::size_t>(got));
    }
}

}  // namespace mano
