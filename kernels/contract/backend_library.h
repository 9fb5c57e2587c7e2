// A backend in a shared library, loaded at run time: the interface between library and program. A
// program starts without any CUDA library installed.
//   library  exports one C function, satchel_backend(), and nothing else
//   build    program and library must come from the same build, because they share C++ classes
//            (Backend, Weight, LaneTable, Buffer, Result) with the same member and vtable layout.
//            The build identity covers the headers of these classes, compiler and version.
//   unload   an accepted library is never closed: destructors of weights and buffers call into it,
//            and a driver may run threads in it. A refused library is closed.
//   trust    a library that another user owns or can change, itself or a folder of its path up to
//            one that holds the program as well, is refused before any code of it runs
//   errors   device_lost: GPU_LIBRARY (missing), GPU_LIBRARY_BAD (not to be trusted, not a backend,
//            or broken), PLUGIN_ABI (another build), and the errors of the backend's own make()
//   source   after the tables of ONNX Runtime (OrtGetApiBase) and ggml (ggml_backend_init)
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "kernels/contract/backend.h"

namespace satchel::kernels {

struct BackendOptions;

// Incremented when this struct changes. `abi` and `build` never move, so that a program can read
// them from a library of any version.
inline constexpr std::uint32_t kBackendLibraryAbi = 1;

struct BackendLibrary {
  std::uint32_t abi = 0;
  const char* build = nullptr;  // build_identity() of the library
  const char* lacks = nullptr;  // operations without a kernel, as text; "": none
  Result<std::unique_ptr<Backend>> (*make)(const BackendOptions& options) = nullptr;
};

inline constexpr const char* kBackendLibraryEntry = "satchel_backend";
using BackendLibraryEntry = const BackendLibrary* (*)();  // extern "C"

// The identity of this program or library: "0.1.0 GNU-12.2.0 3f9a…".
std::string_view build_identity();

struct LibraryBackend {
  std::unique_ptr<Backend> backend;
  std::string lacks;
};

// Opens `file` in the first of the folders that contains it. Relative folders are skipped.
Result<LibraryBackend> open_backend_library(std::string_view file,
                                            std::span<const std::filesystem::path> folders,
                                            const BackendOptions& options);

}  // namespace satchel::kernels
