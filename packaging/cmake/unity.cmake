# satchel_unity(target [ALONE file…]): compiles eight files of the target at a time, since headers are most of a file's time.
# ALONE: files that define names of their own which others of the target define too.
# -DCMAKE_UNITY_BUILD=OFF compiles each by itself and finds includes that are missing: the presets dev and clang.
function(satchel_unity target)
  cmake_parse_arguments(ARG "" "" "ALONE" ${ARGN})
  if(DEFINED CMAKE_UNITY_BUILD)
    return()
  endif()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 8)
  set_source_files_properties(${ARG_ALONE} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
endfunction()
