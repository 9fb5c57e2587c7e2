// The backends this build has, by name.
#pragma once

#include <memory>
#include <span>
#include <string_view>

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
};

// "reference" (always there), "cpu" (x86-64 with AVX2 and FMA). Fails with device_lost, code
// CPU_FEATURE or BACKEND, and with invalid, code ACTIVATIONS.
Result<std::unique_ptr<Backend>> open_backend(std::string_view name, const BackendOptions& options);
std::span<const std::string_view> backend_names();

// "avx2", "avx512" …: the levels built in, lowest first, and how many of them this machine has.
std::span<const std::string_view> cpu_level_names();
std::size_t cpu_levels_present();

}  // namespace satchel::kernels
