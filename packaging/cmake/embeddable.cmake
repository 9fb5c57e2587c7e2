# satchel_embeddable(target name EXPORT name [SOURCES …] [LINK …]): lib<name>.so, which other programs link as satchel::<EXPORT>,
# built beside them or installed, with the C API and nothing else to be seen: what it is made of, third-party libraries
# included, never meets the program's own.
# The number in the soname.
file(STRINGS ${PROJECT_SOURCE_DIR}/runtime/c_api/include/satchel/satchel.h abi_line REGEX "^#define SATCHEL_ABI_VERSION [0-9]+$")
string(REGEX MATCH "[0-9]+$" SATCHEL_ABI_VERSION "${abi_line}")
function(satchel_embeddable target name)
  cmake_parse_arguments(ARG "" "EXPORT" "SOURCES;LINK" ${ARGN})
  set(script ${PROJECT_SOURCE_DIR}/packaging/cmake/embeddable.map)
  add_library(${target} SHARED ${ARG_SOURCES} $<TARGET_OBJECTS:satchel_c_api>)
  add_library(satchel::${ARG_EXPORT} ALIAS ${target})
  target_include_directories(${target}
    PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/runtime/c_api/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  target_link_libraries(${target} PRIVATE satchel::runtime ${ARG_LINK})
  target_link_options(${target} PRIVATE -Wl,--version-script=${script} -Wl,--exclude-libs,ALL -Wl,-z,defs -Wl,--as-needed)
  set_target_properties(${target} PROPERTIES
    OUTPUT_NAME ${name} EXPORT_NAME ${ARG_EXPORT} VERSION ${SATCHEL_ABI_VERSION}.${PROJECT_VERSION} SOVERSION ${SATCHEL_ABI_VERSION}
    LINK_DEPENDS ${script} LINKER_LANGUAGE CXX)
  satchel_strict(${target})
endfunction()
