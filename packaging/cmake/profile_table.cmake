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

# Binary files are taken in by the assembler: as text of C++ they would be five times their size and slow to compile.
# In ${out_blobs} the assembler's lines, in ${out_rows} a row of the table; ${out_files} are what the object depends on.
function(satchel_profile_blobs out_blobs out_rows out_files pattern type)
  set(blobs "")
  set(rows "")
  file(GLOB found CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/profile/${pattern})
  list(SORT found)
  foreach(file IN LISTS found)
    get_filename_component(called ${file} NAME)
    string(MAKE_C_IDENTIFIER "satchel_blob_${called}" symbol)
    string(APPEND blobs "SATCHEL_BLOB(${symbol}, \"${file}\")\n")
    string(APPEND rows "      ${type}{\"${called}\", blob(${symbol}_begin, ${symbol}_end)},\n")
  endforeach()
  set(${out_blobs} "${blobs}" PARENT_SCOPE)
  set(${out_rows} "${rows}" PARENT_SCOPE)
  set(${out_files} "${found}" PARENT_SCOPE)
endfunction()

function(satchel_profile_table out_table)
  satchel_profile_rows(texts texts/*.txt NAME_WE ProfileText)
  satchel_profile_rows(tables tables/*.json NAME ShippedFile)
  satchel_profile_blobs(blobs bases files tables/*.bases ShippedFile)
  satchel_profile_blobs(selector_blobs selectors selector_files tables/*.safetensors ShippedFile)
  set(table ${CMAKE_CURRENT_BINARY_DIR}/profile_table.cpp)
  file(WRITE ${table}.new
"// Written by packaging/cmake/profile_table.cmake from runtime/profile.
#include <vector>

#include \"runtime/profile/lane_profiler.h\"
#include \"runtime/profile/profile_files.h\"

#define SATCHEL_BLOB(name, path)                                                          \\
  __asm__(\".pushsection .rodata\\n.balign 16\\n\"                                          \\
          \".hidden \" #name \"_begin\\n.hidden \" #name \"_end\\n\"                          \\
          \".global \" #name \"_begin\\n.global \" #name \"_end\\n\" #name \"_begin:\\n\"       \\
          \".incbin \\\"\" path \"\\\"\\n\" #name \"_end:\\n.popsection\\n\");                     \\
  extern \"C\" const char name##_begin[], name##_end[];
${blobs}${selector_blobs}
namespace satchel::runtime {
namespace {
[[maybe_unused]] std::string_view blob(const char* begin, const char* end) {
  return {begin, static_cast<std::size_t>(end - begin)};
}
}  // namespace
std::span<const ProfileText> profile_texts() {
  static constexpr ProfileText kTexts[] = {
${texts}  };
  return kTexts;
}
std::span<const ShippedFile> shipped_head_budgets() {
  static const std::vector<ShippedFile> kTables = {
${tables}  };
  return kTables;
}
std::span<const ShippedFile> shipped_key_bases() {
  static const std::vector<ShippedFile> kBases = {
${bases}  };
  return kBases;
}
std::span<const ShippedFile> shipped_selectors() {
  static const std::vector<ShippedFile> kSelectors = {
${selectors}  };
  return kSelectors;
}
}  // namespace satchel::runtime
")
  file(COPY_FILE ${table}.new ${table} ONLY_IF_DIFFERENT)
  set_source_files_properties(${table} PROPERTIES OBJECT_DEPENDS "${files};${selector_files}")
  set(${out_table} ${table} PARENT_SCOPE)
endfunction()
