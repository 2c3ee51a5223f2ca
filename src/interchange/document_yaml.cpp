// SPDX-License-Identifier: GPL-2.0-or-later
// libyaml's events, whose marks are the places.
#include <yaml.h>

#include "interchange/document.h"

namespace mano::interchange {
namespace {

Place place_of_mark(const yaml_mark_t& mark) {
    return {mark.line + 1, mark.column + 1};
}

class Parser {
  public:
    Parser(std::string_view text, std::string_view file) : file_(file), builder_(file) {
        ok_ = yaml_parser_initialize(&parser_) == 1;
        if (!ok_) return;
        yaml_parser_set_encoding(&parser_, YAML_UTF8_ENCODING);
        yaml_parser_set_input_string(&parser_, reinterpret_cast<const unsigned char*>(text.data()),
                                     text.size());
    }
    ~Parser() {
        if (ok_) yaml_parser_delete(&parser_);
    }
    Parser(const Parser&) = delete;
    Parser& operator=(const Parser&) = delete;

    Result<Node> run() {
        if (!ok_) return fail(Code::internal, "{}: no memory for the YAML parser", file_);
        while (true) {
            yaml_event_t event;
            if (yaml_parser_parse(&parser_, &event) != 1) return syntax_error();
            const yaml_event_type_t type = event.type;
            const Status taken = take(event);
            yaml_event_delete(&event);
            if (!taken) return tl::unexpected<Error>(taken.error());
            if (type == YAML_STREAM_END_EVENT) break;
        }
        if (!builder_.done()) return fail_at(file_, {1, 1}, "the file is empty, expected YAML");
        return builder_.take();
    }

  private:
    tl::unexpected<Error> syntax_error() {
        const Place place{parser_.problem_mark.line + 1, parser_.problem_mark.column + 1};
        return fail_at(file_, place, "not YAML, or cut off: {}",
                       parser_.problem == nullptr ? "unreadable" : parser_.problem);
    }

    Status take(const yaml_event_t& event) {
        const Place place = place_of_mark(event.start_mark);
        switch (event.type) {
            case YAML_DOCUMENT_START_EVENT:
                if (documents_++ > 0) {
                    return fail_at(file_, place, "a second document; give each a file of its own");
                }
                return {};
            case YAML_ALIAS_EVENT:
                return fail_at(file_, place, "an alias (*): not read here");
            case YAML_SEQUENCE_START_EVENT:
                if (event.data.sequence_start.anchor != nullptr) return anchor(place);
                return open(Node::Kind::list, place);
            case YAML_MAPPING_START_EVENT:
                if (event.data.mapping_start.anchor != nullptr) return anchor(place);
                return open(Node::Kind::map, place);
            case YAML_SEQUENCE_END_EVENT:
            case YAML_MAPPING_END_EVENT:
                expects_key_.pop_back();
                MANO_TRY(builder_.close());
                after_value();
                return {};
            case YAML_SCALAR_EVENT:
                if (event.data.scalar.anchor != nullptr) return anchor(place);
                return scalar(event, place);
            default:
                return {};
        }
    }

    tl::unexpected<Error> anchor(Place place) {
        return fail_at(file_, place, "an anchor (&): not read here");
    }

    Status open(Node::Kind kind, Place place) {
        if (wants_key()) return fail_at(file_, place, "a list or map as a key");
        MANO_TRY(builder_.open(kind, place));
        expects_key_.push_back(kind == Node::Kind::map ? State::key : State::item);
        return {};
    }

    Status scalar(const yaml_event_t& event, Place place) {
        const auto& from = event.data.scalar;
        std::string text(reinterpret_cast<const char*>(from.value), from.length);
        if (wants_key()) {
            MANO_TRY(builder_.key(std::move(text), place));
            expects_key_.back() = State::value;
            return {};
        }
        Node node;
        node.place = place;
        node.kind = Node::Kind::text;
        if (from.style == YAML_PLAIN_SCALAR_STYLE) {
            if (text.empty() || text == "~" || text == "null") {
                node.kind = Node::Kind::null;
            } else if (text == "true" || text == "false") {
                node.kind = Node::Kind::boolean;
                node.boolean = text == "true";
            } else if (const auto number = parse_real(text)) {
                node.kind = Node::Kind::number;
                node.number = *number;
            }
        }
        node.text = std::move(text);
        MANO_TRY(builder_.value(std::move(node)));
        after_value();
        return {};
    }

    enum class State : unsigned char { key, value, item };
    bool wants_key() const { return !expects_key_.empty() && expects_key_.back() == State::key; }
    void after_value() {
        if (!expects_key_.empty() && expects_key_.back() == State::value) {
            expects_key_.back() = State::key;
        }
    }

    std::string file_;
    TreeBuilder builder_;
    yaml_parser_t parser_{};
    bool ok_ = false;
    int documents_ = 0;
    std::vector<State> expects_key_;
};

}  // namespace

Result<Node> parse_yaml(std::string_view text, std::string_view file) {
    if (text.size() > kMaxDocumentBytes) {
        return fail_at(file, place_of(text, kMaxDocumentBytes), "more than {} bytes",
                       kMaxDocumentBytes);
    }
    return Parser(text, file).run();
}

}  // namespace mano::interchange
