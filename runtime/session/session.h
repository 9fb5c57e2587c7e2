// Session: one conversation: its token ids, its cache and where both are kept.
//
//   states       empty -> (add_user, add_document)* -> unread tokens -> read -> ready -> generate
//                -> ready …
//   invariants   1 every message is in the journal before the model sees it; an answer streams
//                  into it
//                2 tokens() are the messages' token ids side by side; the cache has seen a prefix
//                  of them (n_read)
//                3 after Stop, an error or a full arena the session stays usable and holds what was
//                  done; a prompt half read is as if not begun
//                4 resume trusts nothing: where identity or checksums do not match, the tokens are
//                  read again, and the report says so
//                5 a change of limit or recipe may release memory that is then no longer available:
//                  the cache is lost. Every call that needs it tries to allocate it again and
//                  restores what was saved, or fails with CACHE_LOST
//   thoughts     a model may think before it answers. Its thoughts are token ids of the answer's
//                message and stay in the cache with it (dropping them, as some templates do with
//                earlier turns, would mean reading the chat again). They are no part of its text:
//                n_tokens, n_tokens_max and the journal's text are the answer's alone. Tokens that
//                may begin thoughts are counted once that is known, so an answer that begins with
//                white space or "<" may exceed a limit below 16 by a few tokens
//   threads      one call at a time; Stop by std::stop_token from any thread
//   errors       CACHE_FULL (arena), CACHE_LOST (invariant 5), CONTEXT_FULL (the model's context;
//                n_context_left() tells before), storage's codes, cancelled/STOPPED
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/base/clock.h"
#include "kvcache/cache/cache.h"
#include "kvcache/snapshot/record_store.h"
#include "kvcache/snapshot/snapshot.h"
#include "runtime/contract/chat_copy.h"
#include "runtime/contract/journal.h"
#include "runtime/fidelity/fidelity.h"
#include "runtime/fidelity/ledger.h"
#include "runtime/fidelity/recall_probe.h"
#include "runtime/progress.h"
#include "runtime/sampler/draft_pace.h"
#include "runtime/sampler/sampler.h"
#include "runtime/session/message.h"
#include "runtime/session/message_tree.h"
#include "runtime/tokenizer/thinking.h"
#include "runtime/tokenizer/vocabulary.h"

namespace satchel::runtime {

class Engine;
struct AttentionPaid;  // runtime/replay/attention_paid.h

struct SessionOptions {
  explicit SessionOptions(kvcache::Recipe recipe_in) : recipe(std::move(recipe_in)) {}
  kvcache::Recipe recipe;
  // Of all caches of the engine, scratch included; 0: as it is, or default_budget().
  std::size_t budget_bytes = 0;
  // The system prompt; none: the template's own default text, if it has one.
  std::optional<std::string> system;
  TextMarks system_marks = {};              // in it
  Thinking thinking = Thinking::automatic;  // of the answers to come; see set_thinking()
  // None: a chat goes on where its recipe evicts, else it ends.
  std::optional<BeyondContext> beyond = {};
  ChatId chat;                              // for journal and records
  Journal* journal = nullptr;               // not owned; nullptr: nothing is kept
  kvcache::RecordStore* records = nullptr;  // not owned; nullptr: the cache is not saved
  const Clock* clock = nullptr;             // not owned; nullptr: the system's
};

// at_once: a document that another chat has read, anywhere in this one, is placed where it can be
// (placed_text.h): it has not seen what stands before it, until read_exactly().
enum class ReadHow { exactly, at_once };
// Why text that had been read before was read again, and not placed. Of a few tokens nothing is
// said: they are as soon read.
enum class NotPlaced : std::uint8_t {
  none,
  in_order,      // the model has windows or recurrent layers
  each_step,     // the recipe's scores of steps go with the text's places
  out_of_reach,  // some of the chat is beyond the model's context
  pending,       // it had not been compressed yet, or was at rest
  no_memory,     // for a second cache to place it from
  no_reading,    // of a document: no chat has saved it with this model and recipe
};
inline constexpr std::size_t kSpeedTokensMin = 64;  // fewer say little about the reading speed
struct ReadReport {
  std::size_t n_tokens = 0;  // read now
  std::size_t n_shelf = 0;   // not read: another chat had read this document (first_document.h)
  std::size_t n_placed = 0;  // not read either, but behind other text (ReadHow::at_once)
  NotPlaced not_placed = NotPlaced::none;  // of a document, where n_placed could have been more
  double ms = 0;
  Reuse reuse = {};           // of n_shelf and n_placed
  bool compressed = false;    // a recipe evicted or packed something
  std::size_t n_evicted = 0;  // lane-tokens that went
  // What had been read before and was read again since the last report, and why.
  std::vector<kvcache::Reread> reread;
  Fidelity fidelity;  // n_tokens 0: not measured (nothing was packed)
};

// repeats: the answer said the same again and again (Sampling::ends_loops).
enum class Finish { end_of_turn, n_tokens_max, repeats, stopped, context_full, cache_full };
// Whether the turn is closed; else the answer is kept as interrupted.
constexpr bool is_whole(Finish finish) {
  return finish == Finish::end_of_turn || finish == Finish::n_tokens_max ||
         finish == Finish::repeats;
}
// What a model thought before an answer. Its marks are no part of the text.
struct Thoughts {
  std::string text;
  std::size_t n_tokens = 0;
  double ms = 0;  // until the answer began; 0: not known
};
// Where a chat is longer than the model's context: which of its episodes an answer could see.
struct SeenEpisodes {
  std::size_t n_all = 0;               // 0: the chat is not longer
  std::vector<std::size_t> seen = {};  // numbers, from 0, rising
  bool by_words = false;    // they have a word of the question that says something of its own
  bool were_named = false;  // by Session::name_episodes
  std::vector<std::size_t> missing = {};  // chosen too, but the memory limit was too low for them
  // Of those seen: the answer's own words stand there (runtime/episodes/answer_words.h). Empty: in
  // none, or rather in the newest text.
  std::vector<std::size_t> quoted = {};
  std::size_t n_unread = 0;  // of all: parts of a document that wait to be read
};
// One document in parts, as far as it has been read.
struct PartsRead {
  MessageId document = {};  // its first part
  std::size_t n_read = 0, n_all = 0;
};
// One of them: older text that an answer sees, or does not.
struct Episode {
  MessageId first;  // of the messages that it has words of
  std::size_t n_tokens = 0;
  bool is_seen = false;    // by the last answer
  bool is_unread = false;  // it waits to be read
};
struct GenerateReport {
  MessageId answer;  // 0: none was begun
  std::string text;
  std::size_t n_prompt = 0;  // tokens of the chat before the answer
  std::size_t n_tokens = 0;  // generated, of the answer
  Thoughts thoughts;         // before it
  Finish finish = Finish::end_of_turn;
  // For people, where finish is repeats, context_full or cache_full: what to do.
  std::string message;
  SeenEpisodes episodes;
  ReadReport read;     // the prompt read first
  double ms = 0;       // generating, thoughts included, without reading
  DraftCounts drafts;  // tokens that steps had beside the next one, and those of them accepted
};
// What a chat's memory is asked to be.
struct MemoryRequest {
  std::size_t limit_bytes = 0;                 // of all caches of the engine; 0: as it is
  std::optional<kvcache::Recipe> recipe = {};  // none: as it is
};
// What that would do to this chat, or did.
struct MemoryChange {
  std::size_t bytes_before = 0, bytes_after = 0;  // of the chat's cache, as CacheStats::bytes
  std::size_t n_lowered = 0, n_evicted = 0;       // lane-tokens that go to a coarser tier, or go
  std::size_t n_lane_tokens = 0;                  // that the chat holds now, to compare with
  std::size_t n_reread = 0;                       // tokens to be read again; 0: it is done at once
  std::vector<kvcache::Reread> reread = {};       // of them, why
  double reread_ms = 0;  // estimated, from the speed measured last; 0: unknown, or none
  Fidelity cost = {};    // against the chat as it is, on its last tokens; n_tokens 0: not measured
  bool fits = true;      // else limit_least is what it takes
  std::size_t limit_least = 0;
  // Where everything is read again under a limit that may be too low for it, so that some text is
  // lowered again: the least limit known to hold all of it, and the bytes_after under that limit.
  // 0: nothing is lowered.
  std::size_t limit_all = 0, bytes_all = 0;
};
struct IdleReport {
  bool finished = false;                     // nothing waits any more
  std::size_t n_read = 0;                    // of a document's parts that had been left
  std::size_t n_evicted = 0, n_lowered = 0;  // lane-tokens that went, or went to a coarser tier
  std::vector<kvcache::Reread> reread = {};
  Fidelity fidelity = {};   // n_tokens 0: nothing was measured
  RecallProbe recall = {};  // the last one; n_asked 0: there was none yet
};
// A delta is whole code points. Return false to stop.
using DeltaFn = std::function<bool(std::string_view delta)>;

struct ResumeReport {
  // Why not all of the chat came from the saved cache; none: it did.
  kvcache::RereadReason reason = kvcache::RereadReason::nothing_saved;
  std::size_t n_chat_tokens = 0;  // the chat's token ids
  std::size_t n_reused = 0;       // of them, taken from the saved cache
  std::size_t n_reread = 0;       // of them, read again now; long documents' parts may be left
  std::vector<kvcache::Reread> reread = {};  // the same, and older turns that were gathered then
  std::size_t n_evicted = 0;                 // lane-tokens that went while they were read again
  std::size_t bytes_read = 0;
  std::size_t n_thinned = 0;  // lane-tokens that were stored coarser while nobody used the chat
  // For the model's context: messages() is whole, nothing can be read or sent.
  bool too_long = false;
  double ms = 0;  // until the next token can be made
  // What reading n_reused again would take, from the speed measured last; 0: unknown.
  double reread_ms_estimate = 0;
  std::string message;  // for people, where something was read again
};

// What Session::correct() did.
struct CorrectReport {
  MessageId message;         // that stands there now
  std::size_t n_read = 0;    // tokens read: of the message, and of what follows it
  std::size_t n_placed = 0;  // tokens of what follows, held as they were read behind other words
  std::size_t n_unread = 0;  // it was stopped, or reading failed: read before the next answer
  NotPlaced not_placed = NotPlaced::none;
  std::vector<kvcache::Reread> reread = {};
  double ms = 0;
  double reading_ms = 0;  // that reading n_placed as well would have taken; as in Reuse
};
struct ExactReport {
  ReadReport read;
  Fidelity placed;  // as text was placed, against as it is now; n_tokens 0: not measured
};

// What the parts of a chat that is longer than the context said to a question.
struct AllAsked {
  std::size_t n_parts = 0;    // asked; 0: the chat is not longer
  std::string notes = {};     // what they said, a line each; "": nothing
  DocumentIds document = {};  // the notes; 0: there are none
  MessageId question = {};
};

class Session;
class Turn;
// Decodes a token of the turn, as Turn::decode() does.
using DecodeFn = std::function<Result<void>(Turn&, TokenId)>;

// The arguments of Session::generate.
struct TurnRequest {
  Sampling sampling = {};
  DeltaFn delta = {};
  std::stop_token stop = {};
  ProgressFn progress = {};
  DeltaFn thought = {};
  DecodeFn decode = {};  // none: each token by itself
};

class Session {
 public:
  ~Session();

  // Commits the message, does not read it yet.
  Result<MessageId> add_user(std::string_view text);
  // The same for messages of a conversation had elsewhere: all in one commit, or none.
  //   errors  PARAM: the first message of a chat must be the user's
  Result<std::vector<MessageId>> add_messages(std::span<const MessageText> messages);
  // A document as a user message of its own with the answer kNoted, both in one commit. Where the
  // chat goes on beyond the context and the document does not fit what is left of it: in parts,
  // each a message, all in one commit. A stop while a long one is cut leaves nothing of it.
  Result<std::vector<DocumentIds>> add_document(std::string_view title, std::string_view text,
                                                const std::stop_token& stop = {});
  // For a question about all of a chat that is longer than the context: asks it of each part by
  // itself, then commits in one what they said, as a document kPartNotesTitle with the answer
  // kNoted, and the question; generate() answers. Until then the journal is as it was, also after
  // Stop. Elsewhere as add_user().
  Result<AllAsked> ask_all(std::string_view question, std::stop_token stop,
                           const ProgressFn& progress);
  // Reads what is unread: a document is compressed as the recipe says when it has been read, a
  // message when its turn has ended; then fidelity is measured.
  Result<ReadReport> read(std::stop_token stop, const ProgressFn& progress,
                          ReadHow how = ReadHow::exactly);
  // Reads what is unread, then answers, then measures what reading cost, unless the arena is full.
  // The parts of a long document that don't fit beside what is seen are left, for a question that
  // needs them, or idle(). `thought` gets what is thought before the answer, `delta` the answer.
  Result<GenerateReport> generate(const TurnRequest& request);
  Result<GenerateReport> generate(const Sampling& sampling, const DeltaFn& delta,
                                  std::stop_token stop, const ProgressFn& progress,
                                  const DeltaFn& thought = {});
  // Whether the answers to come are thought about. A chat's system text may say it as well: that is
  // as it was when the chat began.
  //   errors  invalid, THINKING: the template has no switch
  Result<void> set_thinking(Thinking thinking);
  Thinking thinking() const;
  // What happens at the end of the context, in place of what the recipe has; kept with the chat.
  Result<void> set_beyond(BeyondContext beyond);
  BeyondContext beyond() const;
  // In text order; their numbers stay as they are while the chat grows.
  std::vector<Episode> episodes() const;
  // The next message's answer sees these, whatever its words; none: those that it needs.
  //   errors  invalid, PARAM: there is no such episode
  Result<void> name_episodes(std::vector<std::size_t> numbers);
  // What was thought before an answer of messages(), from its ids; empty where nothing was.
  Result<Thoughts> thoughts(MessageId answer) const;

  // Work that may wait, in pieces: what is unread of documents, one part a call, so that it can be
  // saved before the next; the second pass of a recipe that has one and the decision after
  // it; the measurement of what that cost; the recall probe, if text that was read has been
  // compressed since the last one; the model's head-budget profile, if the recipe needs one. Stop
  // ends it between two pieces. What was done stays done, also across save() and resume() (of the
  // profile: whole texts).
  Result<IdleReport> idle(std::stop_token stop, const ProgressFn& progress);
  bool has_idle_work() const;

  // Makes `last` the chat's last message (0: the chat is empty), as Journal::truncate(): any that
  // it ever had. What is cut stays in the journal, and what the cache held of it in the store. Of
  // text that comes back nothing is read again that was saved (kvcache/snapshot, EarlierText), but
  // for episodes that rested.
  //   errors  MESSAGE_NOT_FOUND. After others the chat is as it was
  Result<void> truncate(MessageId last);
  // truncate() to a message of messages(), for something else to be said there: the journal keeps
  // its end until then and learns both in one transaction, so that a kill in between leaves the
  // chat as it was. truncate() to what was the last message takes it back.
  Result<void> truncate_until_said(MessageId last);
  // Of the messages that have others in their place, which an edit or another answer left. Without
  // a journal there are none.
  Result<std::vector<MessageVersions>> versions() const;
  // truncate() to where the chat ended last that had the message `version`.
  Result<void> switch_to(MessageId version);
  // Other words in place of one of the user's messages, or of a document of one piece, anywhere in
  // the chat. What follows stays, and goes with it as another version (versions()). It is placed
  // where that can be done: moved, and not read again but for its first and newest tokens, so that
  // what lies between has not seen the new words. Else it is read again. After Stop, or where
  // reading fails, the words stand and the rest is unread: the next answer tells why.
  //   errors  CONTEXT_FULL, and PARAM as Transcript::replace_message(): nothing has changed
  Result<CorrectReport> correct(MessageId message, std::string_view text, std::stop_token stop,
                                const ProgressFn& progress);
  std::size_t n_placed() const;  // tokens that stand so; 0: all is exact
  // Reads all of it again, from the first token that was placed on. After Stop the chat is as it
  // was, but where some of it rests, or memory was too short to keep it: then it is unread.
  Result<ExactReport> read_exactly(std::stop_token stop, const ProgressFn& progress);
  // A second session over the same conversation, in the empty chat `chat`; what is held is shared.
  //   last  its last message; 0: it has none; not given: this chat's
  Result<std::unique_ptr<Session>> fork(ChatId chat, std::optional<MessageId> last = {});
  // The message is never compressed from now on, also where the chat is read again (Marks).
  Result<void> pin(MessageId message);
  // Where memory is needed it may be compressed again.
  Result<void> unpin(MessageId message);
  // The model forgets the message, the journal keeps it. As pin(); read again, it is forgotten
  // before what follows it is read.
  Result<void> forget(MessageId message);
  // Under another recipe: everything is read again.
  Result<ReadReport> set_recipe(const kvcache::Recipe& recipe, std::stop_token stop,
                                const ProgressFn& progress);

  // What change_memory() would do, tried on a copy. If a copy does not fit beside the chat, nothing
  // is measured and bytes_after is an estimate. Changes nothing, but that episodes which the limit
  // has no room for go to rest.
  Result<MemoryChange> preview_memory(const MemoryRequest& request, std::stop_token stop);
  // Done at once where text is only lowered or evicted. Otherwise (with its own recipe: where
  // memory was reclaimed) everything is read again. For a limit above what was reserved, the cache
  // is saved and restored in new memory.
  //   errors  invalid, LIMIT: does not fit, names the least that would. Nothing has changed, unless
  //           fewer tokens could be evicted than estimated: then the chat was lowered as far as
  //           possible
  //           invalid, CACHE_LIMIT: above what was reserved, and another chat is open or this one
  //           is not saved
  Result<MemoryChange> change_memory(const MemoryRequest& request, std::stop_token stop,
                                     const ProgressFn& progress);

  // First commits what an answer still owes the journal. If that fails, or a stop ends a long save,
  // the saved cache stays as it was.
  //   errors  cancelled/STOPPED (kvcache::Snapshot)
  Result<kvcache::SaveReport> save(const std::stop_token& stop = {});
  // A chat longer than the model's context is no error (see too_long).
  //   needs   a session just made over a chat that has messages
  Result<ResumeReport> resume(std::stop_token stop, const ProgressFn& progress);

  // The chat as it is now, apart from journal and store: the cache goes to `records`, under
  // copy_key(). The setup is the caller's to fill in.
  Result<ChatCopy> copy_to(kvcache::RecordStore& records);
  // What copy_to() gave of another session of this model: commits the messages, and holds the cache
  // as that one did. `records` is not needed afterwards.
  //   needs   a session just made over a chat that has none
  //   errors  CHAT_DAMAGED: a message has a token that is none of the model's
  Result<ResumeReport> resume_copy(const ChatCopy& copy, kvcache::RecordStore& records,
                                   std::stop_token stop, const ProgressFn& progress);
  // The messages with their words, those of messages().
  Result<std::vector<StoredMessage>> stored_messages() const;

  std::span<const std::int32_t> tokens() const;
  // Side by side they are tokens(). Valid until the next call that changes the session.
  std::span<const SessionMessage> messages() const;
  std::size_t n_read() const;                 // of tokens(), seen by the cache, or left for later
  std::vector<PartsRead> parts_read() const;  // of each document in parts, in text order
  std::size_t n_context() const;              // the model's
  std::size_t n_context_left() const;         // tokens that still go in
  kvcache::CacheStats stats() const;
  // How each of tokens() that the cache has seen is held.
  Result<std::vector<kvcache::HeldToken>> held();
  // Which of them an answer attends to, as they are held now; of a lost cache nothing.
  //   errors  MESSAGE_NOT_FOUND, MEMORY, cancelled/STOPPED
  Result<AttentionPaid> attention(MessageId answer, const std::stop_token& stop);
  // What was measured last and every step that made the chat smaller, oldest first; kept in the
  // journal by save(), so that a resumed chat has them too.
  const Fidelity& fidelity() const;
  const RecallProbe& recall() const;
  std::span<const LedgerEntry> ledger() const;
  const kvcache::Recipe& recipe() const;

  struct State;  // for this folder

 private:
  friend class Engine;
  explicit Session(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace satchel::runtime
