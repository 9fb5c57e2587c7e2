// LayerStack: layers of a Llama with made-up weights that hidden states go through, over lanes that
// the caller chooses. The graph is the runtime's own (runtime/model/arch/llama.cpp), and so are the
// kernels; what it leaves out is the text: a position of its lanes need not be a token.
//   weights  made_values() of each tensor's name, fp32; the output is tied to the embedding
//   needs    one call at a time; the backend outlives it
//   errors   those of backend, arena and cache
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "kvcache/cache/cache.h"
#include "runtime/model/graph.h"
#include "runtime/model/scratch.h"

namespace satchel::eval {

struct StackShape {
  std::size_t n_layers = 2, n_heads = 4, n_kv_heads = 2, head_dim = 64, ffn_width = 512;
  std::size_t width = 256, n_vocabulary = 512;

  kvcache::LayerShape attention() const;
  kvcache::CacheShape cache() const;
  // fp16 keys and values of one position in all layers.
  std::size_t bytes_per_position() const { return 4 * n_layers * n_kv_heads * head_dim; }
};

// Where keys and values of a stack go. A pass of n positions: begin(n), for each layer append() and
// lanes(), end().
class StackLanes {
 public:
  virtual ~StackLanes() = default;
  virtual std::size_t n_positions() const = 0;
  virtual Result<void> begin(std::size_t n) = 0;
  virtual Result<void> append(std::size_t layer, const float* k, const float* v) = 0;
  virtual kernels::Sequence lanes(std::size_t layer) const = 0;
  virtual Result<void> end() = 0;
};

// A cache under a recipe: one position at a time, for ever.
//   errors  CACHE_RECIPE (unsupported): one that evicts or selects pages
class CacheLanes final : public StackLanes {
 public:
  static Result<std::unique_ptr<CacheLanes>> open(std::shared_ptr<kernels::Backend> backend,
                                                  const StackShape& shape,
                                                  const kvcache::Recipe& recipe,
                                                  std::size_t n_positions);
  std::size_t n_positions() const override { return cache_->n_tokens(); }
  Result<void> begin(std::size_t n) override { return cache_->begin_step(n); }
  Result<void> append(std::size_t layer, const float* k, const float* v) override {
    return cache_->append(layer, k, v);
  }
  kernels::Sequence lanes(std::size_t layer) const override { return cache_->lanes(layer); }
  Result<void> end() override { return cache_->end_step(); }
  // What it holds may be quantised from now on, as at the end of a turn.
  Result<void> compress();
  kvcache::CacheStats stats() const { return cache_->stats(); }

 private:
  explicit CacheLanes(std::unique_ptr<kvcache::Cache> cache) : cache_(std::move(cache)) {}
  std::unique_ptr<kvcache::Cache> cache_;
};

// A few exact rows (fp16), which clear() makes room in again.
class ShortLanes final : public StackLanes {
 public:
  static Result<std::unique_ptr<ShortLanes>> open(std::shared_ptr<kernels::Backend> backend,
                                                  const StackShape& shape,
                                                  std::size_t n_positions_max);
  void clear() { n_ = 0; }
  std::size_t bytes() const { return rows_.size() + positions_.size(); }
  std::size_t n_positions() const override { return n_; }
  Result<void> begin(std::size_t n) override;
  Result<void> append(std::size_t layer, const float* k, const float* v) override;
  kernels::Sequence lanes(std::size_t layer) const override;
  Result<void> end() override;

 private:
  ShortLanes(std::shared_ptr<kernels::Backend> backend, const StackShape& shape, std::size_t n_max)
      : backend_(std::move(backend)), shape_(shape), n_max_(n_max) {}
  std::shared_ptr<kernels::Backend> backend_;
  StackShape shape_;
  std::size_t n_max_, n_ = 0, n_now_ = 0;
  kernels::Buffer rows_, positions_;  // [n_layers, k or v, n_kv_heads, n_max, head_dim]
  std::vector<std::unique_ptr<kernels::LaneTable>> tables_;  // [n_layers]
  std::vector<kernels::ExactRun> shown_;                     // of the layer in work
};

class LayerStack {
 public:
  // name: of its tensors, before their own. n_at_once: positions of a pass, at most.
  static Result<std::unique_ptr<LayerStack>> open(std::shared_ptr<kernels::Backend> backend,
                                                  const StackShape& shape, const std::string& name,
                                                  std::size_t n_at_once);
  LayerStack(const LayerStack&) = delete;

  // Embeddings of ids into x, backend's memory [n, width].
  Result<void> embed(std::span<const std::int32_t> ids, float* x) { return graph_->embed(ids, x); }
  // n hidden states at the lanes' next positions; changed in place.
  Result<void> pass(StackLanes& lanes, float* x, std::size_t n);
  // out [1, width] = the last norm of x.
  Result<void> norm(const float* x, float* out) { return graph_->final_norm(x, 1, out); }
  // Logits [n_vocabulary] of a hidden state, into main memory.
  Result<void> logits(const float* x, std::span<float> out);
  std::size_t n_parameters() const { return n_parameters_; }

 private:
  LayerStack(std::shared_ptr<kernels::Backend> backend, const StackShape& shape);
  Result<void> make_weights(const std::string& name);

  std::shared_ptr<kernels::Backend> backend_;
  runtime::ModelConfig config_;
  std::unique_ptr<runtime::Graph> graph_;
  std::vector<std::vector<float>> values_;  // a backend may read them in place
  std::vector<std::unique_ptr<kernels::Weight>> matrices_;
  std::vector<kernels::Buffer> vectors_;
  std::shared_ptr<kvcache::Arena> arena_;
  runtime::PassScratch scratch_;
  std::size_t n_parameters_ = 0;
};

// Values of a tensor, of its name alone, the same in tests/oracle: uniform in ±scale. Word i is
// FNV-1a of the name plus i · 2654435761, mixed by shifts and one product, in 32 bits.
std::vector<float> made_values(const std::string& name, std::size_t n, double scale);
// A matrix: ±sqrt(3 / n_in), so that what goes in and out has about the same size.
Result<std::unique_ptr<kernels::Weight>> made_matrix(kernels::Backend& backend,
                                                     const std::string& name, std::size_t n_out,
                                                     std::size_t n_in,
                                                     std::vector<std::vector<float>>& values);

}  // namespace satchel::eval
