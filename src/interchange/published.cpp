// SPDX-License-Identifier: GPL-2.0-or-later
#include <algorithm>
#include <array>

#include "interchange/csv_reader.h"
#include "interchange/interchange.h"
#include "interchange/text.h"

namespace mano::interchange {
namespace {

constexpr std::array<std::string_view, 5> kColumns{"case", "metric", "arm", "value", "source"};
constexpr std::size_t kRequired = 4;
constexpr std::size_t kMaxValues = 10'000;

// Field numbers of kColumns in the file; the last is optional.
Result<std::array<std::optional<std::size_t>, kColumns.size()>> columns(const CsvRecord& header,
                                                                        std::string_view file) {
    std::array<std::optional<std::size_t>, kColumns.size()> found;
    for (std::size_t i = 0; i < header.fields.size(); ++i) {
        const auto known = std::find(kColumns.begin(), kColumns.end(), header.fields[i]);
        if (known == kColumns.end()) {
            return fail_at(file, {header.line, i + 1},
                           "\"{}\" is no column here, expected case,metric,arm,value,source",
                           header.fields[i]);
        }
        auto& place = found[static_cast<std::size_t>(known - kColumns.begin())];
        if (place) return fail_at(file, {header.line, i + 1}, "a second column \"{}\"", *known);
        place = i;
    }
    for (std::size_t i = 0; i < kRequired; ++i) {
        if (!found[i]) return fail_at(file, {header.line, 1}, "no column \"{}\"", kColumns[i]);
    }
    return found;
}

}  // namespace

Result<std::vector<report::Published>> read_published(std::string_view text,
                                                      std::string_view file) {
    CsvReader reader(text, file);
    MANO_ASSIGN(const std::optional<CsvRecord> header, reader.next());
    if (!header) {
        return fail_at(file, {1, 1}, "the file is empty, expected the header {}",
                       "case,metric,arm,value,source");
    }
    MANO_ASSIGN(const auto where, columns(*header, file));
    std::vector<report::Published> values;
    while (true) {
        MANO_ASSIGN(const std::optional<CsvRecord> record, reader.next());
        if (!record) break;
        if (record->fields.size() != header->fields.size()) {
            return fail_at(file, {record->line, 1}, "{} fields, expected {} as in the header",
                           record->fields.size(), header->fields.size());
        }
        if (values.size() == kMaxValues) {
            return fail_at(file, {record->line, 1}, "more than {} values", kMaxValues);
        }
        const auto field = [&](std::size_t column) {
            return where[column] ? record->fields[*where[column]] : std::string();
        };
        const auto value = parse_real(field(3));
        if (!value) {
            return fail_at(file, {record->line, *where[3] + 1}, "\"{}\" isn't a finite number",
                           field(3));
        }
        if (field(1).empty()) return fail_at(file, {record->line, *where[1] + 1}, "no metric");
        values.push_back({field(0), field(1), field(2), *value, field(4)});
    }
    return values;
}

}  // namespace mano::interchange
