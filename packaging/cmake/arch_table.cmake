# The model architectures are the files of a folder: each arch/x.cpp defines `extern const Architecture arch_x`, and a
# forgotten one fails the link by name. The order is the alphabet.
function(satchel_arch_table out_table)
  set(declarations "")
  set(rows "")
  file(GLOB found CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/model/arch/*.cpp)
  list(SORT found)
  foreach(file IN LISTS found)
    get_filename_component(stem ${file} NAME_WE)
    string(APPEND declarations "extern const Architecture arch_${stem};\n")
    string(APPEND rows "    &arch_${stem},\n")
  endforeach()
  set(table ${CMAKE_CURRENT_BINARY_DIR}/arch_table.cpp)
  file(CONFIGURE OUTPUT ${table} @ONLY CONTENT
"// Written by packaging/cmake/arch_table.cmake from model/arch.
#include \"runtime/model/graph.h\"

namespace satchel::runtime {
${declarations}
std::span<const Architecture* const> all_architectures() {
  static const Architecture* const kArchitectures[] = {
${rows}  };
  return kArchitectures;
}
}  // namespace satchel::runtime
")
  set(${out_table} ${table} PARENT_SCOPE)
endfunction()
