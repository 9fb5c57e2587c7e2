// RowText: a text as exact rows of keys and values, each at the slot of its position. Stretches
// that were read elsewhere can be placed in it, their keys rotated to where they stand now, and
// tokens of it read again where they stand. For measurements: nothing is compressed.
//   needs   an Engine that nobody else uses meanwhile, and that outlives it
//   errors  unsupported MODEL_ARCH: not all layers are of plain attention; CONTEXT_FULL,
//           cancelled/STOPPED; those of model and arena
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <stop_token>
#include <vector>

#include "kernels/base/index_range.h"
#include "kvcache/lanes/arena.h"
#include "runtime/engine.h"
#include "runtime/model/graph.h"

namespace satchel::eval {

// A stretch of a text as it was read, in main memory.
struct StretchRows {
  std::size_t first = 0;                // where it stood
  std::vector<std::int32_t> ids;        // [n_tokens]
  std::vector<std::vector<Half>> k, v;  // [n_lanes][n_tokens, head_dim]
};

// Tokens go through some layers only; keys and values of others are made of what those made.
class PartialLayers {
 public:
  // Of the last layer that tokens went through, in the backend's memory.
  struct Source {
    std::size_t layer = 0, n_tokens = 0;
    const float* x = nullptr;                // [n_tokens, width], behind the layer
    const float *k = nullptr, *v = nullptr;  // [n_tokens, kv_width], keys before RoPE
  };
  virtual ~PartialLayers() = default;
  virtual bool goes_through(std::size_t layer) const = 0;  // the first: always
  // Whether make() has the layer's rows, in place of those it made where tokens go through it.
  virtual bool makes(std::size_t layer) const = 0;
  // k, v: [n_tokens, the layer's kv_width], keys before RoPE.
  virtual Result<void> make(std::size_t layer, const Source& from, float* k, float* v) = 0;
};

class RowText {
 public:
  static Result<RowText> open(runtime::Engine& engine, std::size_t n_tokens_max,
                              std::stop_token stop);

  std::size_t n_tokens() const { return ids_.size(); }
  void truncate(std::size_t n_tokens) { ids_.resize(n_tokens); }
  // Behind the text. Gives the logits [n_logits, n_vocabulary] after the last tokens.
  Result<std::vector<float>> read(std::span<const std::int32_t> ids, std::size_t n_logits);
  // Behind the text, through a part of the layers.
  Result<void> read_partly(std::span<const std::int32_t> ids, PartialLayers& layers);
  // read() without logits. Gives for each stretch of the text before, and each token of ids, the
  // share of its attention that goes there: the mean over layers and query heads.
  Result<std::vector<std::vector<float>>> read_seeing(std::span<const std::int32_t> ids,
                                                      std::span<const IndexRange> stretches);
  Result<StretchRows> rows(std::size_t first, std::size_t n_tokens) const;
  // Behind the text.
  Result<void> place(const StretchRows& stretch);
  // How much attention `ids`, read behind the text and dropped, give each token of it: summed over
  // them and all lanes.
  Result<std::vector<float>> attention(std::span<const std::int32_t> ids);
  // The tokens at these positions, rising, see the text as it is now, and take their own places.
  Result<void> reread(std::span<const std::int32_t> positions);
  // That for a share of the tokens from `first` on: those whose keys and values in layer 1 differ
  // most from what is held. All of them go through layer 0, which tells it. Gives the share that
  // was read again, the mean over the layers.
  //   source   arXiv:2405.16444 (CacheBlend), section 4.3, and its code: one layer decides
  Result<double> reread_changed(std::size_t first, double share);

 private:
  struct Run;  // tokens on their way through the layers
  RowText(runtime::Engine& engine, std::stop_token stop)
      : engine_(&engine), stop_(std::move(stop)) {}
  const runtime::ModelConfig& config() const { return engine_->config(); }
  kernels::Backend& backend() const;
  Half* k(std::size_t layer, std::size_t head) const;
  Half* v(std::size_t layer, std::size_t head) const;
  Result<void> enter(Run& run, std::size_t n_logits);
  Result<void> go_through(Run& run);
  Result<void> go_through(Run& run, std::size_t layer);
  // So many of the run's tokens in a layer, with their rotation.
  Result<runtime::LayerStep> step_of(Run& run, std::size_t layer, std::size_t at, std::size_t n);
  // With queries, keys and values in the step's workspace.
  Result<runtime::LayerStep> project(Run& run, std::size_t layer, std::size_t at, std::size_t n);
  Result<void> make_rows(Run& run, std::size_t layer, PartialLayers& layers);
  Result<void> store(std::size_t layer, std::span<const std::int32_t> positions,
                     const runtime::Workspace& work);
  Result<void> show(std::size_t layer, std::size_t n_tokens);
  Result<void> fetch(std::size_t layer, std::size_t first, std::size_t n_tokens,
                     StretchRows& to) const;
  kernels::LaneQueries lane_queries(const runtime::LayerStep& step, std::size_t head,
                                    std::span<const kernels::ExactRun> keys) const;
  Result<void> add_scores(const Run& run, const runtime::LayerStep& step);
  Result<void> add_shares(Run& run, const runtime::LayerStep& step, std::size_t at);
  Result<std::vector<float>> changes(Run& run, std::size_t layer);
  Result<void> keep(Run& run, std::span<const std::int32_t> chosen);
  Result<void> place_keys(std::size_t layer, const StretchRows& stretch, std::size_t first_lane,
                          const runtime::PassScratch& scratch);

  runtime::Engine* engine_;
  std::stop_token stop_;
  std::size_t n_max_ = 0;
  std::vector<std::size_t> layer_at_;  // [n_layers], bytes from the beginning of rows_
  kernels::Buffer rows_, positions_;   // positions_ [n_max_]: 0, 1, …
  std::shared_ptr<kvcache::Arena> arena_;
  std::vector<std::unique_ptr<kernels::LaneTable>> tables_;  // [n_layers]
  std::vector<kernels::ExactRun> shown_;                     // of the layer in work
  std::vector<std::int32_t> ids_;
};

// Of n values the `share` largest, as rising indices; of equal ones the lower index.
std::vector<std::int32_t> largest(std::span<const float> values, double share);

}  // namespace satchel::eval
