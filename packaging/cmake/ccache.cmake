# Uses ccache where it is installed; a second build after a branch switch then costs seconds. Paths are hashed
# relative to the sources, so that clones share what is cached. The sloppiness is what precompiled headers need.
find_program(SATCHEL_CCACHE ccache)
if(SATCHEL_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(launcher env CCACHE_BASEDIR=${CMAKE_SOURCE_DIR} CCACHE_NOHASHDIR=1
               CCACHE_SLOPPINESS=pch_defines,time_macros ${SATCHEL_CCACHE})
  set(CMAKE_C_COMPILER_LAUNCHER ${launcher})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${launcher})
endif()
