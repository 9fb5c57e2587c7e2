#include "runtime/measure/measure.h"

#include <vector>

#include "kernels/base/clock.h"
#include "runtime/measure/passes.h"
#include "runtime/model/model.h"

namespace satchel::runtime {
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
  speed.prefill_ms = read_ms - began;
  if (cache->wants_second_pass()) {
    SATCHEL_TRY(pack_document(engine, *cache, ids, TextForm::raw, stop));
    speed.pack_ms = clock.steady_ms() - read_ms;
  }
  const double packed_ms = clock.steady_ms();
  for (std::size_t i = 0; i < request.n_decode; ++i) {
    if (stop.stop_requested()) return stopped();
    const auto id = static_cast<std::int32_t>((i * 104'729 + 5) % n_vocabulary);
    SATCHEL_TRY(engine.model().decode_step(*cache, id, logits));
  }
  speed.decode_ms = clock.steady_ms() - packed_ms;
  speed.stats = cache->stats();
  return speed;
}

}  // namespace satchel::runtime
