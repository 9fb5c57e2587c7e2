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

# satchel_embeddable_static(): libsatchel.a, which programs link as satchel::static: the same, with the store where that is
# built, and with all that it is made of to be seen. Third-party libraries are the program's to link; SATCHEL_NEEDS has their
# pkg-config names.
function(satchel_embeddable_static)
  set(needs libpcre2-8)
  set(objects $<TARGET_OBJECTS:satchel_c_api>)
  set(layers kernels kvcache runtime)
  set(links satchel_pcre2)
  if(TARGET satchel_storage)
    list(APPEND needs libzstd)
    list(APPEND objects $<TARGET_OBJECTS:satchel_store_c_api>)
    list(APPEND layers storage)
    list(APPEND links satchel_sqlite PkgConfig::ZSTD)
    get_target_property(sqlite satchel_sqlite TYPE)
    if(sqlite STREQUAL "STATIC_LIBRARY")  # one of our own
      list(APPEND objects $<TARGET_OBJECTS:satchel_sqlite>)
    else()
      list(APPEND needs sqlite3)
    endif()
  endif()
  foreach(layer IN LISTS layers)
    list(APPEND objects $<TARGET_OBJECTS:satchel_${layer}>)
  endforeach()
  add_library(satchel_static STATIC ${objects})
  add_library(satchel::static ALIAS satchel_static)
  target_include_directories(satchel_static INTERFACE
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/runtime/c_api/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  target_link_libraries(satchel_static INTERFACE
    Threads::Threads "$<BUILD_INTERFACE:${links}>" $<INSTALL_INTERFACE:PkgConfig::SATCHEL_NEEDS>)
  set_target_properties(satchel_static PROPERTIES OUTPUT_NAME satchel EXPORT_NAME static LINKER_LANGUAGE CXX)
  list(JOIN needs " " needs)
  set(SATCHEL_NEEDS ${needs} PARENT_SCOPE)
endfunction()
