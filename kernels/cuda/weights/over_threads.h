// A loop over all cores, for work in main memory that a load waits for. The threads live as long as
// the loop: loading is rare, and a step has none of it.
#pragma once

#include <cstddef>
#include <functional>

namespace satchel::kernels::cuda {

// part(first, n) for stretches of at most `grain` of n_items, each once, on any thread. Returns
// when all are done; part must not throw.
void over_threads(std::size_t n_items, std::size_t grain,
                  const std::function<void(std::size_t first, std::size_t n)>& part);

}  // namespace satchel::kernels::cuda
