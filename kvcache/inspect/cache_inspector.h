// CacheInspector: what tools and measurements look at: the state of text that is pending with all
// its scores (CACHE_SCORES where no text is), and whether text is held as it was.
//   needs   no open prefill; pending_shares() and pending_keys() undo an open step
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "kernels/base/result.h"

namespace satchel::kvcache {

struct CacheState;

class CacheInspector {
 public:
  explicit CacheInspector(CacheState& cache) : cache_(cache) {}

  // What share of its tokens each lane would keep of that text, at each share of the whole:
  // [keeps][lanes without a window]. Changes nothing.
  Result<std::vector<std::vector<double>>> pending_shares(std::span<const double> keeps);
  // What the recipe's scorer has observed of that text's tokens in one of all lanes, before it is
  // finished or filtered: [n_tokens of the text].
  Result<std::vector<float>> pending_scores(std::size_t lane) const;
  // The keys of that text's tokens in one of all lanes, before RoPE, as they are held: [n_tokens of
  // the text, head_dim]. CACHE_SCORES also where the lane does not hold all of them.
  Result<std::vector<float>> pending_keys(std::size_t lane);
  // A number that is another one when what is held of tokens first … first + n - 1 has changed. Of
  // text that shares no page with other text.
  std::uint64_t stamp(std::size_t first, std::size_t n) const;

 private:
  CacheState& cache_;
};

}  // namespace satchel::kvcache
