# What a lane table is made from, and the tables of the models we know, are files of runtime/profile, compiled in as text.
# A row `type{"name", "text"},` for each file that `pattern` finds; NAME_WE or NAME: what it is called.
function(satchel_profile_rows out_rows pattern name type)
  set(rows "")
  file(GLOB found CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/profile/${pattern})
  list(SORT found)
  foreach(file IN LISTS found)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
    get_filename_component(called ${file} ${name})
    file(READ ${file} text)
    string(APPEND rows "      ${type}{\"${called}\", R\"profile(${text})profile\"},\n")
  endforeach()
  set(${out_rows} "${rows}" PARENT_SCOPE)
endfunction()

function(satchel_profile_table out_table)
  satchel_profile_rows(texts texts/*.txt NAME_WE ProfileText)
  satchel_profile_rows(tables tables/*.json NAME ShippedTable)
  set(table ${CMAKE_CURRENT_BINARY_DIR}/profile_table.cpp)
  file(WRITE ${table}.new
"// Written by packaging/cmake/profile_table.cmake from runtime/profile.
#include <vector>

#include \"runtime/profile/lane_profiler.h\"
#include \"runtime/profile/lane_tables.h\"

namespace satchel::runtime {
std::span<const ProfileText> profile_texts() {
  static constexpr ProfileText kTexts[] = {
${texts}  };
  return kTexts;
}
std::span<const ShippedTable> shipped_lane_tables() {
  static const std::vector<ShippedTable> kTables = {
${tables}  };
  return kTables;
}
}  // namespace satchel::runtime
")
  file(COPY_FILE ${table}.new ${table} ONLY_IF_DIFFERENT)
  set(${out_table} ${table} PARENT_SCOPE)
endfunction()
