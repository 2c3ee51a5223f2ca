# SPDX-License-Identifier: GPL-2.0-or-later
# cmake -DOUT=FILE -DROOT=FOLDER -DIN=a.toml,b.toml -DHEADER=x/y.h -DFUNCTION=mano::x::f -P embed.cmake
# writes the definition of FUNCTION, which HEADER declares: the texts of the files, each with its path
# below ROOT as its name. Texts may be empty.
string(REPLACE "," ";" files "${IN}")
string(REGEX REPLACE "^(.*)::([^:]*)$" "\\1" namespace "${FUNCTION}")
string(REGEX REPLACE "^(.*)::([^:]*)$" "\\2" function "${FUNCTION}")
set(text "// SPDX-License-Identifier: GPL-2.0-or-later\n// Made by embed.cmake.\n")
string(APPEND text "#include \"${HEADER}\"\n\nnamespace ${namespace} {\n\n")
set(table "")
set(number 0)
foreach(file ${files})
  file(RELATIVE_PATH name "${ROOT}" "${file}")
  # As numbers: no text can break out of them, and CMake's own lists can't break the text.
  file(READ "${file}" hex HEX)
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "'\\\\x\\1'," bytes "${hex}")
  string(APPEND text "static constexpr char kText${number}[] = {${bytes}'\\0'};\n")
  string(APPEND table
         "    {\"${name}\", std::string_view(kText${number}, sizeof(kText${number}) - 1)},\n")
  math(EXPR number "${number} + 1")
endforeach()
string(APPEND text "\nstatic constexpr Embedded kAll[] = {\n${table}};\n\n")
string(APPEND text "std::span<const Embedded> ${function}() { return kAll; }\n\n}\n")
file(WRITE "${OUT}" "${text}")
