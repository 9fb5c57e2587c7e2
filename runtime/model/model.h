// Model: weights and graph on a backend, and the ways tokens go through them: prefill of a prompt,
// decode, replay of tokens already read against the compressed cache, and probes, which leave
// nothing in the cache.
//   memory   every array as long as a prompt or a vocabulary is leased from the arena
//            (scratch.h); decode_step allocates nothing
//   stop     looked at between operations; each is bounded by chunk_tokens()
//   errors   those of cache and backend; cancelled/STOPPED; internal/LOGITS_NAN
//   threads  one call at a time. Where progress is told, a prefill holds nothing of the model:
//            other caches may take decode steps in that call, if their arena has the memory beside
//            needed_bytes()
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <stop_token>
#include <vector>

#include "kvcache/cache/cache.h"
#include "runtime/gguf/reader.h"
#include "runtime/model/config.h"
#include "runtime/model/graph.h"
#include "runtime/model/scratch.h"
#include "runtime/model/weights.h"
#include "runtime/progress.h"

namespace satchel::runtime {

// Is shown each chunk of a prefill after its attention, layer by layer: step.work has q and k after
// RoPE, pre_rope_q, pre_rope_k and lse. Neither layers that read the lanes of others nor recurrent
// ones are shown. Changes nothing; its error ends the prefill.
class PrefillWatch {
 public:
  virtual ~PrefillWatch() = default;
  virtual Result<void> see(const LayerStep& step) = 0;
};

// One span of text: as much as goes in at once (kvcache::Cache::largest_fit()).
struct PromptPass {
  kvcache::Cache& cache;
  std::span<const std::int32_t> ids;     // at positions cache.n_tokens() …
  kvcache::PrefillRequest request = {};  // its n_tokens is ids.size(), whatever it says
  std::stop_token stop;
  const ProgressFn& progress;
  float* last_rows = nullptr;     // [fidelity_rows(n), width], backend's memory; null: not wanted
  AttentionSamples samples = {};  // of n tokens: filled; n() 0: not wanted
  std::span<float> logits = {};   // [n_vocabulary] after the last token, main memory; may be empty
  PrefillWatch* watch = nullptr;  // null: nobody looks
  // Of ids.size() tokens, in place of the request; null: what fits is planned when the pass begins.
  const kvcache::PrefillPlan* plan = nullptr;
  // Bytes of the arena that it may come to hold; SIZE_MAX: all there are.
  std::size_t needed_bytes = SIZE_MAX;
};

// Tokens that attend to the lanes and to each other, and whose K and V are dropped layer by layer.
// The cache's scorer sees their queries, which score the text that the cache holds.
struct ProbePass {
  kvcache::Cache& cache;
  kvcache::ProbeJob job;              // the text that is scored
  std::span<const std::int32_t> ids;  // what the model reads for it
  std::size_t first_position = 0;
  std::stop_token stop;
};

// Of tokens before a replay, run for the states of recurrent layers, so many at a time. Chosen: as
// many as a measurement looks at.
inline constexpr std::size_t kReplayedTokens = 128;

struct ReplayPass {
  kvcache::Cache& cache;
  std::span<const std::int32_t> ids;  // of the cache's tokens, those from position `first` on
  std::size_t first = 0;
  // Those before `first`, all or the last of them: read only where layers are recurrent, back to
  // their nearest checkpoint.
  std::span<const std::int32_t> before = {};
  std::stop_token stop;
  float* rows = nullptr;          // [n, width], backend's memory; null: not wanted
  AttentionSamples samples = {};  // of n tokens: filled; n() 0: not wanted
  std::span<float> logits = {};   // as PromptPass
};

// The next token of one conversation, at position cache->n_tokens().
struct DecodeItem {
  kvcache::Cache* cache = nullptr;  // each only once in a call
  std::int32_t id = 0;
  std::span<float> logits = {};  // [n_vocabulary], main memory
};

class Model;

// A step of one conversation with more tokens than the next one: those that may follow it. Its
// cache's step is open until end(), which keeps the first tokens.
//   needs  the Model and the cache, which nothing else changes meanwhile
class DraftedStep {
 public:
  // Logits after the step's token i, into main memory: the same as after i + 1 steps of one.
  Result<void> fetch_logits(std::size_t i, std::span<float> logits) const;
  Result<void> end(std::size_t n_kept);

 private:
  friend Model;
  DraftedStep(Model& model, kvcache::Cache& cache, PassScratch scratch)
      : model_(&model), cache_(&cache), scratch_(std::move(scratch)) {}
  Model* model_;
  kvcache::Cache* cache_;
  PassScratch scratch_;
};

class Model {
 public:
  // backend and file stay where they are and outlive the Model.
  static Result<std::unique_ptr<Model>> load(kernels::Backend& backend, const GgufFile& file,
                                             ModelConfig config, const LoadOptions& options);
  Model(const Model&) = delete;

  const ModelConfig& config() const { return config_; }
  // Head budgets for caches opened from now on.
  void set_head_budgets(std::shared_ptr<const kvcache::HeadBudgets> budgets) {
    config_.head_budgets = std::move(budgets);
  }
  // Likewise the bases in which their keys are coded.
  void set_key_bases(std::shared_ptr<const kvcache::KeyBases> bases) {
    config_.key_bases = std::move(bases);
  }
  // Likewise the weights of trained selectors.
  void set_selectors(kvcache::SelectorSet selectors) { config_.selectors = std::move(selectors); }
  const Weights& weights() const { return weights_; }
  kernels::Backend& backend() { return backend_; }

  // All or nothing: where it fails or is stopped, the cache is as it was.
  Result<kvcache::CompactionReport> read_prompt(const PromptPass& pass);
  Result<void> probe(const ProbePass& pass);
  Result<void> decode_step(kvcache::Cache& cache, std::int32_t id, std::span<float> logits);
  // A step of several conversations, with the same logits as one by one. Scratch is leased from the
  // first one's arena. Where it fails, each cache is as it was, or one token further with its
  // logits made; the caller sees which by n_tokens().
  Result<void> decode(std::span<const DecodeItem> items);
  // The next token of a conversation and what may follow it: ids, at most cache.step_room().
  Result<DraftedStep> decode_drafted(kvcache::Cache& cache, std::span<const std::int32_t> ids);
  // Logits after a token that is not decided, from a part of the cache (Cache::begin_draft()).
  Result<void> draft(kvcache::Cache& cache, std::int32_t id, std::span<float> logits);
  // Queries of tokens the cache has seen, over what it holds now, masked by position; nothing is
  // appended. Hidden states differ from the first prefill's only by what compression cost.
  Result<void> replay(const ReplayPass& pass);
  // For measurements (runtime/replay), which bring their own scratch: the computation step by step,
  // and its barrier: queued work is done, so that progress and stops mean what they say.
  Graph& graph() { return *graph_; }
  Result<void> synchronise();
  // Memory beside weights and arena: the backend's own workspace so far, and rows of logits in main
  // memory (one of a session, two while a replay is compared).
  std::size_t outside_bytes() const {
    return backend_.scratch_bytes() + 3 * config_.n_vocabulary * sizeof(float);
  }
  // Of the arena, by the prefill that is under way, as PromptPass has it; 0: none is.
  std::size_t needed_bytes() const { return needed_bytes_; }

 private:
  friend DraftedStep;
  // Tokens on their way through the layers.
  struct Run;
  class NeededBytes;

  Model(kernels::Backend& backend, ModelConfig config)
      : backend_(backend), config_(std::move(config)) {}
  // Positions of the run into scratch, embeddings into hidden.
  Result<void> enter(const Run& run);
  // The run's tokens at … at + n - 1 in one layer, with its rotation.
  Result<LayerStep> step_of(Run& run, std::size_t layer, std::size_t at, std::size_t n);
  Result<void> read_layers(Run& run, kvcache::Prefill& prefill);
  Result<void> read_layer(Run& run, std::size_t layer, kvcache::Prefill& prefill);
  Result<void> read_chunk(const Run& run, const LayerStep& step, float* x,
                          kvcache::Prefill& prefill);
  Result<void> read_shared_chunk(const Run& run, const LayerStep& step, float* x,
                                 kvcache::Prefill& prefill);
  Result<void> carry_layer(Run& run, std::size_t layer);
  // Of a chunk: the barrier, and progress.
  Result<void> done_with(const Run& run, const LayerStep& step);
  Result<void> replay_layers(Run& run, kvcache::Cache& cache);
  Result<void> replay_layer(Run& run, std::size_t layer, kvcache::Cache& cache);
  Result<void> decode_one_by_one(std::span<const DecodeItem> items);
  Result<void> decode_layers(const PassScratch& scratch, std::span<const DecodeItem> items);
  Result<void> decode_layer(const LayerStep& step, float* x, std::span<const DecodeItem> items);
  Result<void> decode_recurrent_layer(const LayerStep& step, float* x,
                                      std::span<const DecodeItem> items);
  // Copies what the run samples of this step's tokens, after its attention.
  Result<void> sample(const Run& run, const LayerStep& step);
  Result<void> copy(float* to, const float* from, std::size_t n);
  // work.q (, work.k, work.v) of x, rotated to its positions; q and k before RoPE, if wanted.
  Result<void> project(const LayerStep& step, Graph::Project what, bool keeps_pre_rope,
                       const float* x);
  // Logits after the last of the run's tokens, where they are wanted.
  Result<void> last_logits(const Run& run, std::span<float> logits);
  // Logits after n hidden states, through work.normed into work.logits; then row i to main memory.
  Result<void> make_logits(const float* x, std::size_t n, const Workspace& work);
  Result<void> fetch_logits(const Workspace& work, std::size_t row, std::span<float> logits);

  kernels::Backend& backend_;
  ModelConfig config_;
  std::unique_ptr<Graph> graph_;
  Weights weights_;
  // Lent to one decode step at a time; kept so that it does not allocate.
  std::vector<std::int32_t> positions_, ids_;
  std::vector<kernels::Sequence> sequences_;
  std::vector<kernels::StateSequence> carried_;
  std::size_t needed_bytes_ = 0;
};

}  // namespace satchel::runtime
