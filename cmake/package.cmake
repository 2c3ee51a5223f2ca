# SPDX-License-Identifier: GPL-2.0-or-later
# What is installed, and the Debian package: `cmake --build BUILD --target package` (or cpack in it).
# Manual pages and completions are written by the program itself.
include(GNUInstallDirs)

set(MANO_MAINTAINER "Manometer developers <manometer@localhost.localdomain>"
    CACHE STRING "Who makes the Debian package: Name <address>")
set(documents ${CMAKE_BINARY_DIR}/documents)
add_custom_command(
  OUTPUT ${documents}/done
  COMMAND ${CMAKE_COMMAND} -DPROGRAM=$<TARGET_FILE:manometer> -DOUT=${documents}
          -DROOT=${CMAKE_SOURCE_DIR} -DVERSION=${PROJECT_VERSION} -DMAINTAINER=${MANO_MAINTAINER}
          -P ${CMAKE_SOURCE_DIR}/cmake/documents.cmake
  DEPENDS manometer ${CMAKE_SOURCE_DIR}/cmake/documents.cmake ${CMAKE_SOURCE_DIR}/CHANGELOG.md
  COMMENT "Manual pages and completions"
  VERBATIM)
add_custom_target(documents DEPENDS ${documents}/done)

install(TARGETS manometer RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
# Optional: `cmake --install` works without them, a package needs them (the target `deb`).
install(DIRECTORY ${documents}/man1 DESTINATION ${CMAKE_INSTALL_MANDIR} OPTIONAL)
install(FILES ${documents}/manometer DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions
        OPTIONAL)
install(FILES ${documents}/_manometer
        DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/vendor-completions OPTIONAL)
install(FILES ${documents}/manometer.fish
        DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d OPTIONAL)
install(FILES ${documents}/copyright ${documents}/changelog.gz ${documents}/CHANGELOG.md.gz
        DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/manometer OPTIONAL)
install(FILES ${documents}/lintian DESTINATION ${CMAKE_INSTALL_DATADIR}/lintian/overrides
        RENAME manometer OPTIONAL)

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_PACKAGE_NAME manometer)
set(CPACK_PACKAGE_VENDOR Manometer)
set(CPACK_PACKAGE_CONTACT ${MANO_MAINTAINER})
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "measures what a kernel does under memory pressure")
set(CPACK_DEBIAN_PACKAGE_DESCRIPTION
    "Boots two kernels in throwaway guests, brings each to a verified memory
pressure, runs a probe, repeats, and prints a table with a verdict.")
set(CPACK_DEBIAN_PACKAGE_SECTION devel)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_DEPENDS "qemu-system-x86, debian-archive-keyring")
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ
    GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
include(CPack)
# cpack in the build folder, with the documents made before.
add_custom_target(deb COMMAND ${CMAKE_CPACK_COMMAND} --config ${CMAKE_BINARY_DIR}/CPackConfig.cmake
                  WORKING_DIRECTORY ${CMAKE_BINARY_DIR} DEPENDS manometer documents VERBATIM)
