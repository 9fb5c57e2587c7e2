// CacheInspector: what tools, measurements and people look at: the state of text that is pending
// with all its scores (CACHE_SCORES where no text is), whether text is held as it was, and how each
// token is held.
//   needs   no open prefill; pending_shares(), pending_keys() and held() undo an open step
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "kernels/base/result.h"

namespace satchel::kvcache {

struct CacheState;

// What a decode step reads of a layer, all its lanes together, beside what they hold.
struct LayerReading {
  std::size_t n_read = 0, n_held = 0;  // tokens
  // Pages count whole if one of their tokens is read; what the page selector reads counts as read.
  std::size_t bytes_read = 0, bytes_held = 0;
};

// How a token is held over the lanes without a window; over all of them where each has one. Of
// merged tokens the one in whose place they are stands for them.
struct HeldToken {
  float share = 0;          // of those lanes, that hold it
  float bits = 0;           // of a value, scales included, where it is held; 16: as it was read
  bool is_resting = false;  // kept elsewhere for now, or not read yet (SegmentState::resting)
  friend bool operator==(const HeldToken&, const HeldToken&) = default;
};

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
  // Of a step that reads what choose_pages() has just chosen.
  //   needs   the layer that it was called with last, if the recipe's reader chooses
  LayerReading reading(std::size_t layer) const;
  // How each token of the text is held: [n_tokens].
  Result<std::vector<HeldToken>> held();

 private:
  CacheState& cache_;
};

}  // namespace satchel::kvcache
