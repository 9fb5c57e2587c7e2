#include "kernels/cuda/device/cards.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "kernels/cuda/device/move.h"

namespace satchel::kernels::cuda {
namespace {

using Check = std::function<Result<void>(cudaError_t)>;

// The oldest in SATCHEL_CUDA_CARDS of CMakeLists.txt: Turing.
constexpr int kOldestCard = 75;

struct Found {
  Card card;
  int major = 0, minor = 0;
  std::size_t bytes = 0;  // of memory, in use or not

  std::string text() const {
    return card.name + " (compute capability " + std::to_string(major) + "." +
           std::to_string(minor) + ")";
  }
};

Error refusal(const char* code, std::string message) {
  return {ErrorKind::device_lost, code, std::move(message)};
}

Result<std::vector<Found>> all_cards(const Check& check) {
  int n = 0;
  SATCHEL_TRY(check(cudaGetDeviceCount(&n)));
  if (n == 0) SATCHEL_TRY(check(cudaErrorNoDevice));
  std::vector<Found> found;
  for (int i = 0; i < n; ++i) {
    cudaDeviceProp card;
    SATCHEL_TRY(check(cudaGetDeviceProperties(&card, i)));
    std::string name = card.name;
    if (n > 1) name += ", GPU " + std::to_string(i) + " of " + std::to_string(n);
    found.push_back({.card = {.index = i,
                              .name = name,
                              .shared_bytes_max = card.sharedMemPerBlockOptin,
                              .n_multiprocessors = static_cast<unsigned>(card.multiProcessorCount)},
                     .major = card.major,
                     .minor = card.minor,
                     .bytes = card.totalGlobalMem});
  }
  return found;
}

// What a card says that has neither machine code of its own here nor PTX that its driver compiles.
bool lacks_kernels(cudaError_t error) {
  return error == cudaErrorNoKernelImageForDevice || error == cudaErrorInvalidKernelImage ||
         error == cudaErrorInvalidPtx || error == cudaErrorUnsupportedPtxVersion ||
         error == cudaErrorJitCompilerNotFound;
}

// The card's free memory, if kernels run on it.
Result<std::size_t> free_bytes(Found& of, const Check& check) {
  if (of.major * 10 + of.minor < kOldestCard)
    return refusal("GPU_OLD", of.text() +
                                  " is too old: Satchel needs Turing (7.5) or newer. Use the cpu "
                                  "backend.");
  SATCHEL_TRY(check(cudaSetDevice(of.card.index)));
  int compiled_for = 0;
  const cudaError_t error = find_kernels(compiled_for);
  of.card.sets_up_early = of.major >= 9 && compiled_for >= 90;
  if (lacks_kernels(error)) {
    cudaGetLastError();
    return refusal("GPU_KERNELS", "This build has no kernels that run on " + of.text() +
                                      " with this driver (" + cudaGetErrorName(error) +
                                      "). Build Satchel on this machine, which compiles for its "
                                      "GPU, install a newer driver, or use the cpu backend.");
  }
  SATCHEL_TRY(check(error));
  std::size_t n_free = 0, n_all = 0;
  SATCHEL_TRY(check(cudaMemGetInfo(&n_free, &n_all)));
  return n_free;
}

}  // namespace

// A card that is asked for its free memory keeps some of it for this process until the end. So the
// largest is asked first, and others only where they may have clearly more to give.
Result<Card> choose_card(const Check& check) {
  SATCHEL_TRY_ASSIGN(std::vector<Found> cards, all_cards(check));
  std::ranges::stable_sort(cards, std::ranges::greater(), &Found::bytes);
  const Found* best = nullptr;
  std::size_t most_free = 0;
  std::optional<std::pair<int, Error>> refused;  // of the first card that is
  for (Found& each : cards) {
    if (best != nullptr && most_free >= each.bytes / 4 * 3) continue;
    const Result<std::size_t> n_free = free_bytes(each, check);
    if (!n_free.ok()) {
      if (!refused || each.card.index < refused->first) refused = {each.card.index, n_free.error()};
    } else if (best == nullptr || *n_free > most_free) {
      best = &each;
      most_free = *n_free;
    }
  }
  if (best == nullptr) return refused->second;
  SATCHEL_TRY(check(cudaSetDevice(best->card.index)));
  return best->card;
}

}  // namespace satchel::kernels::cuda
