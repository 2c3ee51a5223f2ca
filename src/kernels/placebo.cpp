// SPDX-License-Identifier: GPL-2.0-or-later
// A kernel that differs from its base in nothing but where things lie.
#include <algorithm>
#include <map>
#include <tuple>

#include "kernels/lab_build.h"

namespace mano::kernels {

namespace {

constexpr const char* kFile = "init/manometer_placebo.c";
constexpr const char* kMakefile = "init/Makefile";
constexpr std::size_t kListed = 10;

struct Symbol {
    std::string_view name, kind, size, address;
    auto what() const { return std::tie(name, kind, size); }
};

// Lines of `nm -n -S`: "ADDRESS [SIZE] KIND NAME".
std::vector<Symbol> read_symbols(std::string_view text) {
    std::vector<Symbol> out;
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t end = std::min(text.find('\n', at), text.size());
        std::string_view line = text.substr(at, end - at);
        at = end + 1;
        std::vector<std::string_view> words;
        while (!line.empty() && words.size() < 5) {
            const std::size_t space = std::min(line.find(' '), line.size());
            if (space > 0) words.push_back(line.substr(0, space));
            line.remove_prefix(std::min(space + 1, line.size()));
        }
        if (words.size() == 3) out.push_back({words[2], words[1], "", words[0]});
        if (words.size() == 4) out.push_back({words[3], words[2], words[1], words[0]});
    }
    std::sort(out.begin(), out.end(), [](const Symbol& a, const Symbol& b) {
        return std::tie(a.name, a.kind, a.size, a.address) <
               std::tie(b.name, b.kind, b.size, b.address);
    });
    return out;
}

}  // namespace

Result<Changes> placebo_changes(unsigned number, const ReadFile& read) {
    MANO_ASSIGN(const auto makefile, read(kMakefile));
    if (!makefile) {
        return fail(Code::invalid, "this tree has no {}, so no placebo can be built of it",
                    kMakefile);
    }
    // Odd multiples of 16, the alignment of functions: cache lines are filled another way, too.
    const unsigned text = 4096 * number + 16 * (2 * number + 1);
    const unsigned data = 64 * (2 * number + 1);
    Changes out;
    out[kFile].bytes = fmt::format(
        "// SPDX-License-Identifier: GPL-2.0-or-later\n"
        "/* Nothing. It moves what is linked behind it, and has no symbol of its own. */\n"
        "asm(\".pushsection .text, \\\"ax\\\", @progbits\\n\\t.skip {0}, "
        "0xcc\\n\\t.popsection\\n\"\n"
        "    \".pushsection .data, \\\"aw\\\", @progbits\\n\\t.skip {1}, 0\\n\\t.popsection\\n\"\n"
        "    \".pushsection .bss, \\\"aw\\\", @nobits\\n\\t.skip {1}\\n\\t.popsection\\n\");\n",
        text, data);
    out[kMakefile].bytes = *makefile +
                           "\n# int3 and zeros, which objtool needn't understand\n"
                           "obj-y += manometer_placebo.o\n"
                           "OBJECT_FILES_NON_STANDARD_manometer_placebo.o := y\n";
    return out;
}

std::string LayoutDifference::text() const {
    std::string out = fmt::format("{} of {} symbols lie elsewhere", moved, symbols);
    if (other_count == 0) return out + "; all have the names, kinds and sizes of the base.";
    return out + fmt::format("; {} differ in more than their place: {}{}.", other_count,
                             fmt::join(others, ", "), other_count > others.size() ? ", …" : "");
}

LayoutDifference compare_layout(std::string_view base, std::string_view other) {
    const std::vector<Symbol> left = read_symbols(base);
    const std::vector<Symbol> right = read_symbols(other);
    LayoutDifference out;
    const auto differs = [&out](const Symbol& symbol) {
        ++out.other_count;
        if (out.others.size() < kListed) out.others.emplace_back(symbol.name);
    };
    std::size_t i = 0;
    std::size_t j = 0;
    while (i < left.size() || j < right.size()) {
        if (j == right.size() || (i < left.size() && left[i].what() < right[j].what())) {
            differs(left[i++]);
        } else if (i == left.size() || right[j].what() < left[i].what()) {
            differs(right[j++]);
        } else {
            ++out.symbols;
            out.moved += left[i++].address != right[j++].address ? 1U : 0U;
        }
    }
    return out;
}

}  // namespace mano::kernels
