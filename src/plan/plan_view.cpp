// SPDX-License-Identifier: GPL-2.0-or-later
#include "plan/plan_view.h"

#include <cstring>

#include "base/checksum.h"

namespace mano::plan {
namespace {

// Reads fields in order; after the first that doesn't fit, everything reads as empty and ok is
// false.
class Cursor {
  public:
    explicit Cursor(std::string_view bytes) : left_(bytes) {}

    template <typename T>
    T number() {
        T value{};
        if (left_.size() < sizeof value) {
            ok_ = false;
            left_ = {};
            return value;
        }
        std::memcpy(&value, left_.data(), sizeof value);
        left_.remove_prefix(sizeof value);
        return value;
    }

    std::string_view text() {
        const auto size = number<std::uint16_t>();
        if (left_.size() < size) {
            ok_ = false;
            left_ = {};
            return {};
        }
        const std::string_view value = left_.substr(0, size);
        left_.remove_prefix(size);
        return value;
    }

    bool ok() const { return ok_; }
    bool at_end() const { return left_.empty(); }

  private:
    std::string_view left_;
    bool ok_ = true;
};

// Fills a table entry by entry; false when it is too small.
template <typename Table, typename Read>
bool read_table(Cursor& cursor, Table& table, Read read) {
    const auto count = cursor.number<std::uint16_t>();
    for (std::uint16_t i = 0; i < count && cursor.ok(); ++i) {
        auto* entry = table.add();
        if (entry == nullptr) return false;
        read(*entry);
    }
    return cursor.ok();
}

bool read_load(Cursor& cursor, LoadView& load) {
    load.id = static_cast<LoadId>(cursor.number<std::uint16_t>());
    if (!read_table(cursor, load.values,
                    [&](std::int64_t& value) { value = cursor.number<std::int64_t>(); })) {
        return false;
    }
    load.text = cursor.text();
    return cursor.ok();
}

}  // namespace

bool decode(std::string_view bytes, PlanView& view) {
    Cursor head(bytes);
    if (head.number<std::uint32_t>() != kPlanMagic) return false;
    if (head.number<std::uint32_t>() != kPlanVersion) return false;
    const auto size = head.number<std::uint32_t>();
    const auto sum = head.number<std::uint32_t>();
    constexpr std::size_t kHead = 16;
    if (!head.ok() || size > bytes.size() - kHead) return false;
    const std::string_view body = bytes.substr(kHead, size);
    if (checksum(body.data(), body.size()) != sum) return false;

    Cursor cursor(body);
    view.seed = cursor.number<std::uint64_t>();
    view.iterations = cursor.number<std::uint32_t>();
    view.iteration_gap_ns = cursor.number<std::uint64_t>();
    view.pressure_limit_ns = cursor.number<std::uint64_t>();
    view.probe_limit_ns = cursor.number<std::uint64_t>();
    view.spare_cpus = cursor.number<std::uint32_t>();
    view.traced = cursor.number<std::uint8_t>() != 0;
    view.zram_bytes = cursor.number<std::uint64_t>();
    view.zram_compressor = cursor.text();
    if (!read_load(cursor, view.pressure) || !read_load(cursor, view.probe)) return false;
    if (!read_table(cursor, view.modules, [&](std::string_view& name) { name = cursor.text(); })) {
        return false;
    }
    if (!read_table(cursor, view.settings, [&](SettingView& setting) {
            setting.path = cursor.text();
            setting.value = cursor.text();
            setting.required = cursor.number<std::uint8_t>() != 0;
        })) {
        return false;
    }
    if (!read_table(cursor, view.counters, [&](CounterView& counter) {
            counter.metric = cursor.text();
            counter.event = cursor.text();
            counter.filter = cursor.text();
        })) {
        return false;
    }
    if (!read_table(cursor, view.triggers, [&](TriggerView& trigger) {
            trigger.metric = cursor.text();
            trigger.system = cursor.number<std::uint8_t>() != 0;
            trigger.full = cursor.number<std::uint8_t>() != 0;
            trigger.stall_us = cursor.number<std::uint64_t>();
            trigger.window_us = cursor.number<std::uint64_t>();
            trigger.rising_pct = cursor.number<std::uint32_t>();
            trigger.during_ns = cursor.number<std::uint64_t>();
        })) {
        return false;
    }
    return cursor.ok() && cursor.at_end();
}

}  // namespace mano::plan
