// What drafts (AnswerDrafts) save: a text is generated behind a document, token by token and with
// drafts, as if the model had chosen it. So the figure of drafts from the text before is that of
// the text, not of what a model has to say; the model's own drafts need its own text, own_text().
//   needs   an Engine that nobody else uses meanwhile
//   errors  MEMORY, CONTEXT_FULL, cancelled/STOPPED, those of the model
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <stop_token>
#include <vector>

#include "kvcache/cache/cache.h"
#include "runtime/engine.h"
#include "runtime/session/answer_drafts.h"

namespace satchel::eval {

struct DraftSpeed {
  std::size_t n_tokens = 0, n_steps = 0;  // steps: with drafts
  double plain_ms = 0, drafted_ms = 0;
  double plain_cpu_ms = 0, drafted_cpu_ms = 0;  // of all threads
  std::size_t n_tried = 0;                      // steps that had drafts
  double tried_ms = 0;                          // what these took, the making of drafts not counted
  runtime::DraftCounts drafts;
  double self_ms = 0;       // of drafted_ms, what the model took for its own drafts
  std::size_t n_other = 0;  // tokens whose logits were not the same, bit for bit
};

// One document, read and packed once.
class DraftMeter {
 public:
  // Room for n_most tokens behind it. The engine must outlive the meter.
  static Result<DraftMeter> open(runtime::Engine& engine, const kvcache::Recipe& recipe,
                                 std::span<const std::int32_t> document, std::size_t n_most,
                                 std::stop_token stop);
  // Both ways, each on a copy of the cache.
  Result<DraftSpeed> measure(std::span<const std::int32_t> text,
                             const runtime::DraftSources& sources, const std::stop_token& stop);
  // The likeliest tokens behind the document, n of them.
  Result<std::vector<std::int32_t>> own_text(std::size_t n, const std::stop_token& stop);

 private:
  explicit DraftMeter(runtime::Engine& engine) : engine_(&engine) {}

  runtime::Engine* engine_;
  std::unique_ptr<kvcache::Cache> cache_;
  std::vector<std::int32_t> document_;
  std::vector<float> logits_;  // after it
};

}  // namespace satchel::eval
