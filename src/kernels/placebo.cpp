// SPDX-License-Identifier: GPL-2.0-or-later
// A kernel that differs from its base in nothing but where things lie.
#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <tuple>

#include "kernels/lab_build.h"

namespace mano::kernels {

namespace {

// Where padding is put, in the order in which the kernel is linked. More than one place: the code
// of arch/x86 has a page-aligned part, behind which a shift of less than a page is gone.
struct Place {
    const char* folder;
    const char* makefile;
};
constexpr std::array<Place, 3> kPlaces = {
    {{"init", "init/Makefile"}, {"arch/x86", "arch/x86/Kbuild"}, {"mm", "mm/Makefile"}}};
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

std::int64_t number(std::string_view hex) {
    std::uint64_t value = 0;
    std::from_chars(hex.data(), hex.data() + hex.size(), value, 16);
    return static_cast<std::int64_t>(value);
}

}  // namespace

Result<Changes> placebo_changes(unsigned number, const ReadFile& read) {
    Changes out;
    for (unsigned i = 0; i < kPlaces.size(); ++i) {
        const Place& place = kPlaces[i];
        MANO_ASSIGN(const auto makefile, read(place.makefile));
        if (!makefile) {
            return fail(Code::invalid, "this tree has no {}, so no placebo can be built of it",
                        place.makefile);
        }
        // Odd multiples of 16, the alignment of functions: cache lines are filled another way, too.
        const unsigned text = 16 * (2 * number * (i + 1) + 1);
        const unsigned data = 32 * (2 * number * (i + 1) + 1);
        out[std::string(place.folder) + "/manometer_placebo.c"].bytes = fmt::format(
            "// SPDX-License-Identifier: GPL-2.0-or-later\n"
            "/* Nothing. It moves what is linked behind it, and has no symbol of its own. */\n"
            "asm(\".pushsection .text, \\\"ax\\\", @progbits\\n\\t.skip {0}, 0xcc\\n\"\n"
            "    \"\\t.popsection\\n\"\n"
            "    \".pushsection .rodata, \\\"a\\\", @progbits\\n\\t.skip {1}, 0\\n\"\n"
            "    \"\\t.popsection\\n\"\n"
            "    \".pushsection .data, \\\"aw\\\", @progbits\\n\\t.skip {1}, 0\\n\"\n"
            "    \"\\t.popsection\\n\"\n"
            "    \".pushsection .bss, \\\"aw\\\", @nobits\\n\\t.skip {1}\\n\"\n"
            "    \"\\t.popsection\\n\");\n",
            text, data);
        out[place.makefile].bytes = *makefile +
                                    "\n# int3 and zeros, which objtool needn't understand\n"
                                    "obj-y += manometer_placebo.o\n"
                                    "OBJECT_FILES_NON_STANDARD_manometer_placebo.o := y\n";
    }
    return out;
}

std::string LayoutDifference::text() const {
    std::string out = fmt::format("{} of {} functions and {} of {} other symbols lie elsewhere",
                                  moved_functions, functions, moved_others, other_symbols);
    if (!moved_by.empty()) {
        out += fmt::format(" (functions by {} bytes)", fmt::join(moved_by, ", "));
    }
    out += end_moved == 0 ? ", the image is as large"
                          : fmt::format(", the image ends {:+} bytes from there", end_moved);
    if (differing_count == 0) return out + "; all have the names, kinds and sizes of the base.";
    return out + fmt::format("; {} differ in more than their place: {}{}.", differing_count,
                             fmt::join(differing, ", "),
                             differing_count > differing.size() ? ", …" : "");
}

LayoutDifference compare_layout(std::string_view base, std::string_view other) {
    const std::vector<Symbol> left = read_symbols(base);
    const std::vector<Symbol> right = read_symbols(other);
    LayoutDifference out;
    std::map<std::int64_t, std::size_t> distances;
    const auto differs = [&out](const Symbol& symbol) {
        ++out.differing_count;
        if (out.differing.size() < kListed) out.differing.emplace_back(symbol.name);
    };
    const auto same = [&](const Symbol& before, const Symbol& after) {
        const bool code = before.kind == "T" || before.kind == "t";
        const bool moved = before.address != after.address;
        ++(code ? out.functions : out.other_symbols);
        if (before.name == "_end") out.end_moved = number(after.address) - number(before.address);
        if (!moved) return;
        ++(code ? out.moved_functions : out.moved_others);
        if (code) ++distances[number(after.address) - number(before.address)];
    };
    std::size_t i = 0;
    std::size_t j = 0;
    while (i < left.size() || j < right.size()) {
        if (j == right.size() || (i < left.size() && left[i].what() < right[j].what())) {
            differs(left[i++]);
        } else if (i == left.size() || right[j].what() < left[i].what()) {
            differs(right[j++]);
        } else {
            same(left[i++], right[j++]);
        }
    }
    // The distances of most, nearest first.
    for (const auto& [distance, count] : distances) {
        if (count * 20 > out.moved_functions) out.moved_by.push_back(distance);
    }
    return out;
}

}  // namespace mano::kernels
