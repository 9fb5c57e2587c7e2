# A static library drops an object file that nobody refers to, and a self-registering constructor with it. So the stage
# folders are listed here and one table is written; each file defines `extern const StageEntry <folder>_<file>`, and a
# forgotten one fails the link by name. The order is the alphabet.
function(satchel_stage_table out_sources out_table)
  set(sources "")
  set(declarations "")
  set(rows "")
  foreach(folder triggers scorers filters allocators assigners mergers codecs readers)
    file(GLOB found CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${folder}/*.cpp)
    list(SORT found)
    foreach(file IN LISTS found)
      get_filename_component(stem ${file} NAME_WE)
      string(APPEND declarations "extern const StageEntry ${folder}_${stem};\n")
      string(APPEND rows "    &${folder}_${stem},\n")
    endforeach()
    list(APPEND sources ${found})
  endforeach()
  set(table ${CMAKE_CURRENT_BINARY_DIR}/stage_table.cpp)
  file(CONFIGURE OUTPUT ${table} @ONLY CONTENT
"// Written by packaging/cmake/stage_table.cmake from the stage folders.
#include \"kvcache/stages/stage.h\"

namespace satchel::kvcache {
${declarations}
std::span<const StageEntry* const> all_stages() {
  static const StageEntry* const kStages[] = {
${rows}  };
  return kStages;
}
}  // namespace satchel::kvcache
")
  set(${out_sources} ${sources} PARENT_SCOPE)
  set(${out_table} ${table} PARENT_SCOPE)
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
