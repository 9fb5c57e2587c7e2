// A library that the programs must not use: of another ABI, of another or no build, without the
// entry, or with a table that lacks a pointer. None of them can make a backend.
#include "kernels/contract/backend_library.h"
#include "kernels/registry/registry.h"

#ifndef REFUSED_ABI
#define REFUSED_ABI satchel::kernels::kBackendLibraryAbi
#endif
#ifndef REFUSED_BUILD
#define REFUSED_BUILD satchel::kernels::build_identity().data()
#endif
#ifndef REFUSED_LACKS
#define REFUSED_LACKS ""
#endif
#ifndef REFUSED_ENTRY
#define REFUSED_ENTRY satchel_backend
#endif

extern "C" __attribute__((visibility("default"))) const satchel::kernels::BackendLibrary*
REFUSED_ENTRY() {
  static const satchel::kernels::BackendLibrary library{
      .abi = REFUSED_ABI, .build = REFUSED_BUILD, .lacks = REFUSED_LACKS, .make = nullptr};
  return &library;
}
