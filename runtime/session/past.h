// Past: what of a chat is older than the turns at hand.
//   episodes  turns that have aged are gathered, some hundred tokens at a time, read once more as
//             one text and compressed as the recipe compresses a document: a message alone is too
//             short for that. Pinned text and the last turns stay apart
//   reach     where the chat is longer than the model's context, only the system prompt, the newest
//             text and the episodes that a question needs are within attention's reach
//             (kvcache/lanes/reach.h). All are held and saved; the journal has every word
//   errors    CACHE_LOST, cancelled/STOPPED, CACHE_FULL, CONTEXT_FULL, those of model and cache.
//             What was gathered stays gathered
//   memory    where it is short, episodes out of reach rest in the store (resting_episodes.h),
//             those first that were not seen for longest. Without a store the oldest is thinned
//   limits    of layers with a window or a state nothing can be read by itself again: there turns
//             are gathered as they are held. A state goes on over all text, whatever the reach
//   source    arXiv:2212.10947 (parallel windows), arXiv:2509.17396 (EpiCache)
//   differs   an episode is closed by its length, not by topic; it stands where its text stands, in
//             order, and is moved close when it is chosen
//   threads   one call at a time
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/base/index_range.h"
#include "runtime/episodes/word_index.h"
#include "runtime/prefill/pack.h"
#include "runtime/session/chat_parts.h"
#include "runtime/session/resting_episodes.h"
#include "runtime/session/session.h"

namespace satchel::runtime {

// Turns are gathered when so many tokens of them have aged. Chosen: what a second pass takes at a
// time; a tenth of it is more than the protected ends of every recipe.
inline constexpr std::size_t kEpisodeTokens = 512;
// Turns at the end of a chat that are never gathered while it has room.
inline constexpr std::size_t kRecentTurns = 2;
// Episodes that one answer sees, if their words match the question. Chosen: more dilute the
// attention of a general model (docs/benchmarks/2026-11-beyond-context.md).
inline constexpr std::size_t kEpisodesSeen = 4;

// The journal's note of what was chosen for a chat, and what it says.
inline constexpr std::string_view kBeyondNote = "beyond_context";
std::string_view beyond_name(BeyondContext beyond);

class Past {
 public:
  // chosen: none: as the recipe has it
  Past(const ChatParts& parts, std::optional<BeyondContext> chosen)
      : parts_(parts), chosen_(chosen), resting_(parts) {}

  // Whether the chat goes on beyond the context.
  BeyondContext beyond() const;
  bool goes_on() const { return beyond() == BeyondContext::episodes; }
  std::optional<BeyondContext> chosen() const { return chosen_; }
  void set_beyond(std::optional<BeyondContext> chosen) { chosen_ = chosen; }

  // Positions that the text which attention sees takes: where all is in reach, its tokens.
  std::size_t n_seen() const;
  // Tokens that still fit into the model's context, after what is unread. Where the chat goes on
  // beyond it: of one message.
  std::size_t n_left() const;

  // Makes a text of so many tokens and an answer fit into the context: first episodes
  // leave the reach, then the oldest turns. A document is to be read by itself, if it doesn't fit
  // beside what is seen.
  Result<void> free_context(std::size_t n_tokens, kvcache::SegmentKind kind,
                            const RepeatScript& script, const std::stop_token& stop);
  // The same while an answer is made.
  Result<void> free_answer_context();
  // The parts in which a document is to be read; one: as a whole.
  Result<std::vector<std::string_view>> parts_of(std::string_view document,
                                                 const std::stop_token& stop) const;
  // Brings the episodes into reach that an answer to the question needs, as many as fit behind it.
  Result<void> choose(std::span<const TokenId> question, const RepeatScript& script,
                      const std::stop_token& stop);
  // The next message sees these episodes, whatever its words; none: those that it needs.
  //   errors  invalid, PARAM: there is no such episode
  Result<void> name(std::vector<std::size_t> episodes);
  // The episodes out of the near text, in text order.
  std::vector<IndexRange> episodes() const;
  SeenEpisodes seen_episodes() const;
  // Of those seen, the ones that the answer's own words stand in, and not rather in the near text.
  //   needs  the answer is the last message, the question the one before
  std::vector<std::size_t> quoted(std::string_view answer,
                                  const std::vector<std::size_t>& seen) const;
  // No episode is in reach: all may rest.
  Result<void> show_near();
  // Shows a fork of the chat's cache the system prompt and one part of the text alone: an episode,
  // or the near text. n_tokens: of what is to be read then, and its answer.
  Result<void> show_alone(kvcache::Cache& fork, const IndexRange& part, std::size_t n_tokens) const;

  // Episodes go to rest until so many bytes of the arena are free, or none is left that may.
  Result<void> rest_for(std::size_t bytes);
  // The same; where that is not enough the oldest text is thinned, as the recipe allows.
  Result<void> free_memory(std::size_t bytes);
  // Of the arena: a second cache, and what reading so many tokens into it takes.
  std::size_t fork_needs(std::size_t n_tokens) const;
  // The same until the chat's cache takes no more: comes before anything is thinned for it.
  Result<void> rest_under(std::size_t cache_bytes);
  // What rests of [first, end) is in memory again, as far as it can be.
  Result<void> bring_back(const IndexRange& text, const RepeatScript& script,
                          const std::stop_token& stop);
  bool rests(const IndexRange& text) const;  // some of it
  // Text from position `first` on is no more, or is read anew: nothing of it is kept. Comes before
  // the cache is told.
  void forget_from(std::size_t first);
  // What rests in this chat is in another place too.
  void copy_resting(const kvcache::SavedPlace& from, const kvcache::SavedPlace& to) const {
    resting_.copy(from, to);
  }

  // Whether a document's part, the next text to be read, can be left unread for now: it doesn't fit
  // beside what is seen, or the part before it was left. It is an episode all the same, and is read
  // when a question needs it, or while the chat is idle.
  bool may_leave(const IndexRange& document) const;
  Result<void> leave_unread(const IndexRange& document, const RepeatScript& script,
                            const std::stop_token& stop);
  bool is_unread(const IndexRange& episode) const;
  // The first episode that was left, if it can be read now.
  std::optional<IndexRange> next_unread() const;
  Result<void> read_unread(const IndexRange& episode, const RepeatScript& script,
                           const std::stop_token& stop, const ProgressFn& progress);

  // There is more memory than when something could not be read.
  void try_again() { n_given_up_ = 0; }

  // Turns that have aged and wait to be gathered.
  bool is_due() const;
  // Gathers the oldest of them.
  Result<void> gather_aged(const RepeatScript& script, const std::stop_token& stop);

 private:
  std::size_t head_end() const;  // of the system prompt
  std::size_t near_first() const;
  std::size_t answer_room() const;
  // Aged turns up to `end`; least 0: also fewer than an episode.
  std::optional<IndexRange> next_aged(std::size_t end, std::size_t least) const;
  std::size_t recent_first() const;
  Result<void> gather(const IndexRange& range, const RepeatScript& script,
                      const std::stop_token& stop);
  std::vector<IndexRange> may_rest() const;  // those not seen for longest first
  Result<void> come_back(const IndexRange& episode, const RepeatScript& script,
                         const std::stop_token& stop);
  // False: there is no memory for it, or text that a window has passed over would be needed.
  //   reason  none: it was never read, unless all of the chat is read again
  Result<bool> read_again(const IndexRange& range, kvcache::RereadReason reason,
                          const RepeatScript& script, const std::stop_token& stop,
                          const ProgressFn& progress = {});
  Result<bool> read_in_fork(const IndexRange& range, const RepeatScript& script,
                            const std::stop_token& stop, const ProgressFn& progress = {});
  Result<void> forget_marked(kvcache::Cache& cache, const IndexRange& range) const;
  std::optional<IndexRange> next_document(std::size_t end) const;
  Result<void> gather_documents(std::size_t end);
  Result<void> gather_until(std::size_t end, const RepeatScript& script,
                            const std::stop_token& stop);
  bool has_room(std::size_t n_tokens, kvcache::SegmentKind kind) const;
  bool has_near_room(std::size_t n_tokens) const;
  // Where the near text begins if it is to leave room for n tokens.
  std::size_t near_for(std::size_t n_tokens, kvcache::SegmentKind kind) const;
  kvcache::Reach reach_of(std::size_t near, std::span<const IndexRange> seen,
                          std::size_t zone) const;
  std::size_t zone(std::size_t n_question) const;
  void index_words();
  std::vector<std::size_t> ranked(std::span<const TokenId> question) const;
  std::vector<std::size_t> newest() const;
  std::vector<std::string> question_words(std::span<const TokenId> question) const;
  std::string text_of(const IndexRange& range) const;

  ChatParts parts_;
  std::optional<BeyondContext> chosen_;
  std::vector<std::size_t> named_ = {};
  WordIndex words_;
  std::vector<IndexRange> indexed_ = {};  // the episodes in words_
  bool is_chosen_by_words_ = false;       // those seen have a telling word of the question
  bool were_named_ = false;
  std::vector<std::size_t> missing_ = {};  // chosen, and at rest for want of memory
  std::size_t n_given_up_ = 0;  // tokens of the chat when an episode could not be read again
  RestingEpisodes resting_;
  std::map<std::size_t, std::size_t> seen_at_ = {};  // by first token: tokens of the chat then
};

}  // namespace satchel::runtime
