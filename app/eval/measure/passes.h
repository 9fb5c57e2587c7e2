// What every measurement does with a model: a cache that holds so many tokens, a text read into it
// and packed, and the ways to end early. For this folder, and for programs that make head-budget
// profiles.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <stop_token>

#include "kvcache/cache/cache.h"
#include "runtime/engine.h"

namespace satchel::eval {

// Has room for n_tokens twice, exact: what is measured is the recipe, not what a tight limit makes
// of it.
Result<std::shared_ptr<kvcache::Arena>> large_arena(runtime::Engine& engine,
                                                    const kvcache::Recipe& recipe,
                                                    std::size_t n_tokens);
// In a roomy arena of its own.
Result<std::unique_ptr<kvcache::Cache>> open_cache(runtime::Engine& engine,
                                                   const kvcache::Recipe& recipe,
                                                   std::size_t n_tokens);
// As a document. logits [n_vocabulary] after its last token.
Result<void> read_document(runtime::Engine& engine, kvcache::Cache& cache,
                           std::span<const std::int32_t> ids, std::stop_token stop,
                           std::span<float> logits);
// How a second pass asks for the text again: between two lines, or as the user of a chat.
enum class TextForm { raw, chat };
// The second pass over it, where the recipe has one, and the decision. ids: all that cache has
// seen.
Result<void> pack_document(runtime::Engine& engine, kvcache::Cache& cache,
                           std::span<const std::int32_t> ids, TextForm form, std::stop_token stop);

// -ln p of a token, in nats. logits [n_vocabulary]
double nll(std::span<const float> logits, std::int32_t id);

Error stopped();
Error context_full(std::size_t n_tokens, std::size_t context);

}  // namespace satchel::eval
