# Debian packages by CPack (packaging/deb.sh). One per component of the install rules; what each needs of others is found by
# dpkg-shlibdeps. Here: what they are, and the files that every package has.
set(SATCHEL_MAINTAINER "The Satchel developers <maintainers@satchel.example>" CACHE STRING "who answers for the packages")
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME satchel)
set(CPACK_PACKAGE_CONTACT ${SATCHEL_MAINTAINER})
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "")  # each has its own
set(CPACK_STRIP_FILES ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
    OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_COMPONENTS_ALL "")
find_program(SATCHEL_GZIP gzip)
execute_process(COMMAND ${SATCHEL_GZIP} -9nc ${PROJECT_SOURCE_DIR}/packaging/deb/changelog
                OUTPUT_FILE ${PROJECT_BINARY_DIR}/changelog.Debian.gz COMMAND_ERROR_IS_FATAL ANY)

# satchel_package(component SECTION … SUMMARY … TEXT … [DEPENDS …] [SUGGESTS …] [ANY_MACHINE]): the component's package.
function(satchel_package component)
  cmake_parse_arguments(ARG "ANY_MACHINE" "SECTION;SUMMARY;TEXT;DEPENDS;SUGGESTS" "" ${ARGN})
  string(TOUPPER ${component} name)
  install(FILES ${PROJECT_SOURCE_DIR}/packaging/deb/copyright ${PROJECT_BINARY_DIR}/changelog.Debian.gz
          DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/${component} COMPONENT ${component})
  set(prefix CPACK_DEBIAN_${name})
  set(${prefix}_PACKAGE_NAME ${component} PARENT_SCOPE)
  set(${prefix}_FILE_NAME DEB-DEFAULT PARENT_SCOPE)
  set(${prefix}_PACKAGE_SECTION ${ARG_SECTION} PARENT_SCOPE)
  set(${prefix}_PACKAGE_DEPENDS ${ARG_DEPENDS} PARENT_SCOPE)
  set(${prefix}_PACKAGE_SUGGESTS ${ARG_SUGGESTS} PARENT_SCOPE)
  if(ARG_ANY_MACHINE)
    set(${prefix}_PACKAGE_ARCHITECTURE all PARENT_SCOPE)
  endif()
  # The first line is the summary; CPack gives the rest Debian's form.
  set(CPACK_COMPONENT_${name}_DESCRIPTION "${ARG_SUMMARY}\n${ARG_TEXT}" PARENT_SCOPE)
  set(CPACK_COMPONENTS_ALL ${CPACK_COMPONENTS_ALL} ${component} PARENT_SCOPE)
endfunction()

set(version ${PROJECT_VERSION}-${CPACK_DEBIAN_PACKAGE_RELEASE})
# Debian's form: a line has less than 80 columns.
set(about
"Satchel runs language models (GGUF files) on this computer. It holds long
conversations and documents in a fixed amount of memory, by compressing the
model's cache, and resumes them from disk.

This package holds ")
satchel_package(libsatchel1 SECTION libs SUMMARY "chat runtime with a compressed cache - libraries" SUGGESTS satchel-model-notes
                TEXT "${about}the libraries that programs embed: libsatchel, and\nlibsatchel-core, which keeps nothing on disk.")
set(CPACK_DEBIAN_LIBSATCHEL1_PACKAGE_CONTROL_EXTRA ${PROJECT_SOURCE_DIR}/packaging/deb/triggers)
satchel_package(libsatchel-dev SECTION libdevel SUMMARY "chat runtime with a compressed cache - development files"
                DEPENDS "libsatchel1 (= ${version})" SUGGESTS "satchel-model-notes, libpcre2-dev, libsqlite3-dev, libzstd-dev"
                TEXT "${about}the headers of C and C++, the static library (which needs\nthe packages suggested), and what CMake and pkg-config need to find them.")
satchel_package(satchel-model-notes SECTION misc SUMMARY "small language model that answers questions about notes" ANY_MACHINE
                TEXT "${about}notes-mini, a model of 2.6 million parameters that shows and\ntests what compression costs. It is not a general chat model.")
if(SATCHEL_STORAGE AND SATCHEL_PROGRAMS)
  satchel_package(satchel SECTION utils SUMMARY "chat with local models in a fixed amount of memory"
                  DEPENDS "satchel-model-notes (= ${version})" SUGGESTS poppler-utils TEXT "${about}the command line.")
endif()
if(TARGET satchel-desktop)
  satchel_package(satchel-desktop SECTION utils SUMMARY "chat with local models in a fixed amount of memory - window"
                  DEPENDS "satchel-model-notes (= ${version})" SUGGESTS "poppler-utils, qt6-translations-l10n"
                  TEXT "${about}the desktop application.")
endif()
include(CPack)
