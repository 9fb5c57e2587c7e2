// A backend in a shared library of its own, opened where it is there: what the library and the
// programs agree on. Nothing of CUDA is needed to start a program.
//   library  exports one C function, satchel_backend(), and nothing else
//   build    both sides must be of one build: what crosses are C++ classes (Backend, Weight,
//            LaneTable, Buffer, Result), whose members and virtual functions must lie alike. The
//            identity is made of the headers they are declared in, compiler and version
//   stays    a library that was accepted is never closed: weights and buffers call into it when
//            they go, and a driver may have threads in it. One that is refused is closed
//   errors   device_lost: GPU_LIBRARY (not there), GPU_LIBRARY_BAD (not such a library, or broken),
//            PLUGIN_ABI (of another build), and whatever its backend says when it is made
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

// Raised when this struct changes. `abi` and `build` stay where they are, so that any library of any
// time can be read as far as them.
inline constexpr std::uint32_t kBackendLibraryAbi = 1;

struct BackendLibrary {
  std::uint32_t abi = 0;
  const char* build = nullptr;  // build_identity() of the library
  const char* lacks = nullptr;  // what it has no kernel for, for people; "": nothing
  Result<std::unique_ptr<Backend>> (*make)(const BackendOptions& options) = nullptr;
};

inline constexpr const char* kBackendLibraryEntry = "satchel_backend";
using BackendLibraryEntry = const BackendLibrary* (*)();  // extern "C"

// Of this program or library: "0.1.0 GNU-12.2.0 3f9a…".
std::string_view build_identity();

struct LibraryBackend {
  std::unique_ptr<Backend> backend;
  std::string lacks;
};

// The file of this name in the first of the folders that has it; absolute folders only.
Result<LibraryBackend> open_backend_library(std::string_view file,
                                            std::span<const std::filesystem::path> folders,
                                            const BackendOptions& options);

}  // namespace satchel::kernels
