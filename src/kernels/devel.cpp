// SPDX-License-Identifier: GPL-2.0-or-later
#include "kernels/devel.h"

#include <algorithm>
#include <array>
#include <string>

namespace mano::kernels {

namespace fs = std::filesystem;

namespace {

// Of the source.
constexpr std::array<std::string_view, 3> kSourceFolders = {"include", "scripts",
                                                            "arch/x86/include"};
// Scripts that no module's build calls.
constexpr std::array<std::string_view, 5> kLeftOut = {
    "scripts/atomic", "scripts/dtc", "scripts/kconfig", "scripts/package", "scripts/dummy-tools"};
// Of the object folder; those that a kernel doesn't have are left out.
constexpr std::array<std::string_view, 4> kObjectFolders = {
    "include/config", "include/generated", "arch/x86/include/generated", "scripts"};
constexpr std::array<std::string_view, 4> kObjectFiles = {
    "Module.symvers", ".config", "tools/objtool/objtool",
    "tools/bpf/resolve_btfids/resolve_btfids"};

Status put(const fs::path& from, const fs::path& to, bool link) {
    std::error_code error;
    fs::create_directories(to.parent_path(), error);
    if (error) return fail(Code::environment, "{}: {}", to.string(), error.message());
    if (link) {
        fs::create_hard_link(from, to, error);
        if (!error) return {};
        error.clear();
    }
    fs::copy_file(from, to, fs::copy_options::overwrite_existing, error);
    if (error) return fail(Code::environment, "{}: {}", to.string(), error.message());
    return {};
}

bool left_out(const std::string& path) {
    return std::any_of(kLeftOut.begin(), kLeftOut.end(), [&](std::string_view folder) {
        return path == folder || path.starts_with(std::string(folder) + "/");
    });
}

// Links inside are no files of ours: what they lead to is taken where it lies.
Status put_folder(const fs::path& root, std::string_view folder, const fs::path& into, bool link) {
    std::error_code error;
    for (fs::recursive_directory_iterator it(root / folder, error), end; !error && it != end;
         it.increment(error)) {
        const std::string path = it->path().lexically_relative(root).string();
        std::error_code ignored;
        if (it->is_symlink(ignored)) {
            it.disable_recursion_pending();
            continue;
        }
        if (it->is_directory(ignored)) {
            if (left_out(path)) it.disable_recursion_pending();
            continue;
        }
        const std::string name = it->path().filename().string();
        const bool by_product = !link && (name.ends_with(".o") || name.ends_with(".cmd") ||
                                          name.ends_with(".a") || name.ends_with(".d"));
        if (by_product || !it->is_regular_file(ignored)) continue;
        MANO_TRY(put(it->path(), into / path, link));
    }
    return {};
}

}  // namespace

Status make_devel(const fs::path& tree, const fs::path& object, const fs::path& into) {
    MANO_TRY(put(tree / "Makefile", into / "Makefile", true));
    std::error_code error;
    for (fs::directory_iterator it(tree / "arch/x86", error), end; !error && it != end;
         it.increment(error)) {
        const std::string name = it->path().filename().string();
        if (name.starts_with("Makefile")) {
            MANO_TRY(put(it->path(), into / "arch/x86" / name, true));
        }
    }
    for (const std::string_view folder : kSourceFolders)
        MANO_TRY(put_folder(tree, folder, into, true));
    for (const std::string_view folder : kObjectFolders)
        MANO_TRY(put_folder(object, folder, into, false));
    for (const std::string_view file : kObjectFiles) {
        if (fs::is_regular_file(object / file, error)) {
            MANO_TRY(put(object / file, into / file, false));
        }
    }
    return {};
}

}  // namespace mano::kernels
