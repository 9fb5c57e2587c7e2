# A static library drops an object file that nobody refers to, and a self-registering constructor with it. So the stage
# folders are listed here and one table is written; each file defines `extern const StageMaker <folder>_<file>`, and a
# forgotten one fails the link by name. Kind and name of a stage are those of its folder and file ("-" in a file's name
# is "_" in the constant's). The order is the alphabet.
set(stage_folders triggers scorers filters allocators assigners mergers codecs readers)

# satchel_stage_table(ROOT folder FUNCTION name SOURCES out TABLE out [NAMES_OF folder]): the stages below ROOT as
# `std::span<const StageEntry> <FUNCTION>()`; NAMES_OF: the names alone of those that another target has.
function(satchel_stage_table)
  cmake_parse_arguments(ARG "" "ROOT;FUNCTION;SOURCES;TABLE;NAMES_OF" "" ${ARGN})
  foreach(own sources declarations rows names)
    set(${own} "")  # else a function goes on with the caller's
  endforeach()
  foreach(folder IN LISTS stage_folders)
    string(REGEX REPLACE "s$" "" kind ${folder})
    file(GLOB found CONFIGURE_DEPENDS ${ARG_ROOT}/${folder}/*.cpp)
    foreach(file IN LISTS found)
      get_filename_component(stem ${file} NAME_WE)
      string(MAKE_C_IDENTIFIER ${folder}_${stem} maker)
      string(APPEND declarations "extern const StageMaker ${maker};\n")
      string(APPEND rows "    {StageKind::${kind}, \"${stem}\", ${maker}.source, ${maker}.make},\n")
    endforeach()
    list(APPEND sources ${found})
    if(ARG_NAMES_OF)
      file(GLOB others CONFIGURE_DEPENDS ${ARG_NAMES_OF}/${folder}/*.cpp)
      foreach(file IN LISTS others)
        get_filename_component(stem ${file} NAME_WE)
        string(APPEND names "    {StageKind::${kind}, \"${stem}\"},\n")
      endforeach()
    endif()
  endforeach()
  if(names)
    set(names "std::span<const StageName> comparison_stage_names() {
  static constexpr StageName kNames[] = {
${names}  };
  return kNames;
}
")
  endif()
  set(table ${CMAKE_CURRENT_BINARY_DIR}/${ARG_FUNCTION}.cpp)
  file(CONFIGURE OUTPUT ${table} @ONLY CONTENT
"// Written by packaging/cmake/stage_table.cmake from the stage folders.
#include \"kvcache/stages/registry.h\"

namespace satchel::kvcache {
${declarations}
std::span<const StageEntry> ${ARG_FUNCTION}();
std::span<const StageEntry> ${ARG_FUNCTION}() {
  static const StageEntry kStages[] = {
${rows}  };
  return kStages;
}
${names}}  // namespace satchel::kvcache
")
  set(${ARG_SOURCES} ${sources} PARENT_SCOPE)
  set(${ARG_TABLE} ${table} PARENT_SCOPE)
endfunction()

# Built-in recipes are the JSON files of recipes/builtin, compiled in as text.
function(satchel_recipe_table out_table)
  set(rows "")
  file(GLOB found CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/recipes/builtin/*.json)
  list(TRANSFORM found REPLACE "\\.json$" "")  # "x" sorts before "x-y", "x.json" does not
  list(SORT found)
  list(TRANSFORM found APPEND ".json")
  foreach(file IN LISTS found)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
    get_filename_component(stem ${file} NAME_WE)
    file(READ ${file} text)
    string(APPEND rows "    {\"${stem}\", R\"recipe(${text})recipe\"},\n")
  endforeach()
  set(table ${CMAKE_CURRENT_BINARY_DIR}/recipe_table.cpp)
  file(WRITE ${table}.new
"// Written by packaging/cmake/stage_table.cmake from recipes/builtin.
#include \"kvcache/recipes/recipe.h\"

namespace satchel::kvcache {
std::span<const BuiltinRecipe> builtin_recipes() {
  static constexpr BuiltinRecipe kRecipes[] = {
${rows}  };
  return kRecipes;
}
}  // namespace satchel::kvcache
")
  file(COPY_FILE ${table}.new ${table} ONLY_IF_DIFFERENT)
  set(${out_table} ${table} PARENT_SCOPE)
endfunction()
