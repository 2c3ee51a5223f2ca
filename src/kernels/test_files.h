// SPDX-License-Identifier: GPL-2.0-or-later
// Small kernels, modules and packages made by code, for the tests of this folder and the fuzzers'
// seeds. Each is as the real thing in the parts that are read here, and nothing else.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace mano::kernels::test {

// An ELF64 program for x86-64 with a PT_NOTE segment (the PVH note, if asked for) and `text`
// behind.
std::string make_vmlinux(std::string_view text, bool pvh = true);
// "Linux version RELEASE (me@here) (gcc-12 (Test 12.2) 12.2, GNU ld 2.40) #1 SMP Thu\n".
std::string banner_text(std::string_view release);

// "gzip", "xz", "lzma", "bzip2", "zstd" or "lz4-legacy".
std::string compress(std::string_view bytes, std::string_view method);

// A bzImage of protocol 2.15 around a payload, laid out as the kernel's own build does.
std::string make_bzimage(std::string_view elf, std::string_view method = "gzip",
                         std::string_view release = "9.9.1-test");
// The whole of it: banner, PVH note, gzip.
std::string make_kernel(std::string_view release);

// A module with a .modinfo section that says so.
std::string make_module(std::string_view name, std::string_view depends);

struct TarMember {
    std::string path;
    std::string bytes;
    std::string link;  // not empty: a symbolic link to there
};
// A Debian package with these files in its data.tar.xz.
std::string make_deb(const std::vector<TarMember>& members);

// A fresh private folder, removed at the end.
class Folder {
  public:
    Folder();
    ~Folder();
    Folder(const Folder&) = delete;
    Folder& operator=(const Folder&) = delete;
    const std::filesystem::path& path() const { return path_; }
    // Writes a file below it and returns its path.
    std::filesystem::path file(std::string_view name, std::string_view bytes) const;

  private:
    std::filesystem::path path_;
};

}  // namespace mano::kernels::test
