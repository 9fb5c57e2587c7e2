// CacheDriver: plays a model over a Cache with made-up q, k, v, and knows every token that it put
// in, so that what the lanes hold, and what attention reads from them, can be compared with plain
// loops. Each token it reads has an identity of its own: after a truncation other tokens stand at
// the same positions.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kernels/registry/registry.h"
#include "kvcache/cache/cache.h"
#include "kvcache/state/cache_state.h"
#include "plain_attention.h"

namespace satchel::kvcache {

inline constexpr std::size_t kPlenty = std::size_t{16} << 20;

class CacheDriver {
 public:
  struct Setup {
    std::string recipe = "full";  // a name, or JSON
    std::string varies = {};      // the recipe that JSON varies, whose head budgets it gets
    double keep = 0;              // 0: the recipe's own
    std::size_t n_layers = 3, n_heads = 6, n_kv_heads = 2, head_dim = 64;
    bool is_latent = false;                 // all layers; RoPE rotates 16 values then
    std::vector<std::size_t> windows = {};  // [n_layers], 0: none; empty: none at all
    std::vector<LayerShape> layers = {};    // in place of all the above
    std::vector<StateShape> states = {};    // of recurrent layers beside them
    std::size_t arena_bytes = kPlenty;
    std::uint64_t seed = 1;
    std::string backend = "reference";
    std::shared_ptr<Arena> arena = {};  // null: one of its own, with a backend of its own
    double basis_fall = 1;  // of key bases that recipes with tiers of the ladder get; 0: none
    KeyBasesForm basis_form = {};
    // Of recipes with a trained selector; nothing: made up, every gate open.
    std::optional<SelectorSet> selectors = std::nullopt;
  };
  explicit CacheDriver(const Setup& setup);
  CacheDriver(CacheDriver&&) = default;
  CacheDriver& operator=(CacheDriver&&) = default;

  Cache& cache() { return *cache_; }
  Arena& arena() { return *arena_; }
  kernels::Backend& backend() { return *arena_->backend(); }
  const std::shared_ptr<Arena>& shared_arena() const { return arena_; }
  const Recipe& recipe() const { return recipe_; }
  const CacheShape& shape() const { return shape_; }
  std::size_t n_lanes() const { return shape_.n_lanes(); }
  // The cache goes, its arena stays.
  void close() { cache_.reset(); }

  struct ReadOptions {
    SegmentKind kind = SegmentKind::document;
    bool goes_on = false;              // as PrefillRequest's
    std::uint8_t finest = kTierExact;  // likewise
    std::size_t chunk = 128;
    int stop_after_layer = -1;           // drops the reading after that many layers; -1: commits
    std::vector<std::int32_t> ids = {};  // of the n tokens; empty: not told
  };
  // Reads n tokens; each chunk's attention is compared with plain loops over what the lanes show.
  Result<CompactionReport> read(std::size_t n_tokens, const ReadOptions& options);
  Result<CompactionReport> read(std::size_t n_tokens) { return read(n_tokens, ReadOptions{}); }
  Result<void> step();
  // A second pass over `job`, with n_extra tokens before it as a prompt would have them.
  Result<void> probe(const ProbeJob& job, int stop_after_layer = -1, std::size_t n_extra = 5);
  // All that next_probe() asks for; how many passes it took.
  Result<std::size_t> probe_all(std::size_t chunk);

  // The cache's own calls, for which this object must know what became of the text.
  Result<void> truncate(std::size_t n_tokens);
  Result<void> move_text(std::size_t first, std::int32_t by);
  Result<void> gather(std::size_t first, std::size_t n, CacheDriver& other);
  Result<void> place(std::size_t first, std::size_t n, CacheDriver& other);
  void clear();
  Result<CacheDriver> fork();
  // A fork that reads the same from now on, not something else.
  void reads_on_as(const CacheDriver& of) { next_id_ = of.next_id_; }
  // Of all that the cache has seen, by position; where text has moved away 0.
  std::vector<std::int32_t> token_ids() const;

  // Of the token at a position: [n_heads or n_kv_heads, head_dim]; one that is not there yet is
  // made up for good. k as it was encoded, where its token was read; v of a latent layer is k.
  std::vector<float> q(std::size_t layer, std::size_t position) const;
  std::vector<float> k(std::size_t layer, std::size_t position);
  std::vector<float> v(std::size_t layer, std::size_t position);

  // Without values k and v stay empty.
  enum class Values { decoded, left_out };
  DecodedLane decode(const kernels::LaneView& lane, std::size_t head_dim,
                     Values values = Values::decoded);
  DecodedLane decode(std::size_t layer, std::size_t head);
  // Where text is seen side by side.
  SeenLane see(const kernels::LaneView& lane, std::size_t head_dim,
               Values values = Values::decoded);
  SeenLane see(std::size_t layer, std::size_t head, Values values = Values::decoded);
  // All that the lane holds, where it stands, in reach or not.
  DecodedLane held(std::size_t layer, std::size_t head, Values values = Values::decoded);
  const Lane& lane(std::size_t layer, std::size_t head);
  std::vector<std::int32_t> kept(std::size_t layer, std::size_t head);
  std::vector<std::vector<std::int32_t>> all_kept();  // [n_lanes]
  const kernels::LaneView& view(std::size_t layer, std::size_t head);
  // Every byte that belongs to the cache: lengths, positions, exact parts, pages and what is live,
  // what is in reach, running states.
  std::vector<std::byte> bytes();

  // Largest difference between attention over the lanes and over `oracle` for queries at
  // `position`.
  using Oracle = std::function<DecodedLane(std::size_t head)>;
  double attention_error(std::size_t layer, std::size_t position, const Oracle& oracle);
  // The same against what attention sees, all layers.
  double attention_error();
  // Of the layer's heads for a query at `position`: [n_heads, head_dim].
  std::vector<float> attended(std::size_t layer, std::size_t position);
  // All tokens at fp16, only positions in `kept`.
  DecodedLane masked(std::size_t layer, std::size_t head, const std::vector<std::int32_t>& kept);

  bool check_attention = true;
  double worst_error = 0;  // of all attention compared so far
  // [n_layers][n_kv_heads] attention that each token of the span read last received, in float64;
  // only where attention is checked.
  std::vector<std::vector<std::vector<double>>> scores;

 private:
  CacheDriver(const CacheDriver& of, std::unique_ptr<Cache> twin);
  struct Token {
    std::uint64_t id = 0;
    std::int32_t shift = 0;  // where it stands less where it was read
  };
  const Token& token(std::size_t position);
  // Of each head, for its query.
  using Attends = std::function<Attended(std::size_t head, const float* q)>;
  double attention_error(std::size_t layer, std::size_t position, const Attends& expected_of);
  Result<void> attend_chunk(Prefill& reading, std::size_t layer, std::size_t first, std::size_t n);
  Result<void> feed(Prefill& reading, std::size_t layer, std::size_t n_tokens, std::size_t chunk,
                    std::size_t first);
  // Recurrent layers: each value of a state adds up what it is told of all tokens before.
  Result<void> carry(std::size_t first, std::size_t n_tokens);
  Result<void> observe_step(std::size_t layer);
  Result<void> attend(std::size_t layer, const kernels::Sequence& sequence,
                      std::span<const std::int32_t> positions, const std::vector<float>& queries,
                      std::vector<float>& out, std::vector<float>& lse);
  const std::vector<float>& made_up(std::uint64_t kind, std::size_t layer, std::uint64_t id,
                                    std::size_t n) const;

  Setup setup_;
  std::shared_ptr<Arena> arena_;
  CacheShape shape_;
  Recipe recipe_;
  std::unique_ptr<Cache> cache_;
  std::map<std::size_t, Token> text_;  // by position
  std::uint64_t next_id_ = 0;
  // Of made_up(), which forks share.
  using MadeUp = std::map<std::array<std::uint64_t, 3>, std::vector<float>>;
  std::shared_ptr<MadeUp> made_up_ = std::make_shared<MadeUp>();
};

}  // namespace satchel::kvcache
