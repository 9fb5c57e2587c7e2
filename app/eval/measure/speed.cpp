#include "app/eval/measure/speed.h"

#include <algorithm>
#include <ctime>
#include <utility>

#include "app/eval/measure/passes.h"
#include "kernels/base/clock.h"
#include "runtime/model/model.h"

namespace satchel::eval {
namespace {

// 7919 is prime: all ids of a vocabulary come before one returns.
std::int32_t made_up_id(std::size_t position, std::size_t n_vocabulary) {
  return static_cast<std::int32_t>((position * 7919 + 17) % n_vocabulary);
}

}  // namespace

double cpu_ms() {
  return static_cast<double>(std::clock()) * 1000 / CLOCKS_PER_SEC;
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values.empty() ? 0 : values[values.size() / 2];
}

Result<SpeedMeter> SpeedMeter::open(runtime::Engine& engine, const kvcache::Recipe& recipe,
                                    std::size_t n_before, const SpeedRequest& request,
                                    std::size_t n_rounds, std::stop_token stop) {
  const std::size_t n_all = n_before + n_rounds * (request.n_prompt + request.n_decode);
  if (request.n_prompt == 0)
    return Error{ErrorKind::invalid, "PARAM", "A prompt needs at least one token."};
  if (n_all > engine.config().context) return context_full(n_all, engine.config().context);
  SpeedMeter meter(engine, request);
  SATCHEL_TRY_ASSIGN(meter.cache_, open_cache(engine, recipe, n_all));
  meter.ids_.reserve(n_all);
  meter.logits_.resize(engine.config().n_vocabulary);
  Speed untimed;
  if (n_before != 0) SATCHEL_TRY(meter.read(n_before, untimed, std::move(stop)));
  return meter;
}

Result<void> SpeedMeter::read(std::size_t n_tokens, Speed& speed, std::stop_token stop) {
  for (std::size_t i = 0; i < n_tokens; ++i)
    ids_.push_back(made_up_id(ids_.size(), logits_.size()));
  const SystemClock clock;
  const double began = clock.steady_ms(), began_cpu = cpu_ms();
  SATCHEL_TRY(read_document(*engine_, *cache_, ids_, stop, logits_));
  const double read_ms = clock.steady_ms();
  speed.prefill_ms = read_ms - began;
  speed.prefill_cpu_ms = cpu_ms() - began_cpu;
  if (!cache_->needs_second_pass()) return {};
  SATCHEL_TRY(pack_document(*engine_, *cache_, ids_, TextForm::raw, std::move(stop)));
  speed.pack_ms = clock.steady_ms() - read_ms;
  return {};
}

Result<Speed> SpeedMeter::next(std::stop_token stop) {
  Speed speed;
  speed.n_prompt = request_.n_prompt;
  speed.n_decode = request_.n_decode;
  SATCHEL_TRY(read(request_.n_prompt, speed, stop));
  const SystemClock clock;
  const double packed_ms = clock.steady_ms(), packed_cpu = cpu_ms();
  for (std::size_t i = 0; i < request_.n_decode; ++i) {
    if (stop.stop_requested()) return stopped();
    ids_.push_back(made_up_id(ids_.size(), logits_.size()));
    SATCHEL_TRY(engine_->model().decode_step(*cache_, ids_.back(), logits_));
  }
  speed.decode_ms = clock.steady_ms() - packed_ms;
  speed.decode_cpu_ms = cpu_ms() - packed_cpu;
  speed.stats = cache_->stats();
  return speed;
}

Result<Speed> measure_speed(runtime::Engine& engine, const kvcache::Recipe& recipe,
                            const SpeedRequest& request, std::stop_token stop) {
  SATCHEL_TRY_ASSIGN(SpeedMeter meter, SpeedMeter::open(engine, recipe, 0, request, 1, stop));
  return meter.next(std::move(stop));
}

}  // namespace satchel::eval
