// Placed text: what another cache has read of this chat's tokens stands behind other text here,
// moved and not read again.
//   source   keys are rotated to where they stand now and kept otherwise (PIE, arXiv:2407.03157);
//            the first tokens are read, since text that begins a placed stretch draws the attention
//            that belongs to a text's first tokens (EPIC, arXiv:2410.15332); the newest ones are
//            read too, so that what comes next stands on text that has seen what is before it
//   exact    it is not: placed text has not seen what stands before it (Session::read_exactly)
//   not      where a model reads in order, where scores of steps go with the text's places, or
//            where some text is out of reach: it is read
#pragma once

#include <cstddef>
#include <memory>
#include <stop_token>

#include "kernels/base/index_range.h"
#include "runtime/session/chat_prefill.h"

namespace satchel::runtime {

// Of tokens that another cache has read one behind the other: those that are placed. Empty: they
// are so few that all are as soon read.
IndexRange placed_part(const IndexRange& read);
// Why the cache may not hold such text, now.
NotPlaced why_not_placed(const kvcache::Cache& cache);
bool holds_placed(const kvcache::Cache& cache);
// Whether all of the text is held there and decided.
bool is_decided(const kvcache::Cache& cache, const IndexRange& text);

struct PlacedText {
  std::unique_ptr<kvcache::Cache> from;  // null: nothing is placed
  IndexRange part;                       // of its tokens
  std::size_t first = 0;                 // where they stand in the chat
};
// Prefills up to `text.first` and places it: how many tokens; 0 where it can't be placed. Where
// memory is full, `text.from` goes.
//   errors  those of ChatPrefill, and of the backend
Result<std::size_t> prefill_and_place(ChatPrefill& prefill, kvcache::Cache& cache, PlacedText& text,
                                      const std::stop_token& stop, const ProgressFn& progress);
// Prefills up to token `end`; where memory is full, once more without `kept`.
Result<void> prefill_until(ChatPrefill& prefill, std::size_t end,
                           std::unique_ptr<kvcache::Cache>& kept, const std::stop_token& stop,
                           const ProgressFn& progress);

}  // namespace satchel::runtime
