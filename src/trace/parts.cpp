// SPDX-License-Identifier: GPL-2.0-or-later
#include "trace/parts.h"

#include <set>

#include "trace/records.h"
#include "trace/symbols.h"

namespace mano::trace {
namespace {

bool is_known(PartKind kind) {
    return kind >= PartKind::event && kind <= PartKind::text;
}

constexpr std::size_t padded(std::size_t size) {
    return (size + 7) & ~std::size_t{7};
}

}  // namespace

void add_part(std::string& trace, PartHead head, std::string_view bytes) {
    head.size = bytes.size();
    trace.append(reinterpret_cast<const char*>(&head), sizeof head);
    trace.append(bytes);
    trace.append(padded(bytes.size()) - bytes.size(), '\0');
}

Result<std::vector<Part>> read_parts(std::string_view trace) {
    std::vector<Part> parts;
    std::size_t at = 0;
    while (at < trace.size()) {
        if (trace.size() - at < sizeof(PartHead)) {
            return fail(Code::hostile, "a trace ends within a part's head, at byte {}", at);
        }
        Part part;
        part.head = number_in<PartHead>(trace, at);
        at += sizeof(PartHead);
        if (!is_known(part.head.kind) || part.head.size > trace.size() - at) {
            return fail(Code::hostile,
                        "a trace's part at byte {} is of an unknown kind or longer "
                        "than the trace",
                        at - sizeof(PartHead));
        }
        part.bytes = trace.substr(at, part.head.size);
        at += std::min(padded(part.head.size), trace.size() - at);
        parts.push_back(part);
    }
    return parts;
}

bool read_frame(std::string_view payload, Part& part) {
    if (payload.size() < sizeof(PartHead)) return false;
    part.head = number_in<PartHead>(payload, 0);
    part.bytes = payload.substr(sizeof(PartHead));
    return is_known(part.head.kind);
}

std::string without_needless_symbols(std::string trace) {
    const auto parts = read_parts(trace);
    if (!parts) return trace;
    std::string text;
    for (const Part& part : *parts) {
        if (part.head.kind == PartKind::symbols) text += part.bytes;
    }
    if (text.empty()) return trace;
    std::set<std::uint64_t> wanted;
    const Records records = Records::read(*parts);
    for (const Record& record : records.all()) {
        for (std::size_t i = 0; i < record.stack_size(); ++i)
            wanted.insert(record.stack_at(i));
    }
    const std::string kept = kept_symbols(text, wanted);
    std::string out;
    for (const Part& part : *parts) {
        if (part.head.kind != PartKind::symbols) add_part(out, part.head, part.bytes);
    }
    add_part(out, {PartKind::symbols, 0, 0, 0}, kept);
    return out;
}

}  // namespace mano::trace
