// SPDX-License-Identifier: GPL-2.0-or-later
// Errors as values: what every folder returns instead of throwing. Must not know any other folder.
#pragma once

#include <fmt/format.h>

#include <memory>
#include <string>
#include <tl/expected.hpp>
#include <utility>

namespace mano {

// What an error means for the person in front of the program; the command line maps it to its
// exit code (docs/exit-codes in the README): invalid → 1, environment → 2, everything else → 3
// unless the command says otherwise.
enum class Code {
    invalid,      // the user's input is wrong: usage, file contents, names
    environment,  // this machine lacks something: a program, a right, space, the network
    not_found,    // a named thing (run set, kernel, experiment) does not exist
    hostile,      // data from a guest or an imported file is malformed or forged
    corrupt,      // our own stored data is damaged
    interrupted,  // the user asked to stop
    internal,     // a fault of ours
};

// A message names path, line, key, value and the mend. `cause` is what the layer below said.
struct Error {
    Code code = Code::internal;
    std::string message;
    std::shared_ptr<const Error> cause;

    // The message with its causes, outermost first, joined by ": ".
    std::string text() const;
};

template <typename T>
class [[nodiscard]] Result : public tl::expected<T, Error> {
  public:
    using tl::expected<T, Error>::expected;
    // NOLINTNEXTLINE(bugprone-forwarding-reference-overload)
};

using Status = Result<void>;

template <typename... Args>
tl::unexpected<Error> fail(Code code, fmt::format_string<Args...> text, Args&&... args) {
    return tl::unexpected<Error>(
        Error{code, fmt::format(text, std::forward<Args>(args)...), nullptr});
}

// Wraps an error of a lower layer: keeps its code, puts `text` in front.
template <typename... Args>
tl::unexpected<Error> wrap(const Error& cause, fmt::format_string<Args...> text, Args&&... args) {
    return tl::unexpected<Error>(Error{cause.code, fmt::format(text, std::forward<Args>(args)...),
                                       std::make_shared<const Error>(cause)});
}

// "what: strerror (errno)", as code `environment`.
tl::unexpected<Error> fail_errno(int number, std::string_view what);

}  // namespace mano

// Returns the error of `expression` (a Result or Status) to the caller, else goes on.
#define MANO_TRY(expression)                                                    \
    do {                                                                        \
        if (auto mano_try_ = (expression); !mano_try_) {                        \
            return tl::unexpected<::mano::Error>(std::move(mano_try_).error()); \
        }                                                                       \
    } while (false)

#define MANO_CONCAT_(a, b) a##b
#define MANO_CONCAT(a, b) MANO_CONCAT_(a, b)
// MANO_ASSIGN(auto x, f()): x is the value of the Result, or its error is returned.
#define MANO_ASSIGN(declaration, expression) \
    MANO_ASSIGN_(MANO_CONCAT(mano_assign_, __LINE__), declaration, expression)
#define MANO_ASSIGN_(temporary, declaration, expression)                    \
    auto temporary = (expression);                                          \
    if (!temporary) {                                                       \
        return tl::unexpected<::mano::Error>(std::move(temporary).error()); \
    }                                                                       \
    declaration = std::move(*temporary)
