#include "runtime/measure/measure.h"

#include <cmath>
#include <vector>

#include "kernels/base/clock.h"
#include "runtime/measure/passes.h"
#include "runtime/model/model.h"

namespace satchel::runtime {
namespace {

double nll(std::span<const float> logits, std::int32_t id) {
  double top = -INFINITY, sum = 0;
  for (const float x : logits) top = std::max(top, double{x});
  for (const float x : logits) sum += std::exp(double{x} - top);
  return top + std::log(sum) - double{logits[static_cast<std::size_t>(id)]};
}

}  // namespace

Result<Speed> measure_speed(Engine& engine, const kvcache::Recipe& recipe,
                            const SpeedRequest& request, std::stop_token stop) {
  const std::size_t n_all = request.n_prompt + request.n_decode;
  if (request.n_prompt == 0)
    return Error{ErrorKind::invalid, "PARAM", "A prompt needs at least one token."};
  if (n_all > engine.config().context) return context_full(n_all, engine.config().context);
  SATCHEL_TRY_ASSIGN(const auto cache, open_cache(engine, recipe, n_all));
  const std::size_t n_vocabulary = engine.config().n_vocabulary;
  std::vector<std::int32_t> ids(request.n_prompt);
  // 7919 is prime: all ids of a vocabulary come before one returns.
  for (std::size_t i = 0; i < ids.size(); ++i)
    ids[i] = static_cast<std::int32_t>((i * 7919 + 17) % n_vocabulary);
  std::vector<float> logits(n_vocabulary);
  const SystemClock clock;
  Speed speed;
  speed.n_prompt = request.n_prompt;
  speed.n_decode = request.n_decode;

  const double began = clock.steady_ms();
  SATCHEL_TRY(read_document(engine, *cache, ids, stop, logits));
  const double read_ms = clock.steady_ms();
  for (std::size_t i = 0; i < request.n_decode; ++i) {
    if (stop.stop_requested()) return stopped();
    const auto id = static_cast<std::int32_t>((i * 104'729 + 5) % n_vocabulary);
    SATCHEL_TRY(engine.model().decode_step(*cache, id, logits));
  }
  speed.prefill_ms = read_ms - began;
  speed.decode_ms = clock.steady_ms() - read_ms;
  speed.stats = cache->stats();
  return speed;
}

Result<TextFidelity> measure_on_text(Engine& engine, const kvcache::Recipe& recipe,
                                     std::span<const std::int32_t> ids, std::size_t n_prompt,
                                     std::stop_token stop) {
  if (n_prompt == 0 || n_prompt >= ids.size())
    return Error{ErrorKind::invalid, "PARAM",
                 "The prompt must be a part of the text, and not all of it."};
  if (ids.size() > engine.config().context)
    return context_full(ids.size(), engine.config().context);
  SATCHEL_TRY_ASSIGN(const kvcache::Recipe full, kvcache::Recipe::builtin("full"));
  SATCHEL_TRY_ASSIGN(const auto exact, open_cache(engine, full, ids.size()));
  SATCHEL_TRY_ASSIGN(const auto packed, open_cache(engine, recipe, ids.size()));
  const std::size_t n_vocabulary = engine.config().n_vocabulary;
  std::vector<float> exact_logits(n_vocabulary), packed_logits(n_vocabulary);
  Model& model = engine.model();
  SATCHEL_TRY(read_document(engine, *exact, ids.first(n_prompt), stop, exact_logits));
  SATCHEL_TRY(read_document(engine, *packed, ids.first(n_prompt), stop, packed_logits));
  SATCHEL_TRY(pack_document(engine, *packed, ids.first(n_prompt), stop));

  TextFidelity out;
  double n_same = 0, kl = 0;
  const std::size_t n = ids.size() - n_prompt;
  for (std::size_t i = n_prompt; i < ids.size(); ++i) {
    if (stop.stop_requested()) return stopped();
    const Fidelity one = compare_logits(exact_logits, packed_logits, n_vocabulary);
    n_same += one.agreement;
    kl += one.kl;
    out.exact_nll += nll(exact_logits, ids[i]);
    out.packed_nll += nll(packed_logits, ids[i]);
    if (i + 1 == ids.size()) break;
    SATCHEL_TRY(model.decode_step(*exact, ids[i], exact_logits));
    SATCHEL_TRY(model.decode_step(*packed, ids[i], packed_logits));
  }
  const auto count = static_cast<double>(n);
  out.fidelity = {
      .n_tokens = n, .agreement = n_same / count, .kl = kl / count, .measured_at = ids.size()};
  out.exact_nll /= count;
  out.packed_nll /= count;
  out.stats = packed->stats();
  return out;
}

}  // namespace satchel::runtime
