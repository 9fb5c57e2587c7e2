# The list of published systems is app/cli/systems.json, compiled in as text.
function(satchel_systems_table out_table)
  set(list ${CMAKE_CURRENT_SOURCE_DIR}/systems.json)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${list})
  file(READ ${list} text)
  set(table ${CMAKE_CURRENT_BINARY_DIR}/systems_table.cpp)
  file(WRITE ${table}.new
"// Written by packaging/cmake/systems_table.cmake from app/cli/systems.json.
#include \"app/cli/published_systems.h\"

namespace satchel::app {
std::string_view systems_json() {
  return R\"systems(${text})systems\";
}
}  // namespace satchel::app
")
  file(COPY_FILE ${table}.new ${table} ONLY_IF_DIFFERENT)
  set(${out_table} ${table} PARENT_SCOPE)
endfunction()
