// SPDX-License-Identifier: GPL-2.0-or-later
// Kconfig files → what an option needs, for the sentence that says why it didn't stick.
#include <algorithm>
#include <cctype>
#include <set>
#include <unordered_map>

#include "base/file.h"
#include "base/nearest.h"
#include "kernels/kconfig.h"

namespace mano::kernels {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t kMaxFile = std::size_t{4} << 20;
constexpr std::size_t kMaxFiles = 10'000;
constexpr std::size_t kMaxDepth = 64;

std::string_view trimmed(std::string_view text) {
    while (!text.empty() && std::isspace(static_cast<unsigned char>(text.front())) != 0)
        text.remove_prefix(1);
    while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back())) != 0)
        text.remove_suffix(1);
    return text;
}

// First word, and what is behind it.
std::pair<std::string_view, std::string_view> first_word(std::string_view line) {
    const std::size_t end = line.find_first_of(" \t\"(");
    if (end == std::string_view::npos) return {line, {}};
    return {line.substr(0, end), trimmed(line.substr(end))};
}

// What stands behind " if " of a prompt, default or select; empty: no condition.
std::string_view condition_of(std::string_view rest) {
    std::size_t from = 0;
    if (rest.starts_with('"')) {
        from = rest.find('"', 1);
        if (from == std::string_view::npos) return {};
    }
    const std::size_t at = rest.find(" if ", from);
    return at == std::string_view::npos ? std::string_view() : trimmed(rest.substr(at + 4));
}

struct Definition {
    std::string where;  // "mm/Kconfig:12"
    std::string type;   // "bool", "tristate", "int", "hex", "string"; empty: in another definition
    bool prompt = false;
    std::string prompt_if;
    std::vector<std::string> depends;  // all must hold, those of menus around it included
    int choice = 0;                    // number of the choice that it stands in; 0: none
};

struct Selector {
    std::string option;
    std::string condition;
};

}  // namespace

struct Kconfig::Tables {
    std::unordered_map<std::string, std::vector<Definition>> options;
    std::unordered_map<std::string, std::vector<Selector>> selected_by;
    std::map<int, std::vector<std::string>> choices;  // number → its options
};

namespace {

// Reads one kernel's files, following "source".
class Reader {
  public:
    template <typename Tables>
    Reader(fs::path tree, std::string_view architecture, Tables& tables)
        : tree_(std::move(tree)),
          architecture_(architecture),
          options_(tables.options),
          selected_by_(tables.selected_by),
          choices_(tables.choices) {}

    void read(const std::string& name, std::size_t depth) {
        if (depth > kMaxDepth || ++files_ > kMaxFiles) return;
        const auto text = read_file(tree_ / name, kMaxFile);
        if (!text) return;
        current_ = nullptr;
        std::size_t number = 0;
        std::size_t help_indent = 0;
        enum class Help { none, begins, inside } help = Help::none;
        std::string pending;
        for (std::size_t at = 0; at < text->size();) {
            const std::size_t end = std::min(text->find('\n', at), text->size());
            std::string_view raw = std::string_view(*text).substr(at, end - at);
            at = end + 1;
            ++number;
            if (help != Help::none) {
                const std::string_view body = trimmed(raw);
                if (body.empty()) continue;
                const std::size_t indent = indent_of(raw);
                if (help == Help::begins && indent > 0) {
                    help = Help::inside;
                    help_indent = indent;
                    continue;
                }
                if (help == Help::inside && indent >= help_indent) continue;
                help = Help::none;
            }
            if (raw.ends_with('\\')) {
                pending += raw.substr(0, raw.size() - 1);
                pending += ' ';
                continue;
            }
            const std::string whole = pending + std::string(raw);
            pending.clear();
            const std::string_view line = trimmed(whole);
            if (line == "help" || line == "---help---") {
                help = Help::begins;
            } else if (!line.empty() && line.front() != '#') {
                statement(line, fmt::format("{}:{}", name, number), depth);
            }
        }
    }

  private:
    static std::size_t indent_of(std::string_view raw) {
        std::size_t indent = 0;
        for (const char c : raw) {
            if (c == ' ') {
                ++indent;
            } else if (c == '\t') {
                indent = (indent / 8 + 1) * 8;
            } else {
                break;
            }
        }
        return indent;
    }

    std::vector<std::string> around() const {
        std::vector<std::string> out;
        for (const Block& block : blocks_)
            out.insert(out.end(), block.depends.begin(), block.depends.end());
        return out;
    }

    void begin_option(std::string_view name, const std::string& where) {
        Definition one;
        one.where = where;
        one.depends = around();
        for (const Block& block : blocks_) {
            if (block.choice != 0) one.choice = block.choice;
        }
        name_ = name;
        auto& all = options_[name_];
        all.push_back(std::move(one));
        current_ = &all;
        if (all.back().choice != 0) choices_[all.back().choice].push_back(name_);
    }

    void begin_block(std::string_view word, std::string_view rest) {
        current_ = nullptr;
        Block block;
        if (word == "if") block.depends.emplace_back(rest);
        if (word == "choice") block.choice = ++last_choice_;
        blocks_.push_back(std::move(block));
        open_block_ = word != "if";
    }

    void source(std::string_view rest, std::size_t depth) {
        std::string path(trimmed(rest));
        std::erase(path, '"');
        for (const char* variable : {"$(SRCARCH)", "$SRCARCH"}) {
            const std::size_t at = path.find(variable);
            if (at != std::string::npos) {
                path.replace(at, std::string_view(variable).size(), architecture_);
            }
        }
        if (path.find("..") != std::string::npos || path.starts_with('/')) return;
        const bool open = open_block_;
        read(path, depth + 1);
        current_ = nullptr;
        open_block_ = open;
    }

    void type_line(std::string_view word, std::string_view rest) {
        Definition& one = current_->back();
        const bool defined = word.starts_with("def_");
        const std::string_view type = defined ? word.substr(4) : word;
        if (word != "prompt") one.type = type;
        if (!defined && (rest.starts_with('"') || word == "prompt")) {
            one.prompt = true;
            one.prompt_if = condition_of(rest);
        }
    }

    void statement(std::string_view line, const std::string& where, std::size_t depth) {
        auto [word, rest] = first_word(line);
        if (word == "config" || word == "menuconfig") {
            begin_option(rest, where);
        } else if (word == "if" || word == "menu" || word == "choice") {
            begin_block(word, rest);
        } else if (word == "endif" || word == "endmenu" || word == "endchoice") {
            if (!blocks_.empty()) blocks_.pop_back();
            current_ = nullptr;
            open_block_ = false;
        } else if (word == "source") {
            source(rest, depth);
        } else if (word == "depends" && rest.starts_with("on")) {
            const std::string expression(trimmed(rest.substr(2)));
            if (current_ != nullptr) {
                current_->back().depends.push_back(expression);
            } else if (open_block_ && !blocks_.empty()) {
                blocks_.back().depends.push_back(expression);
            }
        } else if (current_ != nullptr && (word == "select" || word == "imply")) {
            if (word == "select") {
                const std::string target(first_word(rest).first);
                selected_by_[target].push_back({name_, std::string(condition_of(rest))});
            }
        } else if (current_ != nullptr && (word == "bool" || word == "tristate" || word == "int" ||
                                           word == "hex" || word == "string" || word == "prompt" ||
                                           word == "def_bool" || word == "def_tristate")) {
            type_line(word, rest);
        }
    }

    struct Block {
        std::vector<std::string> depends;
        int choice = 0;
    };

    fs::path tree_;
    std::string architecture_;
    std::unordered_map<std::string, std::vector<Definition>>& options_;
    std::unordered_map<std::string, std::vector<Selector>>& selected_by_;
    std::map<int, std::vector<std::string>>& choices_;
    std::vector<Block> blocks_;
    bool open_block_ = false;  // lines now are attributes of blocks_.back()
    std::vector<Definition>* current_ = nullptr;
    std::string name_;
    int last_choice_ = 0;
    std::size_t files_ = 0;
};

// Recursive descent over the grammar of expressions.
class Expression {
  public:
    Expression(std::string_view text, const Config& config) : text_(text), config_(config) {}

    std::optional<int> value() {
        const auto out = any();
        skip();
        return out && at_ == text_.size() ? out : std::nullopt;
    }

  private:
    void skip() {
        while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_])) != 0)
            ++at_;
    }
    bool take(std::string_view token) {
        skip();
        if (text_.substr(at_, token.size()) != token) return false;
        at_ += token.size();
        return true;
    }
    std::optional<int> any() {
        auto left = all();
        while (left && take("||")) {
            const auto right = all();
            if (!right) return std::nullopt;
            left = std::max(*left, *right);
        }
        return left;
    }
    std::optional<int> all() {
        auto left = one();
        while (left && take("&&")) {
            const auto right = one();
            if (!right) return std::nullopt;
            left = std::min(*left, *right);
        }
        return left;
    }
    std::optional<int> one() {
        if (++depth_ > 200) return std::nullopt;
        if (take("(")) {
            const auto inner = any();
            return inner && take(")") ? inner : std::nullopt;
        }
        skip();
        if (text_.substr(at_, 2) != "!=" && take("!")) {
            const auto inner = one();
            if (!inner) return std::nullopt;
            return 2 - *inner;
        }
        const auto left = word();
        if (!left) return std::nullopt;
        if (take("!=")) return compare(*left, false);
        for (const char* order : {"<=", ">=", "<", ">"}) {
            if (take(order)) return std::nullopt;  // of numbers: not needed for an explanation
        }
        if (take("=")) return compare(*left, true);
        return *left == "y" ? 2 : *left == "m" ? 1 : 0;
    }
    std::optional<int> compare(const std::string& left, bool equal) {
        const auto right = word();
        if (!right) return std::nullopt;
        return (left == *right) == equal ? 2 : 0;
    }
    // The value of a symbol, or a constant.
    std::optional<std::string> word() {
        skip();
        if (at_ < text_.size() && text_[at_] == '"') {
            const std::size_t end = text_.find('"', at_ + 1);
            if (end == std::string_view::npos) return std::nullopt;
            std::string out(text_.substr(at_ + 1, end - at_ - 1));
            at_ = end + 1;
            return out;
        }
        if (text_.substr(at_, 2) == "$(") {  // a macro, such as a test of the compiler
            return std::nullopt;
        }
        std::size_t end = at_;
        while (end < text_.size() &&
               (std::isalnum(static_cast<unsigned char>(text_[end])) != 0 || text_[end] == '_'))
            ++end;
        if (end == at_) return std::nullopt;
        const std::string name(text_.substr(at_, end - at_));
        at_ = end;
        if (name == "y" || name == "n" || name == "m") return name;
        const auto found = config_.find(name);
        if (found != config_.end()) return found->second;
        const bool constant = std::isdigit(static_cast<unsigned char>(name.front())) != 0;
        return constant ? name : std::string("n");
    }

    std::string_view text_;
    const Config& config_;
    std::size_t at_ = 0;
    std::size_t depth_ = 0;
};

bool holds(const std::string& expression, const Config& config) {
    // What can't be evaluated isn't blamed.
    return expression.empty() || evaluate_kconfig(expression, config).value_or(2) > 0;
}

// "A && (B || C)" → "A", "(B || C)".
std::vector<std::string> conjuncts(const std::string& expression) {
    std::vector<std::string> out;
    int depth = 0;
    std::size_t start = 0;
    for (std::size_t at = 0; at <= expression.size(); ++at) {
        const bool end = at == expression.size();
        if (!end && expression[at] == '(') ++depth;
        if (!end && expression[at] == ')') --depth;
        if (!end && (depth != 0 || expression.compare(at, 2, "&&") != 0)) continue;
        out.emplace_back(trimmed(std::string_view(expression).substr(start, at - start)));
        start = at + 2;
        ++at;
    }
    return out;
}

// The parts that aren't so. "A || B && C" can't be split; then it is one part.
std::vector<std::string> unmet_dependencies(const Definition& one, const Config& config) {
    std::vector<std::string> out;
    for (const std::string& expression : one.depends) {
        if (holds(expression, config)) continue;
        const std::size_t before = out.size();
        if (expression.find("||") == std::string::npos) {
            for (std::string& part : conjuncts(expression)) {
                if (!holds(part, config)) out.push_back(std::move(part));
            }
        }
        if (out.size() == before) out.push_back(expression);
    }
    return out;
}

std::string join(const std::vector<std::string>& words, std::string_view between,
                 std::size_t most = 8) {
    std::string out;
    for (std::size_t i = 0; i < words.size(); ++i) {
        if (i == most) return out + fmt::format(" and {} more", words.size() - most);
        out += (i == 0 ? "" : std::string(between)) + words[i];
    }
    return out;
}

std::string value_in(const Config& config, const std::string& option) {
    const auto found = config.find(option);
    return found == config.end() ? "n" : found->second;
}

}  // namespace

Kconfig::Kconfig() : tables_(std::make_unique<Tables>()) {}
Kconfig::Kconfig(Kconfig&&) noexcept = default;
Kconfig& Kconfig::operator=(Kconfig&&) noexcept = default;
Kconfig::~Kconfig() = default;

Kconfig Kconfig::read(const fs::path& tree, std::string_view architecture) {
    Kconfig out;
    Reader(tree, architecture, *out.tables_).read("Kconfig", 0);
    return out;
}

bool Kconfig::has(std::string_view option) const {
    return tables_->options.contains(std::string(option));
}

std::string Kconfig::nearest(std::string_view option) const {
    std::vector<std::string_view> names;
    for (const auto& [name, definitions] : tables_->options)
        names.emplace_back(name);
    std::sort(names.begin(), names.end());
    return nearest_name(option, names);
}

std::string Kconfig::explain(const Setting& setting, const Config& config) const {
    const auto found = tables_->options.find(setting.option);
    if (found == tables_->options.end()) {
        const std::string near = nearest(setting.option);
        return "this kernel has no such option" +
               (near.empty() ? std::string() : fmt::format("; did you mean CONFIG_{}?", near));
    }
    const std::vector<Definition>& all = found->second;
    std::string type;
    for (const Definition& one : all)
        type = type.empty() ? one.type : type;
    const bool yes_no = type == "bool" || type == "tristate";
    if (type == "bool" && setting.value == "m") return "it is y or n, it can't be a module";
    if (yes_no && setting.value != "y" && setting.value != "m" && setting.value != "n") {
        return fmt::format("it is y{} or n", type == "tristate" ? ", m" : "");
    }
    const std::string got = value_in(config, setting.option);
    if (setting.value == "n" || (setting.value == "m" && got == "y")) {
        std::vector<std::string> by;
        if (const auto who = tables_->selected_by.find(setting.option);
            who != tables_->selected_by.end()) {
            for (const Selector& one : who->second) {
                if (value_in(config, one.option) != "n" && holds(one.condition, config)) {
                    by.push_back("CONFIG_" + one.option);
                }
            }
        }
        if (!by.empty()) return "it is selected by " + join(by, ", ");
    }
    for (const Definition& one : all) {
        const auto missing = unmet_dependencies(one, config);
        if (!missing.empty()) {
            return fmt::format("it depends on {}, which {} so ({})", join(missing, " and on "),
                               missing.size() == 1 ? "isn't" : "aren't", one.where);
        }
    }
    for (const Definition& one : all) {
        if (one.choice == 0) continue;
        for (const std::string& other : tables_->choices.at(one.choice)) {
            if (other != setting.option && value_in(config, other) == "y") {
                return fmt::format("it is one of a choice, of which CONFIG_{} was taken ({})",
                                   other, one.where);
            }
        }
    }
    const bool prompt = std::any_of(all.begin(), all.end(), [&](const Definition& one) {
        return one.prompt && holds(one.prompt_if, config);
    });
    if (!prompt) {
        std::vector<std::string> by;
        if (const auto who = tables_->selected_by.find(setting.option);
            who != tables_->selected_by.end()) {
            for (const Selector& one : who->second)
                by.push_back("CONFIG_" + one.option);
        }
        for (const Definition& one : all) {
            if (one.prompt && !one.prompt_if.empty()) {
                return fmt::format("it can only be chosen if {} ({})", one.prompt_if, one.where);
            }
        }
        return by.empty() ? fmt::format("it can't be chosen, the kernel computes it ({})",
                                        all.front().where)
                          : fmt::format("it can't be chosen; it is on where one of these is: {}",
                                        join(by, ", "));
    }
    return fmt::format("the kernel's configuration made it so (see {})", all.front().where);
}

std::optional<int> evaluate_kconfig(std::string_view expression, const Config& config) {
    return Expression(expression, config).value();
}

}  // namespace mano::kernels
