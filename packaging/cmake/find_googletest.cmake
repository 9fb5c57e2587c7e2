# GoogleTest: the libraries of a package, or its sources, where a machine has only these (Debian's package googletest).
# GOOGLETEST_SOURCES names them.
find_package(GTest QUIET)
if(NOT TARGET GTest::gmock)
  find_path(GOOGLETEST_SOURCES googlemock/CMakeLists.txt PATHS /usr/src PATH_SUFFIXES src/googletest googletest NO_CACHE)
  if(NOT GOOGLETEST_SOURCES)
    message(FATAL_ERROR "GoogleTest is not there, neither built nor as sources: install libgtest-dev and libgmock-dev, "
                        "or name its sources with -DGOOGLETEST_SOURCES, or configure with -DSATCHEL_TESTS=OFF.")
  endif()
  set(INSTALL_GTEST OFF)
  add_subdirectory(${GOOGLETEST_SOURCES} ${CMAKE_BINARY_DIR}/googletest EXCLUDE_FROM_ALL)
  foreach(library gtest gmock gtest_main gmock_main)
    target_compile_options(${library} PRIVATE -w)  # a newer compiler may warn, and its own flags make that an error
    get_target_property(headers ${library} INTERFACE_INCLUDE_DIRECTORIES)
    target_include_directories(${library} SYSTEM INTERFACE ${headers})
  endforeach()
endif()
