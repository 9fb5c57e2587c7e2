// ChatPrefill: brings a chat's cache up to its transcript: what is unread goes through the model,
// message by message, each treated as it was, or would have been, the first time.
//   errors   CACHE_LOST, CACHE_FULL (explained where people see it), CONTEXT_FULL, those of
//            runtime/prefill. What was read stays read
//   threads  one call at a time
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <stop_token>
#include <vector>

#include "runtime/prefill/prefill_text.h"
#include "runtime/session/chat_parts.h"
#include "runtime/session/past.h"

namespace satchel::runtime {

// How a message is compressed.
kvcache::SegmentKind segment_kind(const SessionMessage& message);

class ChatPrefill {
 public:
  ChatPrefill(const ChatParts& parts, Past& past);  // past outlives it

  // Comes first in every call that needs the cache: a lost one is allocated again, with at most
  // limit_bytes_max.
  Result<void> need_cache(std::size_t limit_bytes_max = SIZE_MAX);
  // What was saved comes back into an empty cache, marked as the messages are now; the rest is
  // unread.
  kvcache::RestoreReport restore();
  void mark_again();  // all messages: what the cache has comes from before they were marked
  // restore() after the memory was lost.
  Result<void> restore_saved();
  // Prepares the script of the recipe's second pass, if it has one. Needed before text is read or
  // compressed.
  Result<void> need_script();

  std::size_t n_unread() const {
    return parts_.transcript.tokens().size() - parts_.cache.n_tokens();
  }
  // leaves_documents: as Session::generate() does.
  Result<ReadReport> prefill_unread(std::stop_token stop, const ProgressFn& progress,
                                    bool leaves_documents = false);
  // The same up to token `end`, which may stand inside a message, whatever the context.
  Result<ReadReport> prefill_until(std::size_t end, const std::stop_token& stop,
                                   const ProgressFn& progress, bool leaves_documents = false);
  // Whether a document stands in what is unread.
  bool has_unread_document() const;
  // Of the parts that were left, the first, if there is one that can be read.
  Result<void> read_left(const std::stop_token& stop, const ProgressFn& progress);
  // The same after the cache has become another one: if it is stopped, the error says what the chat
  // is then.
  Result<ReadReport> reread(std::stop_token stop, const ProgressFn& progress);
  Result<ReadReport> prefill(const PrefillText& text, std::stop_token stop,
                             const ProgressFn& progress);
  // Reads what an answer left unread, so that a resumed chat has nothing to read, and ends the
  // turn. A full arena is no error here: the next turn reports it.
  Result<void> prefill_rest();
  // Computes the logits after the last token read from what the cache holds. An answer starts from
  // them if its head has no tokens of its own.
  Result<void> recompute_last_logits(const std::stop_token& stop);
  std::span<float> logits() { return logits_; }  // [n_vocabulary], lent to the turn

  // While an answer is made its steps are not noted one by one: the turn's end notes them.
  void begin_turn() { turn_began_ = parts_.meter.contents(); }
  void abandon_turn() { turn_began_.reset(); }
  // What was protected during the turn may be compressed now.
  Result<kvcache::CompactionReport> end_turn();

  Past& past() const { return past_; }
  // Room in the context for a message of so many tokens, and no episode in reach.
  Result<void> show_near(std::size_t n_tokens, const std::stop_token& stop);
  // During an answer that the context has no room for: older turns leave attention's reach.
  Result<void> free_answer_context();
  // Gathers turns that have aged, as Past does.
  Result<void> gather_aged(const std::stop_token& stop) { return past_.gather_aged(script_, stop); }
  // So that the next turn need not wait for it: an eighth of the memory is free, if episodes may
  // rest, and room for the fork that this takes.
  Result<void> rest_aged() {
    return past_.rest_for(std::max(parts_.cache->arena().bytes() / 8, past_.fork_needs(0)));
  }
  // Before that text is edited, or asked with so many bytes of the arena free beside it.
  //   errors  CACHE_FULL: there is no memory for what rests of it
  Result<void> bring_back(const IndexRange& text, const std::stop_token& stop,
                          std::size_t free_bytes = 0);

  // One step of compressing what is pending, added to `done`; false: nothing is.
  Result<bool> compress_step(std::stop_token stop, kvcache::CompactionReport& done);
  // Compresses what is pending, however long that takes, then reclaims as the recipe allows. True
  // if that freed memory.
  Result<bool> reclaim(std::stop_token stop);

  // `problem`, or where it is CACHE_FULL the same in terms of tokens.
  Error explain(Error problem) const;

 private:
  TextPass text_pass(std::stop_token stop, const ProgressFn& progress) const;
  // Notes in the ledger what it did since `before`, and keeps the rows to measure it with.
  Result<PrefilledText> read_noted(PrefillText text, const CacheContents& before,
                                   const std::stop_token& stop, const ProgressFn& progress);

  std::size_t needs_of(std::size_t n_tokens, kvcache::SegmentKind kind) const;
  void mark_again(const SessionMessage& message);
  // Room in the context for the message, and the episodes that it asks about.
  Result<void> prepare(const SessionMessage& message, const std::stop_token& stop);
  // True if it left the message for later, and the answer that notes it.
  Result<bool> leave(std::size_t message, const std::stop_token& stop);
  // What changes the reach goes into the ledger, and the exact rows may be of text out of reach.
  template <class Change>
  Result<void> change_reach(const Change& change);

  ChatParts parts_;
  Past& past_;
  RepeatScript script_;  // empty until the recipe needs one
  std::vector<float> logits_;
  std::optional<CacheContents> turn_began_;
};

}  // namespace satchel::runtime
