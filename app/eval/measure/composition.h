// Texts that were read elsewhere, put together: how soon the first token comes, and what is lost,
// against reading the whole as it stands. So documents in a new order, and a text that was edited.
//   needs, errors  as RowText
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <stop_token>
#include <string_view>
#include <vector>

#include "app/eval/measure/compared_tokens.h"
#include "app/eval/measure/row_text.h"

namespace satchel::eval {

struct ComposedQuestion {
  std::vector<std::int32_t> ids;  // behind the documents; not empty
  std::size_t n_tokens_max = 32;  // of the answer, which is greedy
  // Of what was said so far: ends the answer; answers rightly. Empty: nothing ends it early; it is
  // not judged.
  std::function<bool(std::string_view said)> enough = {}, right = {};
};
struct ComposedDocument {
  std::vector<std::int32_t> ids;
  std::vector<std::int32_t> behind = {};  // what it was read behind, beside the head
  bool is_new = false;                    // was not read before: it is read where it stands
  std::size_t told = 0;                   // its place in the order in which all were told
};
struct Composition {
  std::vector<std::int32_t> head;           // of every reading
  std::vector<ComposedDocument> documents;  // as they stand in the end
  std::vector<ComposedQuestion> questions;  // each as if the others were not asked
};

// What of the documents is read again before the first answer.
struct RereadWay {
  enum class Of {
    nothing,
    first,    // so many tokens of each that has moved (EPIC, arXiv:2410.15332)
    changed,  // the share whose keys and values differ most (CacheBlend, arXiv:2405.16444)
    context,  // of a reading of all in the order told, of each the more, the more it depended on
              // what stood before it (Cache-Craft, arXiv:2502.15734); `share` is its alpha
    asked,    // the share that the question attends to most, anew for each question; ours
  };
  Of of = Of::nothing;
  std::size_t n_first = 0;
  double share = 0;
};

struct ComposedFigures {
  double first_token_ms = 0, first_token_cpu_ms = 0;  // to the first question's; of all threads
  double reread = 0;                                  // share of the documents' tokens; reading: 1
  std::size_t n_judged = 0, n_right = 0;
  // Of next-token distributions along the answers that reading gives, against reading's.
  ComparedTokens compared;

  void add(const ComposedFigures& other);
};

// Of reading, then of each way. What reading the documents elsewhere took is in none.
Result<std::vector<ComposedFigures>> measure_composition(runtime::Engine& engine,
                                                         const Composition& composition,
                                                         std::span<const RereadWay> ways,
                                                         std::stop_token stop);

}  // namespace satchel::eval
