# What other projects find: the libraries, their header, the package "satchel" of CMake and of pkg-config. The tree that is
# installed may be moved. Components are named as the Debian packages they become.
include(CMakePackageConfigHelpers)

# satchel_pkg_config(target): its .pc file.
function(satchel_pkg_config target)
  get_target_property(name ${target} OUTPUT_NAME)
  set(folder ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
  file(RELATIVE_PATH up /${folder} /)
  configure_file(${PROJECT_SOURCE_DIR}/packaging/cmake/satchel.pc.in ${PROJECT_BINARY_DIR}/${name}.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/${name}.pc DESTINATION ${folder} COMPONENT libsatchel-dev)
endfunction()

foreach(target satchel_core satchel_all)
  if(TARGET ${target})
    install(TARGETS ${target} EXPORT satchel LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT libsatchel1
            NAMELINK_COMPONENT libsatchel-dev)
    satchel_pkg_config(${target})
  endif()
endforeach()
install(DIRECTORY ${PROJECT_SOURCE_DIR}/runtime/c_api/include/satchel DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
        COMPONENT libsatchel-dev)

set(folder ${CMAKE_INSTALL_LIBDIR}/cmake/satchel)
install(EXPORT satchel NAMESPACE satchel:: FILE satchel-targets.cmake DESTINATION ${folder} COMPONENT libsatchel-dev)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/satchel-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_SOURCE_DIR}/packaging/cmake/satchel-config.cmake ${PROJECT_BINARY_DIR}/satchel-config-version.cmake
        DESTINATION ${folder} COMPONENT libsatchel-dev)
