#include "runtime/replay/replay.h"

#include <algorithm>

#include "kernels/base/assert.h"

namespace satchel::runtime {
namespace {

constexpr std::size_t kCompareRows = 8;  // the output matrix is read 16 times for 128 tokens

Result<void> fetch(Model& model, std::span<float> to, const void* from) {
  return model.backend().download(std::as_writable_bytes(to), static_cast<const std::byte*>(from));
}

// attention_left() of the heads of one layer.
Result<std::vector<double>> left_in_layer(Model& model, const LayerStep& step,
                                          const AttentionSamples& exact, kernels::Sequence lanes) {
  const LayerConfig& layer = model.config().layers[step.layer];
  const std::size_t n = exact.n(), n_heads = layer.attention.n_heads;
  SATCHEL_TRY(model.backend().copy(reinterpret_cast<std::byte*>(step.work.q),
                                   reinterpret_cast<const std::byte*>(exact.queries(step.layer)),
                                   n * layer.q_width() * sizeof(float)));
  lanes.n_tokens = n;
  SATCHEL_TRY(model.graph().attend(step, {&lanes, 1}, Graph::Lse::wanted));
  SATCHEL_TRY(model.synchronise());
  std::vector<float> before(n * n_heads), now(n * n_heads);
  SATCHEL_TRY(fetch(model, before, exact.lse(step.layer)));
  SATCHEL_TRY(fetch(model, now, step.work.lse));
  return attention_left(before, now, n_heads);
}

}  // namespace

Result<kvcache::Arena::Lease> replay_rows(Model& model, ReplayPass pass) {
  SATCHEL_TRY_ASSIGN(
      kvcache::Arena::Lease rows,
      pass.cache.arena().take_scratch(pass.ids.size() * model.config().width * sizeof(float)));
  pass.rows = reinterpret_cast<float*>(rows.data());
  SATCHEL_TRY(model.replay(pass));
  return rows;
}

Result<void> each_logits(Model& model, kvcache::Arena& arena, const float* rows,
                         std::size_t n_tokens, const SeeLogits& see) {
  const std::size_t n_vocabulary = model.config().n_vocabulary;
  const std::size_t row_bytes = n_vocabulary * sizeof(float);
  SATCHEL_TRY_ASSIGN(const kvcache::Arena::Lease lease,
                     arena.take_scratch(std::min(n_tokens, kCompareRows) * row_bytes));
  std::vector<float> row(n_vocabulary);
  for (std::size_t i = 0; i < n_tokens; ++i) {
    const std::size_t of_block = i % kCompareRows;
    if (of_block == 0)
      SATCHEL_TRY(model.graph().logits(rows + i * model.config().width,
                                       std::min(n_tokens - i, kCompareRows),
                                       reinterpret_cast<float*>(lease.data())));
    SATCHEL_TRY(fetch(model, row, lease.data() + of_block * row_bytes));
    see(i, row);
  }
  return {};
}

Result<std::vector<std::int32_t>> top_tokens(Model& model, kvcache::Arena& arena, const float* rows,
                                             std::size_t n_tokens) {
  std::vector<std::int32_t> top;
  const auto note = [&top](std::size_t, std::span<const float> row) {
    top.push_back(
        static_cast<std::int32_t>(std::max_element(row.begin(), row.end()) - row.begin()));
  };
  SATCHEL_TRY(each_logits(model, arena, rows, n_tokens, note));
  return top;
}

// Two blocks of logits at a time on the backend: no more rows than the replay before it took memory
// for, so that the peak stays, and at most kCompareRows. Main memory holds two rows.
Result<Fidelity> compare_rows(Model& model, kvcache::Arena& arena, const RowPair& rows) {
  const ModelConfig& config = model.config();
  const std::size_t n_vocabulary = config.n_vocabulary, row_bytes = n_vocabulary * sizeof(float);
  const std::size_t replay_bytes =
      PassScratch::bytes(config, prefill_size(config, 0, rows.n_tokens));
  const std::size_t n_block = std::clamp<std::size_t>(replay_bytes / (2 * row_bytes), 1,
                                                      std::min(rows.n_tokens, kCompareRows));
  SATCHEL_TRY_ASSIGN(const kvcache::Arena::Lease lease,
                     arena.take_scratch(2 * n_block * row_bytes));
  auto* on_device = reinterpret_cast<float*>(lease.data());
  const float* exact = rows.exact();
  std::vector<float> exact_row(n_vocabulary), compressed_row(n_vocabulary);
  Fidelity sum{.n_tokens = rows.n_tokens, .agreement = 0, .kl = 0};
  for (std::size_t at = 0; at < rows.n_tokens; at += n_block) {
    const std::size_t n = std::min(n_block, rows.n_tokens - at), first = at * config.width;
    SATCHEL_TRY(model.graph().logits(exact + first, n, on_device));
    SATCHEL_TRY(model.graph().logits(rows.compressed + first, n, on_device + n * n_vocabulary));
    for (std::size_t i = 0; i < n; ++i) {
      SATCHEL_TRY(fetch(model, exact_row, lease.data() + i * row_bytes));
      SATCHEL_TRY(fetch(model, compressed_row, lease.data() + (n + i) * row_bytes));
      const Fidelity one = compare_logits(exact_row, compressed_row, n_vocabulary);
      sum.agreement += one.agreement;
      sum.kl += one.kl;
    }
  }
  sum.agreement /= static_cast<double>(rows.n_tokens);
  sum.kl /= static_cast<double>(rows.n_tokens);
  return sum;
}

Result<double> attention_kept(Model& model, const AttentionPass& pass) {
  SATCHEL_ASSERT(pass.n_tokens > 0 && pass.n_tokens <= pass.end);
  const ModelConfig& config = model.config();
  const std::size_t n = AttentionSamples(config, pass.n_tokens, nullptr).n();
  SATCHEL_TRY_ASSIGN(const PassScratch scratch,
                     PassScratch::take(pass.cache.arena(), config, {.n_tokens = n, .n_chunk = n}));
  SATCHEL_TRY(pass.cache.refresh_lanes());
  const AttentionSamples exact = pass.exact();
  SATCHEL_ASSERT(exact.n() == n);
  std::vector<std::int32_t> positions;
  for (std::size_t i = 0; i < n; ++i)
    positions.push_back(static_cast<std::int32_t>(pass.end - pass.n_tokens + exact.token(i)));
  SATCHEL_TRY(model.backend().upload(reinterpret_cast<std::byte*>(scratch.positions()),
                                     std::as_bytes(std::span(positions))));
  const kernels::Batch batch{.positions = scratch.positions(),
                             .n_tokens = n,
                             .position_min = positions.front(),
                             .position_max = positions.back()};
  double sum = 0;
  std::size_t n_heads = 0;
  for (std::size_t layer = 0; layer < config.n_layers(); ++layer) {
    if (config.layers[layer].is_recurrent()) continue;
    SATCHEL_TRY(pass.cache.fetch_lanes(config.cache_layer(layer)));
    const LayerStep step{.layer = layer, .batch = batch, .work = scratch.work(), .stop = pass.stop};
    SATCHEL_TRY_ASSIGN(
        const std::vector<double> of_heads,
        left_in_layer(model, step, exact, pass.cache.lanes(config.cache_layer(layer))));
    for (const double left : of_heads) sum += left;
    n_heads += of_heads.size();
  }
  return sum / static_cast<double>(n_heads);
}

}  // namespace satchel::runtime
