#include "kernels/registry/registry.h"

#include <array>
#include <fstream>
#include <optional>
#include <string>
#include <system_error>

#include "kernels/contract/backend_library.h"
#include "kernels/reference/backend_reference.h"
#include "kernels/registry/self_check.h"
#ifdef SATCHEL_CPU_BACKEND
#include "kernels/cpu/backend/backend_cpu.h"
#include "kernels/cpu/levels/cpu_level.h"
#endif

namespace satchel::kernels {
namespace {

Error no_such_backend(std::string_view name) {
  std::string known = "auto";
  for (const std::string_view have : backend_names()) known += ", " + std::string(have);
  return Error{
      ErrorKind::device_lost, "BACKEND",
      "This build has no backend \"" + std::string(name) + "\". Choose one of: " + known + "."};
}

#ifdef SATCHEL_CPU_BACKEND
constexpr std::array<std::string_view, 3> kBackendNames = {"reference", "cpu", "cuda"};

Error cpu_feature(std::string message) {
  return Error{ErrorKind::device_lost, "CPU_FEATURE", std::move(message)};
}

Result<std::unique_ptr<Backend>> open_cpu(const BackendOptions& options) {
  const std::optional<cpu::CpuLevel> highest = cpu::highest_cpu_level();
  if (!highest.has_value())
    return cpu_feature(
        "This processor lacks AVX2, FMA or F16C, which the cpu backend needs. Use the backend "
        "\"reference\": it runs everywhere, but slowly.");
  if (options.cpu_level.empty())
    return cpu::CpuBackend::make(options.n_threads, *highest, options.activation_bits);
  const std::optional<cpu::CpuLevel> forced = cpu::cpu_level_of(options.cpu_level);
  const std::string asked = "\"" + std::string(options.cpu_level) + "\"";
  if (!forced.has_value()) {
    std::string known;
    for (const std::string_view name : cpu_level_names())
      known += (known.empty() ? "" : ", ") + std::string(name);
    return cpu_feature("There is no CPU level " + asked + ". Choose one of: " + known + ".");
  }
  if (*forced > *highest)
    return cpu_feature(
        "This processor does not support the CPU level " + asked + "; its highest is \"" +
        std::string(cpu::kCpuLevelNames[static_cast<std::size_t>(*highest)]) + "\".");
  return cpu::CpuBackend::make(options.n_threads, *forced, options.activation_bits);
}
#else
constexpr std::array<std::string_view, 2> kBackendNames = {"reference", "cuda"};
#endif

Result<void> check_activations(std::string_view name, int bits) {
  if (bits == 16 || (bits == 8 && (name == "cpu" || name == "auto"))) return {};
  const std::string asked = std::to_string(bits) + "-bit activations";
  return Error{ErrorKind::invalid, "ACTIVATIONS",
               bits == 8 ? asked + " work with the cpu backend only, not with \"" +
                               std::string(name) + "\". Choose 16 bits, or the backend cpu."
                         : asked + " are not supported. Choose 16 or 8 bits."};
}

// An error, because whoever forces a level measures it.
Result<void> check_cpu_level(std::string_view name, std::string_view level) {
  if (level.empty() || name == "cpu" || name == "auto") return {};
  return Error{ErrorKind::invalid, "CPU_LEVEL",
               "The backend \"" + std::string(name) + "\" has no CPU levels. Leave out \"" +
                   std::string(level) + "\", or choose the backend cpu."};
}

Result<LibraryBackend> open_cuda(const BackendOptions& options) {
  return open_backend_library(kCudaLibrary, options.library_folders, options);
}

// A backend that lacks an operation would fail in the middle of a chat, one that computes wrongly
// would not even fail.
Result<std::unique_ptr<Backend>> open_whole_cuda(const BackendOptions& options) {
  if (options.activation_bits != 16 || !options.cpu_level.empty())
    return Error{
        ErrorKind::device_lost, "GPU_OPTIONS",
        "8-bit activations and CPU levels work with the cpu backend only. Leave them out to use "
        "the GPU."};
  SATCHEL_TRY_ASSIGN(LibraryBackend cuda, open_cuda(options));
  if (!cuda.lacks.empty())
    return Error{ErrorKind::device_lost, "GPU_OPERATION",
                 "The cuda backend of this build is incomplete: it lacks " + cuda.lacks +
                     ". Satchel uses the cpu backend instead."};
  SATCHEL_TRY(self_check(*cuda.backend));
  return std::move(cuda.backend);
}

}  // namespace

Result<std::unique_ptr<Backend>> open_backend(std::string_view name,
                                              const BackendOptions& options) {
  SATCHEL_TRY(check_activations(name, options.activation_bits));
  SATCHEL_TRY(check_cpu_level(name, options.cpu_level));
  if (name == "reference")
    return std::unique_ptr<Backend>(std::make_unique<reference::ReferenceBackend>());
#ifdef SATCHEL_CPU_BACKEND
  if (name == "cpu") return open_cpu(options);
#endif
  if (name == "cuda") {
    SATCHEL_TRY_ASSIGN(LibraryBackend cuda, open_cuda(options));
    return std::move(cuda.backend);
  }
  return no_such_backend(name);
}

Result<ChosenBackend> choose_backend(std::string_view name, const BackendOptions& options) {
  ChosenBackend chosen;
  if (name == "auto") {
    SATCHEL_TRY(check_activations(name, options.activation_bits));
    Result<std::unique_ptr<Backend>> cuda = open_whole_cuda(options);
    if (cuda.ok()) {
      chosen.backend = std::move(*cuda);
      return chosen;
    }
    chosen.gpu_fallback_reason = std::move(cuda).error();
    name = "cpu";
  }
  SATCHEL_TRY_ASSIGN(chosen.backend, open_backend(name, options));
  return chosen;
}

bool has_nvidia_card(const std::filesystem::path& devices) {
  std::error_code error;
  for (std::filesystem::directory_iterator device(devices, error), end; !error && device != end;
       device.increment(error)) {
    std::string vendor;
    if (std::ifstream(device->path() / "vendor") >> vendor && vendor == "0x10de") return true;
  }
  return false;
}

bool shows_fallback_reason(const Error& gpu_fallback_reason, bool has_card) {
  const std::string& code = gpu_fallback_reason.code;
  if (code == "GPU_OPTIONS") return false;
  // The errors of a machine without a card, with or without the library.
  const bool may_lack_card = code == "GPU_LIBRARY" || code == "GPU_DRIVER" || code == "GPU_NONE" ||
                             code == "PLUGIN_ABI" || code == "GPU_LIBRARY_BAD";
  return has_card || !may_lack_card;
}

std::span<const std::string_view> backend_names() {
  return kBackendNames;
}

std::span<const std::string_view> cpu_level_names() {
#ifdef SATCHEL_CPU_BACKEND
  return cpu::kCpuLevelNames;
#else
  return {};
#endif
}

std::size_t cpu_levels_present() {
#ifdef SATCHEL_CPU_BACKEND
  const std::optional<cpu::CpuLevel> highest = cpu::highest_cpu_level();
  return highest.has_value() ? static_cast<std::size_t>(*highest) + 1 : 0;
#else
  return 0;
#endif
}

}  // namespace satchel::kernels
