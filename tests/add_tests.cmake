# satchel_add_tests(target PREFIX p [WITHOUT pattern] [PROPERTIES …]): one ctest entry for each test suite of a GoogleTest
# program, not one for each test, which were thousands of processes. A suite that fails prints what its program says: each
# failure where it happened, then the names of the tests that failed. WITHOUT: names of tests that are not run.
function(satchel_add_tests target)
  cmake_parse_arguments(ARG "" "PREFIX;WITHOUT" "PROPERTIES" ${ARGN})
  set(file ${CMAKE_CURRENT_BINARY_DIR}/${target}_suites.cmake)
  file(GENERATE OUTPUT ${file} CONTENT
"set(program \"$<TARGET_FILE:${target}>\")
set(prefix \"${ARG_PREFIX}\")
set(without \"${ARG_WITHOUT}\")
set(properties \"${ARG_PROPERTIES}\")
include(\"${CMAKE_CURRENT_FUNCTION_LIST_DIR}/list_suites.cmake\")
")
  set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES ${file})
endfunction()
