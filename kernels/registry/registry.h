// The backends of this build, by name.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "kernels/contract/backend.h"

namespace satchel::kernels {

struct BackendOptions {
  std::size_t n_threads = 0;        // 0: one per physical core
  std::string_view cpu_level = {};  // "": the highest; a name of cpu_level_names() forces that
                                    // level, and is an error if the machine lacks it
  // Width of the integers that activations become for products with quantised weights: 16, or 8
  // (backend cpu only). 8 makes prefill faster and rounds 258 times as coarsely (docs/models.md).
  // Unquantised weights are multiplied in fp32 either way.
  int activation_bits = 16;
  // Absolute folders to search for shared libraries of backends (backend_library.h).
  std::vector<std::filesystem::path> library_folders = {};
};

inline constexpr std::string_view kCudaLibrary = "libsatchel-cuda.so";

// Opens "reference" (always available), "cpu" (x86-64 with AVX2 and FMA) or "cuda" (needs its
// library, a GPU and a driver). Errors: device_lost, code CPU_FEATURE, BACKEND, PLUGIN_ABI or
// GPU_*; invalid, code ACTIVATIONS or CPU_LEVEL, if the backend lacks the option.
Result<std::unique_ptr<Backend>> open_backend(std::string_view name, const BackendOptions& options);
std::span<const std::string_view> backend_names();

struct ChosenBackend {
  std::unique_ptr<Backend> backend;
  std::optional<Error> gpu_fallback_reason;  // set if a GPU was wanted but another backend is used
};
// As open_backend(), and "auto": the GPU if it opens, has every kernel and supports the options;
// otherwise the cpu backend.
Result<ChosenBackend> choose_backend(std::string_view name, const BackendOptions& options);

// Whether the PCI bus lists an NVIDIA card. Some systems have one that is not listed (WSL 2,
// Jetson), so use this for messages only, not to decide whether to try the GPU.
//   devices  contains a folder per device, each with a file "vendor"
bool has_nvidia_card(const std::filesystem::path& devices = "/sys/bus/pci/devices");
// Whether to show unasked why "auto" did not choose the GPU. False if the options require the cpu
// backend, or if the reason may be that there is no card, and there is none.
bool shows_fallback_reason(const Error& gpu_fallback_reason, bool has_card);

// The CPU levels of this build ("avx2", "avx512" …), lowest first, and how many of them this
// machine supports.
std::span<const std::string_view> cpu_level_names();
std::size_t cpu_levels_present();

}  // namespace satchel::kernels
