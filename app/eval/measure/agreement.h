// Agreement: what a recipe does to the next-token distributions along a text. The first part of the
// text is prefilled as one prompt; the rest is scored by teacher forcing, and each distribution is
// compared with the exact cache's at the same place.
//   needs   an Engine that nobody else uses meanwhile
//   errors  PARAM, MEMORY, CONTEXT_FULL, LAYER_MERGE, cancelled/STOPPED, those of the model
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <stop_token>
#include <vector>

#include "kvcache/cache/cache.h"
#include "kvcache/recipes/recipe.h"
#include "runtime/engine.h"

namespace satchel::eval {

struct ScoredText {
  std::span<const std::int32_t> ids;
  std::size_t n_prompt = 0;  // of them, prefilled as one prompt; the others are scored
  // 1: token by token, as an answer is given; what leaves the tail then waits at 8 bits for the end
  // of the turn. More: so many are read in one go, as a document of its own that is packed at once;
  // they see each other exactly. With 128 from where tails have just been flushed (n_prompt 4 + a
  // multiple of 128) a token sees the pages and the exact tail that it would see token by token, if
  // nothing waited and the recipe decides nothing by what was read together. Attention is that of
  // reading (over decoded pages), several times as fast for codecs without a kernel.
  std::size_t n_at_once = 1;
  // The compressed cache's pages are merged over pairs of layers (kvcache::LayerMerge); its stats
  // are of before.
  bool merges_layers = false;
  std::size_t n_scored() const { return ids.size() - n_prompt; }
};

// What the exact cache says along a text: made once, compared with as often as wanted.
struct ExactLogits {
  std::vector<float> rows;  // [n_scored, n_vocabulary]
  std::vector<double> nll;  // [n_scored] of the token that the text has there, nats
};
// 500 tokens of a vocabulary of 50,000 are 100 MB. More than this is refused with PARAM.
inline constexpr std::size_t kExactLogitsBytesMax = std::size_t{4} << 30;
Result<ExactLogits> exact_logits(runtime::Engine& engine, const ScoredText& text,
                                 std::stop_token stop);

// One scored token: predictions of ids[n_prompt], ids[n_prompt + 1] …
struct Compared {
  bool same = false;                     // the most likely token
  double kl = 0;                         // KL(exact || compressed), nats
  double exact_nll = 0, packed_nll = 0;  // -ln p(the token that the text has there)
};
struct Agreement {
  std::vector<Compared> tokens;  // [n_scored]
  kvcache::CacheStats stats;     // of the compressed cache when the prompt was packed
  std::size_t merge_saves = 0;   // bytes of it: LayerMerge::saved_bytes(), at the same time
  double read_ms = 0;            // the prompt, with compression
  double scored_ms = 0;          // the rest
};
// exact: of the same text.
Result<Agreement> measure_agreement(runtime::Engine& engine, const kvcache::Recipe& recipe,
                                    const ScoredText& text, const ExactLogits& exact,
                                    std::stop_token stop);

}  // namespace satchel::eval
