#include "app/eval/measure/serving.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "runtime/model/config.h"

namespace satchel::eval {
namespace {

double ms_of(double amount, double per_s) {
  return amount / per_s * 1000;
}

// Weights of a layer that a token is multiplied with.
double weights_of(const runtime::LayerConfig& layer, std::size_t width) {
  const std::size_t n_experts = std::max<std::size_t>(layer.n_experts_used, 1);
  const std::size_t ffn = layer.ffn_width * n_experts + layer.ffn_beside + layer.ffn_shared;
  std::size_t columns = 3 * ffn;  // gate, up and down
  if (!layer.is_recurrent()) columns += 2 * layer.q_width();
  if (layer.has_lanes()) columns += 2 * layer.kv_width();
  return static_cast<double>(columns * width);
}

// Token i attends to i + 1 tokens, or as many as the window has.
double pairs_of(std::size_t window, std::size_t n_tokens) {
  const auto n = static_cast<double>(n_tokens);
  if (window == 0 || window >= n_tokens) return n * (n + 1) / 2;
  const auto w = static_cast<double>(window);
  return w * (w + 1) / 2 + (n - w) * w;
}

}  // namespace

double prefill_flops(const runtime::ModelConfig& config, std::size_t n_tokens) {
  double out = 0;
  for (const runtime::LayerConfig& layer : config.layers) {
    out += 2 * weights_of(layer, config.width) * static_cast<double>(n_tokens);
    if (layer.is_recurrent()) continue;
    out += 4 * pairs_of(layer.attention.window, n_tokens) * static_cast<double>(layer.q_width());
  }
  return out;
}

Result<Serving> measure_serving(runtime::Engine& engine, const kvcache::Recipe& recipe,
                                const ServingSpec& spec, std::stop_token stop) {
  Serving out;
  std::vector<double> prefill, decode;
  for (std::size_t round = 0; round < spec.rounds; ++round) {
    SATCHEL_TRY_ASSIGN(const Speed speed,
                       measure_speed(engine, recipe,
                                     {.n_prompt = spec.n_tokens, .n_decode = spec.n_answer}, stop));
    prefill.push_back(speed.prefill_ms + speed.pack_ms);
    decode.push_back(speed.decode_ms / static_cast<double>(spec.n_answer));
    out.stats = speed.stats;
  }
  out.prefill_ms = median(std::move(prefill));
  out.decode_ms = median(std::move(decode));
  out.n_chats = spec.limit_bytes / std::max<std::size_t>(out.stats.bytes, 1);
  const ResumeSpec resume{
      .text = spec.text, .limit_bytes = spec.limit_bytes, .rounds = spec.rounds};
  SATCHEL_TRY_ASSIGN(out.switched, measure_resume(engine, recipe, resume, std::move(stop), {}));
  return out;
}

PossibleServing possible_serving(const runtime::Engine& engine, const ServingSpec& spec,
                                 const Serving& measured, const MachineLimits& machine) {
  PossibleServing out{
      .n_chats_fp16 = spec.limit_bytes / std::max<std::size_t>(measured.stats.fp16_bytes, 1),
      .prefill_flops = prefill_flops(engine.config(), spec.n_tokens)};
  if (machine.fma_flops_per_s > 0)
    out.prefill_ms = ms_of(out.prefill_flops, machine.fma_flops_per_s);
  if (machine.read_bytes_per_s > 0)
    out.decode_ms = ms_of(static_cast<double>(engine.weight_bytes() + measured.stats.bytes),
                          machine.read_bytes_per_s);
  std::vector<double> plain;
  for (const ResumeTimes& round : measured.switched.saved.warm) plain.push_back(round.plain_ms);
  out.switch_ms = 2 * median(std::move(plain));
  return out;
}

}  // namespace satchel::eval
