// The backends this build has, by name.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/contract/backend.h"

namespace satchel::kernels {

struct BackendOptions {
  std::size_t n_threads = 0;        // 0: one per physical core
  std::string_view cpu_level = {};  // "", or a name of cpu_level_names(): forces it; higher than
                                    // the machine has is an error
  // Of the integers that activations become where they meet quantised weights: 16, or 8 (backend
  // cpu only), which reads faster and rounds 258 times as coarsely; what that costs:
  // docs/models.md. Floats are met in fp32 either way.
  int activation_bits = 16;
  // Absolute folders where shared libraries of backends lie (backend_library.h).
  std::vector<std::filesystem::path> library_folders = {};
  // cuBLAS for products of many tokens (backend cuda): the first of these files (libcublas.so.13, say)
  // that can be used. Results are rounded more coarsely with it, and may depend on how a prompt is cut
  // (kernels/cuda/blas_products.h). Where none can, and where none is named: products of our own;
  // device() says why.
  std::vector<std::string> blas_files = {};
};

inline constexpr std::string_view kCudaLibrary = "libsatchel-cuda.so";

// "reference" (always there), "cpu" (x86-64 with AVX2 and FMA), "cuda" (where its library, a card
// and a driver are). Fails with device_lost, code CPU_FEATURE, BACKEND, PLUGIN_ABI or GPU_*, and
// with invalid, code ACTIVATIONS or CPU_LEVEL: asked of a backend that has none.
Result<std::unique_ptr<Backend>> open_backend(std::string_view name, const BackendOptions& options);
std::span<const std::string_view> backend_names();

struct ChosenBackend {
  std::unique_ptr<Backend> backend;
  std::optional<Error> why_not_gpu;  // where a GPU was wanted and another backend was taken
};
// As open_backend(), and "auto": the GPU where it opens, has a kernel for everything and can do what
// the options ask for; else the cpu backend.
Result<ChosenBackend> choose_backend(std::string_view name, const BackendOptions& options);

// Whether the machine shows a card of NVIDIA's on its PCI bus. Some have one that is not shown there
// (WSL 2, Jetson): good for deciding what to say, not what to try.
//   devices  a folder for each, with a file "vendor"
bool has_nvidia_card(const std::filesystem::path& devices = "/sys/bus/pci/devices");
// Whether who did not ask should be told why "auto" is not the GPU: not where nobody has installed
// its library or asked for what is the cpu backend's, nor where there is no card to be had.
bool is_worth_telling(const Error& why_not_gpu, bool has_card);

// "avx2", "avx512" …: the levels built in, lowest first, and how many of them this machine has.
std::span<const std::string_view> cpu_level_names();
std::size_t cpu_levels_present();

}  // namespace satchel::kernels
