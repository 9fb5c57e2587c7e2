# What other projects find: the libraries, their header, the package "satchel" of CMake and of pkg-config. The tree that is
# installed may be moved. Components are named as the Debian packages they become.
include(CMakePackageConfigHelpers)

# satchel_pkg_config(target [NEEDS pkg-config-name…]): its .pc file. NEEDS: of a program that links the static library of that
# name. Not as Requires.private, which everybody would have to have installed.
function(satchel_pkg_config target)
  cmake_parse_arguments(ARG "" "" "NEEDS" ${ARGN})
  get_target_property(name ${target} OUTPUT_NAME)
  set(private "")
  if(ARG_NEEDS)
    list(TRANSFORM ARG_NEEDS REPLACE "^lib" "" OUTPUT_VARIABLE private)
    list(TRANSFORM private PREPEND -l)
    list(JOIN private " " private)
    string(APPEND private " -lstdc++ -lm -pthread")
  endif()
  set(folder ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
  file(RELATIVE_PATH up /${folder} /)
  configure_file(${PROJECT_SOURCE_DIR}/packaging/cmake/satchel.pc.in ${PROJECT_BINARY_DIR}/${name}.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/${name}.pc DESTINATION ${folder} COMPONENT libsatchel-dev)
endfunction()

foreach(target satchel_core satchel_all)
  if(TARGET ${target})
    install(TARGETS ${target} EXPORT satchel LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT libsatchel1
            NAMELINK_COMPONENT libsatchel-dev)
  endif()
endforeach()
if(TARGET satchel_static)
  install(TARGETS satchel_static EXPORT satchel-static ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT libsatchel-dev)
  string(REPLACE " " ";" needs ${SATCHEL_NEEDS})
endif()
if(TARGET satchel_all)
  satchel_pkg_config(satchel_all NEEDS ${needs})
endif()
satchel_pkg_config(satchel_core)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/runtime/c_api/include/satchel DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
        COMPONENT libsatchel-dev)

set(folder ${CMAKE_INSTALL_LIBDIR}/cmake/satchel)
install(EXPORT satchel NAMESPACE satchel:: FILE satchel-targets.cmake DESTINATION ${folder} COMPONENT libsatchel-dev)
if(TARGET satchel_static)
  install(EXPORT satchel-static NAMESPACE satchel:: FILE satchel-static-targets.cmake DESTINATION ${folder} COMPONENT libsatchel-dev)
endif()
configure_file(${PROJECT_SOURCE_DIR}/packaging/cmake/satchel-config.cmake.in ${PROJECT_BINARY_DIR}/satchel-config.cmake @ONLY)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/satchel-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/satchel-config.cmake ${PROJECT_BINARY_DIR}/satchel-config-version.cmake
        DESTINATION ${folder} COMPONENT libsatchel-dev)
