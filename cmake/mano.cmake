# SPDX-License-Identifier: GPL-2.0-or-later
# What every target shares: warnings as errors, sanitizers, and the helpers
#   mano_library(NAME sources… LINK targets…)      src/NAME → target mano_NAME
#   mano_embed(OUT_VARIABLE FOLDER HEADER FUNCTION patterns…)  files → a .cpp that defines FUNCTION
#   mano_test(NAME sources… LINK targets… [LABELS …]) a GoogleTest program, registered with ctest
#   mano_page(TARGET SOURCE)                      the page of web/, for SOURCE to embed
#   mano_fuzz(NAME source LINK targets…)            a libFuzzer program (with MANO_FUZZ)

find_program(CCACHE ccache)
if(CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CCACHE})
endif()

set(MANO_WARNINGS -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  # gcc 12 sees overlaps of 2^63 bytes in "literal" + string (GCC bug 105651); clang checks it too.
  list(APPEND MANO_WARNINGS -Wno-restrict)
endif()

add_library(mano_flags INTERFACE)
# What is installed (the model) brings its own headers and no warnings.
target_compile_options(mano_flags INTERFACE "$<BUILD_INTERFACE:${MANO_WARNINGS}>")
target_include_directories(mano_flags INTERFACE $<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}/src>
                           $<INSTALL_INTERFACE:include/pagemodel>)
if(MANO_SANITIZE)
  target_compile_options(mano_flags INTERFACE -fsanitize=address,undefined
                         -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_link_options(mano_flags INTERFACE -fsanitize=address,undefined)
endif()
if(MANO_TSAN)
  target_compile_options(mano_flags INTERFACE -fsanitize=thread -fno-omit-frame-pointer)
  target_link_options(mano_flags INTERFACE -fsanitize=thread)
endif()
if(MANO_FUZZ)
  target_compile_options(mano_flags INTERFACE -fsanitize=fuzzer-no-link,address,undefined
                         -fno-sanitize-recover=all)
  target_link_options(mano_flags INTERFACE -fsanitize=address,undefined)
endif()

function(mano_library name)
  cmake_parse_arguments(A "" "" "LINK" ${ARGN})
  add_library(mano_${name} STATIC ${A_UNPARSED_ARGUMENTS})
  target_link_libraries(mano_${name} PUBLIC mano_flags ${A_LINK})
endfunction()

# The files of FOLDER (in the source tree) that match a pattern, as a source file that defines
# FUNCTION ("mano::x::f", declared in HEADER). A file that comes or goes is noticed.
function(mano_embed out_variable folder header function)
  set(root ${CMAKE_SOURCE_DIR}/${folder})
  list(TRANSFORM ARGN PREPEND ${root}/)
  file(GLOB files CONFIGURE_DEPENDS ${ARGN})
  string(REPLACE ";" "," list "${files}")
  set(out ${CMAKE_CURRENT_BINARY_DIR}/embedded.cpp)
  add_custom_command(
    OUTPUT ${out}
    COMMAND ${CMAKE_COMMAND} -DOUT=${out} -DROOT=${root} -DIN=${list} -DHEADER=${header}
            -DFUNCTION=${function} -P ${CMAKE_SOURCE_DIR}/cmake/embed.cmake
    DEPENDS ${files} ${CMAKE_SOURCE_DIR}/cmake/embed.cmake
    VERBATIM)
  set(${out_variable} ${out} PARENT_SCOPE)
endfunction()

# Builds the page of web/ and tells SOURCE, of TARGET, where it is (MANO_PAGE_FILE). Without node and
# npm there is none, and the program says so when it is asked for a report. Without a network (and
# with nothing in npm's cache) the page is empty and is tried again with the next build; with
# MANO_WEB=ON both are errors.
set(MANO_WEB AUTO CACHE STRING "The page of `manometer report`: AUTO, ON (must be there), OFF")
function(mano_page target source)
  find_program(NODE node)
  find_program(NPM npm)
  if(MANO_WEB STREQUAL "OFF" OR NOT NODE OR NOT NPM)
    if(MANO_WEB STREQUAL "ON")
      message(FATAL_ERROR "MANO_WEB=ON: node and npm are needed (tools/deps page)")
    endif()
    message(STATUS "No node and npm, or MANO_WEB=OFF: `manometer report` will have no page")
    return()
  endif()
  file(GLOB files CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/web/src/* ${CMAKE_SOURCE_DIR}/web/*.json
       ${CMAKE_SOURCE_DIR}/web/build.mjs)
  set(page ${CMAKE_CURRENT_BINARY_DIR}/page.html)
  add_custom_command(
    OUTPUT ${page}
    COMMAND ${CMAKE_COMMAND} -DNODE=${NODE} -DSCRIPT=${CMAKE_SOURCE_DIR}/web/build.mjs -DOUT=${page}
            -DMUST=${MANO_WEB} -P ${CMAKE_SOURCE_DIR}/cmake/page.cmake
    DEPENDS ${files} ${CMAKE_SOURCE_DIR}/cmake/page.cmake
    COMMENT "The page of `manometer report`"
    VERBATIM)
  set_source_files_properties(${source} PROPERTIES OBJECT_DEPENDS ${page}
                              COMPILE_DEFINITIONS MANO_PAGE_FILE="${page}")
endfunction()

function(mano_test name)
  if(NOT BUILD_TESTING)
    return()
  endif()
  cmake_parse_arguments(A "" "TIMEOUT" "LINK;LABELS" ${ARGN})
  find_package(GTest REQUIRED)
  add_executable(${name} ${A_UNPARSED_ARGUMENTS})
  target_link_libraries(${name} PRIVATE mano_flags ${A_LINK} GTest::gmock GTest::gtest_main)
  target_compile_definitions(${name} PRIVATE MANO_SOURCE_DIR="${CMAKE_SOURCE_DIR}")
  add_test(NAME ${name} COMMAND ${name})
  if(NOT A_LABELS)
    set(A_LABELS unit)
  endif()
  if(NOT A_TIMEOUT)
    set(A_TIMEOUT 120)
  endif()
  set_tests_properties(${name} PROPERTIES LABELS "${A_LABELS}" TIMEOUT ${A_TIMEOUT})
endfunction()

function(mano_fuzz name)
  if(NOT MANO_FUZZ)
    return()
  endif()
  cmake_parse_arguments(A "" "" "LINK" ${ARGN})
  add_executable(${name} ${A_UNPARSED_ARGUMENTS})
  target_link_libraries(${name} PRIVATE mano_flags ${A_LINK})
  target_compile_options(${name} PRIVATE -fsanitize=fuzzer)
  target_link_options(${name} PRIVATE -fsanitize=fuzzer)
  target_compile_definitions(${name} PRIVATE MANO_SOURCE_DIR="${CMAKE_SOURCE_DIR}")
endfunction()
