# Writes OUTPUT: build_identity(), of what BUILT_BY says and of the bytes of HEADERS.
list(SORT HEADERS)
set(all "")
foreach(header IN LISTS HEADERS)
  file(SHA256 ${header} sum)
  string(APPEND all ${sum})
endforeach()
string(SHA256 sum "${all}")
string(SUBSTRING ${sum} 0 12 sum)
string(REPLACE "/" " " built_by ${BUILT_BY})
file(WRITE ${OUTPUT}
"// Written by packaging/cmake/build_identity.cmake from kernels/base and kernels/contract.
#include \"kernels/contract/backend_library.h\"

namespace satchel::kernels {
std::string_view build_identity() {
  return \"${built_by} ${sum}\";
}
}  // namespace satchel::kernels
")
