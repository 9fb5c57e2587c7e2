// What a page selector reads, what it misses and what it saves: the same text goes through two
// caches in turn, one read with the recipe's selector and one read whole, token by token.
//   mass    a query's attention on the tokens that were read, of that on all that the cache holds.
//           Queries are those of every eighth of the newest tokens, run again over all of it. The
//           mean over heads, layers and queries; the worst layer is the one with the lowest mean
//   speed   medians over steps that are taken in turn, so that both meet the same machine
//   needs   an Engine that nobody else uses meanwhile
//   errors  PARAM, MEMORY, CONTEXT_FULL, cancelled/STOPPED, those of the model
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <stop_token>

#include "kvcache/cache/cache.h"
#include "kvcache/recipes/recipe.h"
#include "runtime/engine.h"

namespace satchel::eval {

// The recipe with a page selector that reads everything.
Result<kvcache::Recipe> reading_all(const kvcache::Recipe& recipe);

// Text after the document: at most so many tokens, so that no page is made meanwhile and the
// replayed queries find the pages that they found first.
inline constexpr std::size_t kReaderStepsMax = kvcache::kFlushTokens - 1;
struct ReaderText {
  std::span<const std::int32_t> ids;
  std::size_t n_document = 0;  // of them; the rest goes token by token
  std::size_t n_steps() const { return ids.size() - n_document; }
};

struct ReaderFigures {
  double mass = 1, mass_of_worst_layer = 1;
  std::size_t worst_layer = 0;
  // Means of a step, over all layers.
  double tokens_read = 0, tokens_held = 0;  // of a lane
  double bytes_read = 0, bytes_held = 0;    // of all lanes
  double agreement = 1, kl = 0;             // against reading all: same top token, KL in nats
  double step_ms = 0, step_all_ms = 0;
};

// A document read and packed once under a recipe, to be continued on copies.
class ReaderDocument {
 public:
  // The engine must outlive it.
  static Result<ReaderDocument> read(runtime::Engine& engine, const kvcache::Recipe& recipe,
                                     const ReaderText& text, const std::stop_token& stop);
  // all: of the same text under reading_all(recipe).
  Result<ReaderFigures> compare(ReaderDocument& all, const ReaderText& text,
                                const std::stop_token& stop);

 private:
  explicit ReaderDocument(runtime::Engine& engine) : engine_(&engine) {}
  Result<void> step(kvcache::Cache& cache, std::int32_t id, std::span<float> logits, double& ms);

  runtime::Engine* engine_;
  std::unique_ptr<kvcache::Cache> cache_;
};

}  // namespace satchel::eval
