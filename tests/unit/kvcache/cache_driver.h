// CacheDriver: plays a model over a Cache with made-up q, k, v, and holds every token itself, so that
// what attention reads from the lanes can be compared with plain loops.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string_view>
#include <vector>

#include "kernels/contract/registry.h"
#include "kvcache/cache.h"

namespace satchel::kvcache {

struct DecodedToken {
  std::vector<float> k, v;
};
// What a lane holds: position -> values as a reader sees them.
using DecodedLane = std::map<std::int32_t, DecodedToken>;

inline constexpr std::size_t kPlenty = std::size_t{16} << 20;

class CacheDriver {
 public:
  struct Setup {
    std::string_view recipe = "full";
    double keep = 0;  // 0: the recipe's own
    std::size_t n_layers = 3, n_heads = 6, n_kv_heads = 2, head_dim = 64;
    std::size_t pool_bytes = kPlenty;
    std::uint64_t seed = 1;
  };
  explicit CacheDriver(const Setup& setup);

  Cache& cache() { return *cache_; }
  kernels::Backend& backend() { return *backend_; }
  const Recipe& recipe() const { return recipe_; }
  const CacheShape& shape() const { return shape_; }

  // Reads n tokens; each chunk's attention is compared with plain loops over what the lane shows.
  // stop_after_layer: drops the reading after that many layers; -1: commits.
  Result<void> prompt(std::size_t n_tokens, std::size_t chunk = 128, int stop_after_layer = -1);
  Result<void> step();

  // q, k, v of one position: [n_heads or n_kv_heads, head_dim].
  std::vector<float> q(std::size_t layer, std::size_t position) const;
  std::vector<float> k(std::size_t layer, std::size_t position) const;
  std::vector<float> v(std::size_t layer, std::size_t position) const;

  DecodedLane decode(const kernels::LaneView& lane);
  DecodedLane decode(std::size_t layer, std::size_t head);
  std::vector<std::int32_t> kept(std::size_t layer, std::size_t head);
  // Every byte that belongs to the cache: lengths, positions, exact parts, pages.
  std::vector<std::byte> bytes();

  // Largest difference between attention over the lanes and over `oracle` for queries at `position`.
  using Oracle = std::function<DecodedLane(std::size_t head)>;
  double attention_error(std::size_t layer, std::size_t position, const Oracle& oracle);
  // All tokens at fp16, only positions in `kept`.
  DecodedLane masked(std::size_t layer, std::size_t head,
                     const std::vector<std::int32_t>& kept) const;

  bool check_attention = true;
  double worst_error = 0;  // of all attention compared so far
  // [n_layers][n_kv_heads] scores of the prompt read last, in float64; empty where not scored.
  std::vector<std::vector<std::vector<double>>> scores;

 private:
  Result<void> attend_chunk(PromptReading& reading, std::size_t layer, std::size_t first,
                            std::size_t n);
  std::vector<float> made_up(std::uint64_t kind, std::size_t layer, std::size_t position,
                             std::size_t n) const;

  Setup setup_;
  std::unique_ptr<kernels::Backend> backend_;
  CacheShape shape_;
  Recipe recipe_;
  std::unique_ptr<Cache> cache_;
};

// softmax over `lane` up to the query's position, by plain loops; returns the log of the sum too.
struct Attended {
  std::vector<double> out;
  double lse = 0;
  std::map<std::int32_t, double> weights;
};
Attended attend_plainly(const float* q, std::size_t head_dim, double scale,
                        std::int32_t query_position, const DecodedLane& lane);

}  // namespace satchel::kvcache
