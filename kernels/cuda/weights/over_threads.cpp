#include "kernels/cuda/weights/over_threads.h"

#include <algorithm>
#include <atomic>
#include <system_error>
#include <thread>
#include <vector>

namespace satchel::kernels::cuda {
namespace {

constexpr std::size_t kThreadsMost = 16;  // chosen: then main memory and the bus are the limit

}  // namespace

void over_threads(std::size_t n_items, std::size_t grain,
                  const std::function<void(std::size_t first, std::size_t n)>& part) {
  const std::size_t n_parts = (n_items + grain - 1) / grain;
  std::atomic<std::size_t> next = 0;
  const auto take_parts = [&] {
    for (;;) {
      const std::size_t first = next.fetch_add(1, std::memory_order_relaxed) * grain;
      if (first >= n_items) return;
      part(first, std::min(grain, n_items - first));
    }
  };
  const std::size_t n_threads =
      std::min({n_parts, kThreadsMost, std::size_t{std::thread::hardware_concurrency()}});
  std::vector<std::jthread> others;  // joined at the end
  try {
    while (others.size() + 1 < n_threads) others.emplace_back(take_parts);
  } catch (const std::system_error&) {
    // The system starts no more: those that there are take their parts.
  }
  take_parts();
}

}  // namespace satchel::kernels::cuda
