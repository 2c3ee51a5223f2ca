# SPDX-License-Identifier: GPL-2.0-or-later
# cmake -DNODE=… -DSCRIPT=web/build.mjs -DOUT=FILE -DMUST=AUTO|ON -P page.cmake
# builds the page. When that fails (no network, say) and it isn't a must, OUT is an empty file older
# than all it depends on, so that the next build tries again.
execute_process(COMMAND ${NODE} ${SCRIPT} ${OUT} RESULT_VARIABLE code ERROR_VARIABLE why)
if(code EQUAL 0)
  return()
endif()
if(MUST STREQUAL "ON")
  message(FATAL_ERROR "${why}")
endif()
message(WARNING "`manometer report` will have no page: ${why}")
file(WRITE ${OUT} "")
execute_process(COMMAND touch -d @0 ${OUT})
