# SPDX-License-Identifier: GPL-2.0-or-later
# cmake -DBUILD=… -DSOURCE=… -DWORK=… -DCXX=… -P package_test.cmake: installs the library, builds the
# example against it as a stranger would, and runs it.
file(REMOVE_RECURSE ${WORK})
function(must)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT result EQUAL 0)
    message(FATAL_ERROR "${ARGN}: ${result}\n${output}")
  endif()
  set(output "${output}" PARENT_SCOPE)
endfunction()
must(${CMAKE_COMMAND} --install ${BUILD} --component pagemodel --prefix ${WORK}/prefix)
file(COPY ${SOURCE}/ DESTINATION ${WORK}/project)
must(${CMAKE_COMMAND} -S ${WORK}/project -B ${WORK}/build -DCMAKE_PREFIX_PATH=${WORK}/prefix
     -DCMAKE_CXX_COMPILER=${CXX} "-DCMAKE_CXX_FLAGS=${CXX_FLAGS}")
must(${CMAKE_COMMAND} --build ${WORK}/build)
must(${WORK}/build/free_orders)
if(NOT output MATCHES "6.12: ([0-9]+) lock holds.*7.3: ([0-9]+) lock holds")
  message(FATAL_ERROR "the example printed: ${output}")
endif()
message(STATUS "${output}")
