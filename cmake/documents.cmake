# SPDX-License-Identifier: GPL-2.0-or-later
# cmake -DPROGRAM=manometer -DOUT=FOLDER -DROOT=SOURCES -DVERSION=0.1.0 -P documents.cmake
# writes what a package holds beside the program: man1/*.1.gz, completions, copyright, changelog.
file(REMOVE_RECURSE ${OUT})
file(MAKE_DIRECTORY ${OUT}/man1)

function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE code ERROR_VARIABLE why)
  if(NOT code EQUAL 0)
    message(FATAL_ERROR "${ARGN}: ${why}")
  endif()
endfunction()

run(${PROGRAM} man -o ${OUT}/man1)
file(GLOB pages ${OUT}/man1/*.1)
run(gzip -9n ${pages})
foreach(shell bash zsh fish)
  execute_process(COMMAND ${PROGRAM} completion ${shell} RESULT_VARIABLE code
                  OUTPUT_VARIABLE text_${shell})
  if(NOT code EQUAL 0)
    message(FATAL_ERROR "completion ${shell} failed")
  endif()
endforeach()
file(WRITE ${OUT}/manometer "${text_bash}")
file(WRITE ${OUT}/_manometer "${text_zsh}")
file(WRITE ${OUT}/manometer.fish "${text_fish}")
configure_file(${ROOT}/CHANGELOG.md ${OUT}/CHANGELOG.md COPYONLY)
# SOURCE_DATE_EPOCH makes the date that of the sources.
string(TIMESTAMP date "%a, %d %b %Y %H:%M:%S +0000" UTC)
file(WRITE ${OUT}/changelog "manometer (${VERSION}) unstable; urgency=medium

  * See CHANGELOG.md.

 -- ${MAINTAINER}  ${date}
")
run(gzip -9n ${OUT}/changelog ${OUT}/CHANGELOG.md)
file(WRITE ${OUT}/copyright
"Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: manometer

Files: *
Copyright: 2026 Manometer developers
License: GPL-2.0-or-later
 This program is free software; you can redistribute it and/or modify it under
 the terms of the GNU General Public License as published by the Free Software
 Foundation; either version 2 of the License, or (at your option) any later
 version.
 .
 On Debian systems, the full text of the GNU General Public License version 2
 can be found in the file '/usr/share/common-licenses/GPL-2'.
")
# What lintian would complain of, each with its reason.
file(WRITE ${OUT}/lintian
"# A package made by cpack from any commit closes no bug of Debian's.
manometer: initial-upload-closes-no-bugs
# Who builds a package says so with -DMANO_MAINTAINER='Name <address>'.
manometer: bogus-mail-host
manometer: bogus-mail-host-in-debian-changelog
")
file(WRITE ${OUT}/done "")
