#include "runtime/model/model.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

namespace satchel::runtime {
namespace {

constexpr std::size_t kCompareRows = 8;  // the output matrix is read 16 times for 128 tokens

Error stopped() {
  return Error{ErrorKind::cancelled, "STOPPED",
               "Stopped while reading; the chat is as it was before."};
}

// first, first + 1, …
void fill_positions(std::span<std::int32_t> positions, std::size_t first) {
  std::iota(positions.begin(), positions.end(), static_cast<std::int32_t>(first));
}

}  // namespace

Result<std::unique_ptr<Model>> Model::load(kernels::Backend& backend, const GgufFile& file,
                                           ModelConfig config, const ProgressFn& progress) {
  std::unique_ptr<Model> model(new Model(backend, std::move(config)));
  SATCHEL_TRY_ASSIGN(model->weights_, Weights::load(backend, file, model->config_, progress));
  return model;
}

Result<void> Model::read_prompt(const PromptPass& pass) {
  const std::size_t n = pass.ids.size(), width = config_.width;
  SATCHEL_ASSERT(n > 0);
  SATCHEL_TRY_ASSIGN(const PassScratch scratch, PassScratch::take(pass.cache.pool(), config_, n));
  SATCHEL_TRY_ASSIGN(kvcache::PromptReading reading, pass.cache.begin_prompt(n));
  SATCHEL_TRY(graph_.embed(pass.ids, scratch.hidden()));
  for (std::size_t layer = 0; layer < config_.n_layers; ++layer)
    SATCHEL_TRY(read_layer(pass, layer, scratch, reading));
  if (pass.last_rows != nullptr) {
    const std::size_t n_rows = fidelity_rows(n);
    SATCHEL_TRY(graph_.final_norm(scratch.hidden() + (n - n_rows) * width, n_rows, pass.last_rows));
  }
  if (!pass.logits.empty())
    SATCHEL_TRY(logits_of(scratch.hidden() + (n - 1) * width, scratch.work(), pass.logits));
  return reading.commit();
}

Result<void> Model::read_layer(const PromptPass& pass, std::size_t layer,
                               const PassScratch& scratch, kvcache::PromptReading& reading) {
  const std::size_t n = pass.ids.size(), n_chunk = chunk_tokens(config_);
  const Workspace& work = scratch.work();
  std::vector<std::int32_t> positions(std::min(n, n_chunk));
  SATCHEL_TRY(reading.begin_layer(layer));
  for (std::size_t at = 0; at < n; at += n_chunk) {
    if (pass.stop.stop_requested()) return stopped();
    const std::span now = std::span(positions).first(std::min(n_chunk, n - at));
    fill_positions(now, pass.cache.n_tokens() + at);
    float* x = scratch.hidden() + at * config_.width;
    SATCHEL_TRY(graph_.project(layer, x, now, LlamaGraph::Project::queries_keys_values, work));
    SATCHEL_TRY(reading.add_chunk(work.k, work.v, now.size()));
    const bool wants_queries = reading.wants_queries();
    SATCHEL_TRY(graph_.attend(reading.lanes(), now, wants_queries, work));
    if (wants_queries) SATCHEL_TRY(reading.observe(work.q, work.lse));
    SATCHEL_TRY(graph_.finish(layer, x, now.size(), work));
    if (pass.progress)
      pass.progress({Phase::read_prompt, layer * n + at + now.size(), config_.n_layers * n});
  }
  return reading.end_layer();
}

Result<void> Model::decode_step(kvcache::Cache& cache, std::int32_t id, std::span<float> logits) {
  SATCHEL_TRY_ASSIGN(const PassScratch scratch, PassScratch::take(cache.pool(), config_, 1));
  const Workspace& work = scratch.work();
  float* x = scratch.hidden();
  std::int32_t position = 0;
  fill_positions({&position, 1}, cache.n_tokens());
  const std::span<const std::int32_t> positions(&position, 1);
  SATCHEL_TRY(cache.begin_step());
  SATCHEL_TRY(graph_.embed({&id, 1}, x));
  for (std::size_t layer = 0; layer < config_.n_layers; ++layer) {
    SATCHEL_TRY(
        graph_.project(layer, x, positions, LlamaGraph::Project::queries_keys_values, work));
    SATCHEL_TRY(cache.append(layer, work.k, work.v));
    SATCHEL_TRY(graph_.attend(cache.lanes(layer), positions, false, work));
    SATCHEL_TRY(graph_.finish(layer, x, 1, work));
  }
  SATCHEL_TRY(cache.end_step());
  return logits_of(x, work, logits);
}

Result<void> Model::replay(const ReplayPass& pass) {
  const std::size_t n = pass.ids.size(), n_chunk = chunk_tokens(config_);
  const std::size_t first = pass.cache.n_tokens() - n;
  SATCHEL_TRY_ASSIGN(const PassScratch scratch, PassScratch::take(pass.cache.pool(), config_, n));
  std::vector<std::int32_t> positions(n);
  fill_positions(positions, first);
  SATCHEL_TRY(graph_.embed(pass.ids, scratch.hidden()));
  for (std::size_t layer = 0; layer < config_.n_layers; ++layer) {
    for (std::size_t at = 0; at < n; at += n_chunk) {
      if (pass.stop.stop_requested()) return stopped();
      const std::span now = std::span(positions).subspan(at, std::min(n_chunk, n - at));
      float* x = scratch.hidden() + at * config_.width;
      SATCHEL_TRY(graph_.project(layer, x, now, LlamaGraph::Project::queries, scratch.work()));
      SATCHEL_TRY(graph_.attend(pass.cache.lanes(layer), now, false, scratch.work()));
      SATCHEL_TRY(graph_.finish(layer, x, now.size(), scratch.work()));
    }
  }
  return graph_.final_norm(scratch.hidden(), n, pass.rows);
}

// Two blocks of logits at a time: no more rows than the replay before it took memory for, so that
// the peak stays, and at most kCompareRows.
Result<Fidelity> Model::compare(kvcache::Pool& pool, const float* exact, const float* packed,
                                std::size_t n_tokens) {
  const std::size_t n_vocabulary = config_.n_vocabulary;
  const std::size_t row_bytes = n_vocabulary * sizeof(float);
  const std::size_t n_block = std::clamp<std::size_t>(
      PassScratch::bytes(config_, n_tokens) / (2 * row_bytes), 1, std::min(n_tokens, kCompareRows));
  SATCHEL_TRY_ASSIGN(const kvcache::ScratchLease lease, pool.take_scratch(2 * n_block * row_bytes));
  auto* on_device = reinterpret_cast<float*>(lease.data());
  std::vector<float> block(2 * n_block * n_vocabulary);
  Fidelity sum{.n_tokens = 0, .agreement = 0, .kl = 0};
  for (std::size_t at = 0; at < n_tokens; at += n_block) {
    const std::size_t n = std::min(n_block, n_tokens - at);
    SATCHEL_TRY(graph_.logits(exact + at * config_.width, n, on_device));
    SATCHEL_TRY(graph_.logits(packed + at * config_.width, n, on_device + n * n_vocabulary));
    const std::span<float> both = std::span(block).first(2 * n * n_vocabulary);
    SATCHEL_TRY(backend_.download(std::as_writable_bytes(both), lease.data()));
    const Fidelity part =
        compare_logits(both.first(n * n_vocabulary), both.last(n * n_vocabulary), n_vocabulary);
    sum.n_tokens += n;
    sum.agreement += part.agreement * static_cast<double>(n);
    sum.kl += part.kl * static_cast<double>(n);
  }
  sum.agreement /= static_cast<double>(n_tokens);
  sum.kl /= static_cast<double>(n_tokens);
  return sum;
}

Result<void> Model::logits_of(const float* x, const Workspace& work, std::span<float> logits) {
  SATCHEL_ASSERT(logits.size() == config_.n_vocabulary);
  SATCHEL_TRY(graph_.final_norm(x, 1, work.normed));
  SATCHEL_TRY(graph_.logits(work.normed, 1, work.logits));
  SATCHEL_TRY(backend_.download(std::as_writable_bytes(logits),
                                reinterpret_cast<const std::byte*>(work.logits)));
  if (std::any_of(logits.begin(), logits.end(), [](float x_i) { return std::isnan(x_i); }))
    return Error{ErrorKind::internal, "LOGITS_NAN",
                 "The model gave something that is no number; its file may be damaged."};
  return {};
}

}  // namespace satchel::runtime
