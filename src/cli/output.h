// SPDX-License-Identifier: GPL-2.0-or-later
// Standard output and error of the verbs. Texts from guests, kernels and files are hostile: what
// goes to a terminal passes through printable() first.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace mano::cli {

// Writes all of it to standard output. A reader that has gone away is no error; a full disk is.
Status print(std::string_view text);
// To where `-o` points: "-" is standard output. What is there keeps its kind and its mode: a
// device, a pipe or a link is written to, a file is replaced as a whole when all of it is there. No
// folder is made.
Status write_output(const std::string& where, std::string_view text);
// Standard error; nothing can be done when that fails.
void print_error(std::string_view text);
// "manometer: message\n" on standard error, every line of it.
void complain(const Error& error);
// Exit code of an error: invalid and not_found 1, environment 2, interrupted 128 plus the signal,
// all others 3.
int exit_code_of(const Error& error);

// Standard output is a terminal whose locale says UTF-8. Elsewhere (mails, files, pipes) plots keep
// to ASCII.
bool terminal_takes_utf8();

// Control characters but the line feed become '?', so that a guest can't steer the terminal.
std::string printable(std::string_view text);

// Columns under a header, two blanks apart, the last one as long as it likes. Numbers (columns
// named in `right`) are aligned to the right.
std::string columns(const std::vector<std::vector<std::string>>& rows,
                    const std::vector<std::size_t>& right = {});
// Words filled into lines of at most 80 columns, each indented; an empty line parts paragraphs.
std::string fill(std::string_view text, std::size_t indent);

}  // namespace mano::cli
