#include "app/eval/measure/draft_speed.h"

#include <algorithm>
#include <functional>
#include <string_view>
#include <utility>

#include "app/eval/measure/passes.h"
#include "app/eval/measure/speed.h"
#include "kernels/base/clock.h"
#include "runtime/model/model.h"

namespace satchel::eval {
namespace {

using IdSpan = std::span<const std::int32_t>;

// What generates `text`, one step after the other, and what it saw.
struct Pass {
  runtime::Engine& engine;
  kvcache::Cache& cache;
  IdSpan document, text;
  const std::stop_token& stop;
  std::vector<std::size_t> hashes = {};  // of the logits after each token of text
  std::size_t n_steps = 0;
  double ms = 0, cpu_ms = 0, self_ms = 0, tried_ms = 0;
  std::size_t n_tried = 0;
};

void note(std::span<const float> logits, Pass& pass) {
  const std::string_view bytes(reinterpret_cast<const char*>(logits.data()), logits.size_bytes());
  pass.hashes.push_back(std::hash<std::string_view>()(bytes));
}

Result<void> generate_plain(Pass& pass) {
  std::vector<float> logits(pass.engine.config().n_vocabulary);
  for (const std::int32_t id : pass.text) {
    if (pass.stop.stop_requested()) return stopped();
    SATCHEL_TRY(pass.engine.model().decode_step(pass.cache, id, logits));
    note(logits, pass);
    ++pass.n_steps;
  }
  return {};
}

// As Turn does it, for text that is known.
Result<void> generate_drafted(Pass& pass, runtime::AnswerDrafts& drafts, const Clock& clock) {
  const runtime::Sampler greedy(runtime::Sampling::plain_greedy(0));
  std::vector<float> logits(pass.engine.config().n_vocabulary);
  std::vector<std::int32_t> said(pass.document.begin(), pass.document.end());
  for (std::size_t at = 0; at < pass.text.size(); ++pass.n_steps) {
    if (pass.stop.stop_requested()) return stopped();
    said.push_back(pass.text[at]);
    const IdSpan ids =
        drafts.next({.model = pass.engine.model(),
                     .cache = pass.cache,
                     .sampler = greedy,
                     .text = said,
                     .logits = logits,
                     .n_most = std::min(runtime::DraftPace::kMost, pass.cache.step_room() - 1)});
    const double began = clock.steady_ms();
    SATCHEL_TRY_ASSIGN(runtime::DraftedStep step,
                       pass.engine.model().decode_drafted(pass.cache, ids));
    const double ms = clock.steady_ms() - began;
    const IdSpan left = pass.text.subspan(at);
    const auto n_kept =
        static_cast<std::size_t>(std::ranges::mismatch(ids, left).in1 - ids.begin());
    for (std::size_t i = 0; i < n_kept; ++i) {
      SATCHEL_TRY(step.fetch_logits(i, logits));
      note(logits, pass);
    }
    SATCHEL_TRY(step.end(n_kept));
    drafts.took(ms, n_kept - 1);
    pass.self_ms += drafts.self_ms();
    if (ids.size() > 1) {
      pass.tried_ms += ms;
      ++pass.n_tried;
    }
    said.insert(said.end(), left.begin() + 1, left.begin() + static_cast<std::ptrdiff_t>(n_kept));
    at += n_kept;
  }
  return {};
}

template <class Work>
Result<void> timed(Pass& pass, const Work& work) {
  const SystemClock clock;
  const double began = clock.steady_ms(), began_cpu = cpu_ms();
  SATCHEL_TRY(work());
  pass.ms = clock.steady_ms() - began;
  pass.cpu_ms = cpu_ms() - began_cpu;
  return {};
}

}  // namespace

Result<DraftMeter> DraftMeter::open(runtime::Engine& engine, const kvcache::Recipe& recipe,
                                    std::span<const std::int32_t> document, std::size_t n_most,
                                    std::stop_token stop) {
  const std::size_t n_all = document.size() + n_most;
  if (n_all > engine.config().context) return context_full(n_all, engine.config().context);
  DraftMeter meter(engine);
  meter.document_.assign(document.begin(), document.end());
  SATCHEL_TRY_ASSIGN(meter.cache_, open_cache(engine, recipe, n_all));
  meter.logits_.resize(engine.config().n_vocabulary);
  SATCHEL_TRY(read_document(engine, *meter.cache_, document, stop, meter.logits_));
  if (meter.cache_->needs_second_pass())
    SATCHEL_TRY(pack_document(engine, *meter.cache_, document, TextForm::raw, std::move(stop)));
  return meter;
}

Result<std::vector<std::int32_t>> DraftMeter::own_text(std::size_t n, const std::stop_token& stop) {
  SATCHEL_TRY_ASSIGN(const auto cache, cache_->fork());
  runtime::Sampler greedy(runtime::Sampling::plain_greedy(0));
  std::vector<float> logits = logits_;
  std::vector<std::int32_t> text;
  for (;;) {
    text.push_back(greedy.choose(logits, {}));
    if (text.size() == n) return text;
    if (stop.stop_requested()) return stopped();
    SATCHEL_TRY(engine_->model().decode_step(*cache, text.back(), logits));
  }
}

Result<DraftSpeed> DraftMeter::measure(std::span<const std::int32_t> text,
                                       const runtime::DraftSources& sources,
                                       const std::stop_token& stop) {
  SATCHEL_TRY_ASSIGN(const auto one, cache_->fork());
  SATCHEL_TRY_ASSIGN(const auto several, cache_->fork());
  Pass plain{.engine = *engine_, .cache = *one, .document = document_, .text = text, .stop = stop};
  Pass drafted{
      .engine = *engine_, .cache = *several, .document = document_, .text = text, .stop = stop};
  const SystemClock clock;
  runtime::AnswerDrafts drafts(sources, clock);
  SATCHEL_TRY(timed(plain, [&] { return generate_plain(plain); }));
  SATCHEL_TRY(timed(drafted, [&] { return generate_drafted(drafted, drafts, clock); }));
  DraftSpeed out{.n_tokens = text.size(),
                 .n_steps = drafted.n_steps,
                 .plain_ms = plain.ms,
                 .drafted_ms = drafted.ms,
                 .plain_cpu_ms = plain.cpu_ms,
                 .drafted_cpu_ms = drafted.cpu_ms,
                 .n_tried = drafted.n_tried,
                 .tried_ms = drafted.tried_ms,
                 .drafts = drafts.counts(),
                 .self_ms = drafted.self_ms};
  for (std::size_t i = 0; i < text.size(); ++i)
    if (plain.hashes[i] != drafted.hashes[i]) ++out.n_other;
  return out;
}

}  // namespace satchel::eval
