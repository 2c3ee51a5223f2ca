# SPDX-License-Identifier: GPL-2.0-or-later
# cmake -DOUT=FILE -DIN=a.toml,b.toml -P embed.cmake: writes embedded_experiments() with the texts.
string(REPLACE "," ";" files "${IN}")
set(text "// SPDX-License-Identifier: GPL-2.0-or-later\n// Made by embed.cmake.\n")
string(APPEND text "#include \"experiment/embedded.h\"\n\nnamespace mano::experiment {\n\n")
set(table "")
set(number 0)
foreach(file ${files})
  get_filename_component(name "${file}" NAME_WE)
  # As numbers: no text can break out of them, and CMake's own lists can't break the text.
  file(READ "${file}" hex HEX)
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "'\\\\x\\1'," bytes "${hex}")
  string(APPEND text "static constexpr char kText${number}[] = {${bytes}'\\0'};\n")
  string(APPEND table
         "    {\"${name}\", std::string_view(kText${number}, sizeof(kText${number}) - 1)},\n")
  math(EXPR number "${number} + 1")
endforeach()
string(APPEND text "\nstatic constexpr Embedded kAll[] = {\n${table}};\n\n")
string(APPEND text "std::span<const Embedded> embedded_experiments() { return kAll; }\n\n}\n")
file(WRITE "${OUT}" "${text}")
