// SPDX-License-Identifier: GPL-2.0-or-later
// nlohmann's SAX parser tells no handler where it is, so the text is handed to it through iterators
// that count.
#include <nlohmann/json.hpp>

#include "interchange/document.h"

namespace mano::interchange {
namespace {

// Counts what has been read through any of its copies.
class CountingIterator {
  public:
    using iterator_category = std::input_iterator_tag;
    using value_type = char;
    using difference_type = std::ptrdiff_t;
    using pointer = const char*;
    using reference = const char&;

    CountingIterator(const char* at, const char** furthest) : at_(at), furthest_(furthest) {}
    reference operator*() const { return *at_; }
    CountingIterator& operator++() {
        ++at_;
        *furthest_ = at_;
        return *this;
    }
    CountingIterator operator++(int) {
        CountingIterator old = *this;
        ++*this;
        return old;
    }
    bool operator==(const CountingIterator& other) const { return at_ == other.at_; }
    bool operator!=(const CountingIterator& other) const { return at_ != other.at_; }

  private:
    const char* at_;
    const char** furthest_;
};

// The place of the next byte to be read, kept up to date line by line.
class Tracker {
  public:
    Tracker(std::string_view text, const char* const* furthest)
        : text_(text), furthest_(furthest) {}
    Place here() {
        const auto end = static_cast<std::size_t>(*furthest_ - text_.data());
        for (; at_ < end; ++at_) {
            if (text_[at_] != '\n') continue;
            ++line_;
            start_ = at_ + 1;
        }
        return {line_, end >= start_ ? end - start_ + 1 : 1};
    }

  private:
    std::string_view text_;
    const char* const* furthest_;
    std::size_t at_ = 0;
    std::size_t start_ = 0;
    std::uint64_t line_ = 1;
};

class Handler final : public nlohmann::json_sax<nlohmann::json> {
  public:
    Handler(std::string_view text, std::string_view file, const char* const* furthest)
        : tracker_(text, furthest), text_(text), file_(file), builder_(file) {}

    bool null() override { return keep(builder_.value(node(Node::Kind::null, 4))); }
    bool boolean(bool value) override {
        Node made = node(Node::Kind::boolean, value ? 4 : 5);
        made.boolean = value;
        return keep(builder_.value(std::move(made)));
    }
    bool number_integer(number_integer_t value) override {
        return number(static_cast<double>(value), fmt::format("{}", value));
    }
    bool number_unsigned(number_unsigned_t value) override {
        return number(static_cast<double>(value), fmt::format("{}", value));
    }
    bool number_float(number_float_t value, const string_t& written) override {
        return number(value, written);
    }
    bool string(string_t& value) override {
        Node made = node(Node::Kind::text, value.size() + 2);
        made.text = std::move(value);
        return keep(builder_.value(std::move(made)));
    }
    bool binary(binary_t&) override { return false; }
    bool start_object(std::size_t) override {
        return keep(builder_.open(Node::Kind::map, before(1)));
    }
    bool key(string_t& value) override {
        const Place place = before(value.size() + 2);
        return keep(builder_.key(std::move(value), place));
    }
    bool end_object() override { return keep(builder_.close()); }
    bool start_array(std::size_t) override {
        return keep(builder_.open(Node::Kind::list, before(1)));
    }
    bool end_array() override { return keep(builder_.close()); }
    bool parse_error(std::size_t position, const std::string&,
                     const nlohmann::json::exception& error) override {
        std::string what = error.what();
        // "[json.exception.parse_error.101] parse error at line 1, column 5: syntax error …"
        if (const std::size_t colon = what.find(": "); colon != std::string::npos) {
            what.erase(0, colon + 2);
        }
        const Place place = place_of(text_, position == 0 ? 0 : position - 1);
        status_ = fail_at(file_, place, "not JSON, or cut off: {}", what);
        return false;
    }

    Result<Node> result() {
        if (!status_) return tl::unexpected<Error>(status_.error());
        return builder_.take();
    }

  private:
    bool keep(Status status) {
        if (status) return true;
        status_ = std::move(status);
        return false;
    }
    // Where a token of `length` bytes that has just been read began (escapes make it longer).
    Place before(std::size_t length) {
        Place place = tracker_.here();
        place.column -= std::min<std::uint64_t>(place.column - 1, length);
        return place;
    }
    Node node(Node::Kind kind, std::size_t length) {
        Node made;
        made.kind = kind;
        made.place = before(length);
        return made;
    }
    bool number(double value, std::string written) {
        // The byte after a number has been read as well; it may be a line feed.
        Place place = tracker_.here();
        const std::size_t length = written.size() + 1;
        if (place.column > length) {
            place.column -= length;
        } else if (place.column == 1 && place.line > 1) {
            --place.line;
        }
        Node made;
        made.kind = Node::Kind::number;
        made.place = place;
        made.number = value;
        made.text = std::move(written);
        return keep(builder_.value(std::move(made)));
    }

    Tracker tracker_;
    std::string_view text_;
    std::string file_;
    TreeBuilder builder_;
    Status status_;
};

}  // namespace

Result<Node> parse_json(std::string_view text, std::string_view file) {
    if (text.size() > kMaxDocumentBytes) {
        return fail_at(file, place_of(text, kMaxDocumentBytes), "more than {} bytes",
                       kMaxDocumentBytes);
    }
    if (text.find_first_not_of(" \t\r\n") == std::string_view::npos)
        return fail_at(file, {1, 1}, "the file is empty, expected JSON");
    const char* furthest = text.data();
    Handler handler(text, file, &furthest);
    const CountingIterator begin(text.data(), &furthest);
    const CountingIterator end(text.data() + text.size(), &furthest);
    if (!nlohmann::json::sax_parse(begin, end, &handler)) {
        MANO_ASSIGN(Node failed, handler.result());
        return fail_at(file, {1, 1}, "not JSON");
    }
    return handler.result();
}

}  // namespace mano::interchange
