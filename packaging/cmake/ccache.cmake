# Uses ccache where it is installed; a second build after a branch switch then costs seconds.
find_program(SATCHEL_CCACHE ccache)
if(SATCHEL_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_C_COMPILER_LAUNCHER ${SATCHEL_CCACHE})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${SATCHEL_CCACHE})
endif()
