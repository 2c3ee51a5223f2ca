// SPDX-License-Identifier: GPL-2.0-or-later
// The folder in which the kernels of one source are built, one after the other:
//
//   build/NAME/tree/       the source, with the changes of the last build in it
//   build/NAME/pristine/   the files that these changes touch, as they were
//   build/NAME/state.json  what the source is, and what is changed
//   build/NAME/obj-HASH/   object folders, one for each configuration and compiler
//
// Between two builds only the files that differ are written, so make builds only what they concern.
// A process that is killed at any point leaves a folder that the next one mends. Knows nothing of
// where a source comes from. Called by lab_build.cpp.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/file.h"
#include "kernels/cache.h"
#include "kernels/patch.h"

namespace mano::kernels {

class Workshop {
  public:
    // Waits for the process that builds there, asking options.stop. The folder is this process's
    // until the object's end.
    static Result<Workshop> open(const Cache& cache, std::string_view name, const Options& options);

    const std::filesystem::path& folder() const { return folder_; }
    std::filesystem::path tree() const { return folder_ / "tree"; }
    // What the tree holds, as given to fill(); empty: nothing, or nothing whole.
    const std::string& source() const { return source_; }

    using Unpack = std::function<Status(const std::filesystem::path& folder)>;
    // Makes the tree anew: `unpack` gets an empty folder.
    Status fill(std::string_view source, const Unpack& unpack);
    // Another source that differs little: `removed` goes away, `unpack` writes over the tree.
    Status update(std::string_view source, const std::vector<std::string>& removed,
                  const Unpack& unpack);

    // A file of the source without any change; nullopt: there is none. Links and folders count as
    // none, and no path leads through a link.
    Result<std::optional<std::string>> pristine(const std::string& path) const;
    // Brings the tree to the source with exactly these changes. Returns the paths that were
    // written or removed now.
    Result<std::vector<std::string>> apply(const Changes& changes);

  private:
    struct Was {
        bool existed = false;
        bool executable = false;
    };
    Status save() const;
    Status write(const std::string& path, const NewFile& file);
    Status keep(const std::string& path);

    std::filesystem::path folder_;
    Fd lock_;
    std::string source_;
    std::map<std::string, Was> changed_;  // paths whose pristine form isn't in tree/
};

}  // namespace mano::kernels
