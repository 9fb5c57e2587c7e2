// Which of the machine's cards is used: of those that these kernels run on, the one with the most
// free memory. CUDA_VISIBLE_DEVICES hides cards from CUDA, as ever.
//   errors   device_lost: GPU_NONE (no card), GPU_OLD (older than any that kernels are built for),
//            GPU_KERNELS (neither machine code nor PTX of this build runs on it); of several cards,
//            what is wrong with the first
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <functional>
#include <string>

#include "kernels/base/result.h"

namespace satchel::kernels::cuda {

struct Card {
  int index = 0;     // as CUDA counts
  std::string name;  // and of several cards, which
  std::size_t shared_bytes_max = 0;
  unsigned n_multiprocessors = 0;
  bool sets_up_early = false;  // and so do the kernels built for it: launch.h
};

// check: Device::check(), for the errors of calls. The calling thread's current card is then the
// chosen one.
Result<Card> choose_card(const std::function<Result<void>(cudaError_t)>& check);

}  // namespace satchel::kernels::cuda
