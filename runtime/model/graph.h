// Graph: one architecture's computation on the Backend contract, a step at a time; and the table of
// architectures. A graph knows no cache and no conversation: who reads, decodes or replays gives it
// a batch and the lanes it sees.
//   order   embed -> for each layer { project -> rotate -> attend -> finish, or recur } ->
//           final_norm -> logits. Between project and rotate, work.q and work.k lie as they were
//           before RoPE.
//   x       hidden states [n, width] fp32 in the backend's memory, changed in place
//   stop    a step looks at it between operations and fails with cancelled/STOPPED
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/contract/backend.h"
#include "runtime/model/config.h"
#include "runtime/model/scratch.h"

namespace satchel::runtime {

class Hyperparameters;

// A tensor that a graph computes with, and where the loaded one is put. Null stays where an
// optional tensor is absent. With no place to put it, the tensor is known and passed over.
struct TensorSpec {
  std::string name;
  std::size_t n_out = 1, n_in = 0;  // rows and their length
  const kernels::Weight** matrix = nullptr;
  const float** vector = nullptr;  // fp32; usually of one row
  bool is_optional = false;
  // A matrix or vector that is a part of the tensor (fused projections, experts side by side): it
  // begins at this row, of so many in all. The parts of a tensor together are the whole of it.
  std::size_t first_row = 0, n_rows = 0;  // n_rows 0: it is the whole tensor
  // Of a matrix: its rows lie in blocks of so many, each block so many rows behind the one before.
  std::size_t block_rows = 0, block_stride = 0;  // 0: side by side
  // A table that only embed() reads. Each of the tensor's rows is so many rows of it.
  bool is_table = false;
  std::size_t rows_of_row = 1;
  float factor = 1;  // of a vector
  // A vector of this value alone: no tensor has it.
  std::optional<float> constant = {};

  std::size_t n_rows_in_all() const { return n_rows == 0 ? n_out : n_rows; }
};

// One layer, one batch.
struct LayerStep {
  std::size_t layer = 0;
  kernels::Batch batch;
  std::span<const std::int32_t> ids = {};  // of the batch; empty: nothing is finished
  const float* rotation = nullptr;         // of this layer's frequencies and this batch
  const Workspace& work;
  const std::stop_token& stop;

  Result<void> go_on() const;  // fails once a stop was asked for
};

class Graph {
 public:
  enum class Project { queries, queries_keys_values };
  enum class Lse { unwanted, wanted };
  Graph(kernels::Backend& backend, const ModelConfig& config)
      : backend_(backend), config_(config) {}
  virtual ~Graph() = default;
  Graph(const Graph&) = delete;

  // Every tensor of the file has a place here, or the file is refused.
  virtual std::vector<TensorSpec> tensors() = 0;

  Result<void> embed(std::span<const std::int32_t> ids, float* x);
  // work.q (, work.k, work.v) of x, before RoPE.
  virtual Result<void> project(const LayerStep& step, Project what, const float* x) = 0;
  // work.q (, work.k) rotated to the batch's positions.
  Result<void> rotate(const LayerStep& step, Project what);
  // work.attended (and work.lse, if wanted) of work.q over what the sequences hold.
  Result<void> attend(const LayerStep& step, std::span<const kernels::Sequence> sequences, Lse lse);
  // What attention and feed-forward add to x.
  virtual Result<void> finish(const LayerStep& step, float* x) = 0;
  // A recurrent layer: what it and its feed-forward add to x, its state carried on.
  virtual Result<void> recur(const LayerStep& step,
                             std::span<const kernels::StateSequence> sequences, float* x);
  // out [n, width]: what logits() takes.
  Result<void> final_norm(const float* x, std::size_t n_tokens, float* out);
  // out [n, n_vocabulary]
  Result<void> logits(const float* normed, std::size_t n_tokens, float* out);

 protected:
  // Embedding, last norm, output, RoPE's factors (which the config took): the same everywhere.
  void spec_of_ends(std::vector<TensorSpec>& specs);
  const LayerConfig& layer(const LayerStep& step) const { return config_.layers[step.layer]; }
  const kernels::Weight& embedding() const { return *embedding_; }
  // The tensor of the last norm's gains.
  virtual std::string_view output_norm() const { return "output_norm.weight"; }

  kernels::Backend& backend_;
  const ModelConfig& config_;

 private:
  const kernels::Weight* embedding_ = nullptr;  // [n_vocabulary, width]
  const kernels::Weight* output_ = nullptr;     // the same shape; null: tied to the embedding
  const float* output_gain_ = nullptr;          // [width]
};

// One file of arch/ defines one, named arch_<file>; the build finds it.
struct Architecture {
  std::string_view name;  // "general.architecture" of the files it reads
  Result<ModelConfig> (*config)(const Hyperparameters& of);
  // config outlives the graph.
  std::unique_ptr<Graph> (*graph)(kernels::Backend& backend, const ModelConfig& config);
};
std::span<const Architecture* const> all_architectures();
const Architecture* find_architecture(std::string_view name);  // null: unknown

}  // namespace satchel::runtime
