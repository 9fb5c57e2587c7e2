// The inside of a Session, shared by the files of this folder.
//   session.cpp  messages and figures · turn.cpp  reading and answering · together.cpp  several
//   chats at once · idle.cpp  what may wait ·
//   edit.cpp  truncate, fork, pin, forget, recipe · memory.cpp  another limit or recipe ·
//   lost.cpp  a cache that could not be had again · resume.cpp  save, resume ·
//   metering.cpp  what was measured, and the ledger · recall.cpp  the
//   recall probe · thoughts.cpp  what is thought before an answer
#pragma once

#include <array>
#include <memory>
#include <vector>

#include "runtime/engine_state.h"
#include "runtime/fidelity/meter.h"
#include "runtime/reading/read_text.h"
#include "runtime/session/session.h"
#include "runtime/session/transcript.h"
#include "runtime/tokenizer/answer_reader.h"

namespace satchel::runtime {

// Behind a message there must be room for the head of an answer, a word and the tail, or it could
// not be answered. Chosen: the heads and tails of all templates are shorter than this.
inline constexpr std::size_t kLeastAnswerTokens = 16;

// invalid, THINKING where the template cannot be told so
Result<void> check_thinking(const ChatTemplate& chat_template, Thinking thinking);

struct Session::State {
  State(Engine::State& engine_in, const SessionOptions& options_in,
        std::unique_ptr<kvcache::Cache> cache_in);
  ~State();

  // Refused before anything is committed if the model could not take it in and answer.
  Result<std::vector<kvcache::MessageId>> commit(const Draft& draft);

  // What one stretch of tokens() is read with.
  struct Span {
    std::size_t end = 0;  // tokens() up to here; it begins at n_read()
    kvcache::SpanKind kind = kvcache::SpanKind::message;
    std::span<float> logits = {};  // after its last token; may be empty
  };
  Result<ReadReport> read_span(const Span& span, std::stop_token stop, const ProgressFn& progress);
  // All that is unread, message by message, each treated as it was, or would have been, the first
  // time; a turn ends with its answer.
  //   errors  CONTEXT_FULL: the chat is longer than the context; those of reading, CACHE_FULL explained
  Result<ReadReport> read_unread(std::stop_token stop, const ProgressFn& progress);
  static kvcache::SpanKind kind_of(const SessionMessage& message);
  // The logits after the last token read, from what the cache holds: what an answer begins with where
  // its head has no tokens of its own.
  Result<void> look_again(const std::stop_token& stop);
  // The turn is over: what was held back for it may be compressed.
  Result<kvcache::CompactionReport> end_turn();
  // Reads what an answer left unread, so that a resumed chat finds nothing to read, and ends the
  // turn. A full pool is no error here.
  Result<void> read_rest();
  // Packs what waits, whatever it costs in time; whether that made room.
  Result<bool> make_room(std::stop_token stop);
  AnswerReader answer_reader() const;  // for the answer that comes next
  Result<void> make_script();
  void open_snapshot();
  TextPass text_pass(std::stop_token stop, const ProgressFn& progress) const;

  // The last hidden states of a reading and samples of its attention (KeptReading), kept (in the
  // arena) until what was read has been packed and can be compared with them.
  struct ExactRows {
    kvcache::ExtentId extent = {};
    std::size_t end = 0, n = 0;  // of tokens() up to `end`; 0: none are kept
  };
  Result<void> keep_rows(std::size_t n_tokens, const std::byte* kept);
  void drop_rows();
  bool measures_now() const;  // rows are there, and nothing they stand for waits
  Result<void> measure(std::stop_token stop, const ProgressFn& progress);
  // What the cache holds now against the rows that were kept.
  Result<Fidelity> compare_rows(const std::stop_token& stop);
  void measure_if_due(std::stop_token stop, const ProgressFn& progress, IdleReport& report);
  // What the cache holds, and what the ledger knows of it, to see what a stretch of work did.
  struct Held {
    std::size_t bytes = 0, fp16_bytes = 0;  // as CacheStats
    // Lane-tokens at the tiers from each on, exact ones not counted; and gone.
    std::array<std::size_t, kvcache::kTiersMax> n_from = {};
    std::size_t n_evicted = 0;
    std::size_t n_noted_lowered = 0, n_noted_evicted = 0;  // by the ledger
  };
  Held held() const;
  bool was_compressed_since(const Held& before) const;
  // A step made of all that was done since and is not in the ledger yet; text that is new counts as in
  // fp16 before.
  void note_since(LedgerCause cause, const Held& before);
  // A step that made the chat smaller, for the ledger; nothing where nothing did. After the step;
  // bytes_before: the cache's CacheStats::bytes before it.
  void note(LedgerCause cause, const kvcache::CompactionReport& done, std::size_t bytes_before);
  // The meter and the journal. What cannot be kept is said in the log, and tried again.
  void keep_meter();
  Result<void> load_meter();
  // The cache is another one: what was measured of the last does not hold for it.
  void forget_measured();
  // Whether nothing was lost: every token is held as it was read.
  bool is_exact() const;
  // The recall probe, passage by passage; whether it is done, or cannot be. Stopped between two, it
  // goes on there, unless the cache is another by then.
  bool recall_is_due() const;
  bool probe_recall(const std::stop_token& stop, const ProgressFn& progress);
  std::vector<Passage> passages() const;
  // Adds the passage's facts to `sum`. In a second cache, which goes again.
  Result<void> ask_again(const Passage& passage, const RepeatScript& how, RecallProbe& sum,
                         const std::stop_token& stop);
  // The model's most likely token in place of each of the passage's, led along it behind `before`.
  Result<std::vector<TokenId>> said_again(kvcache::Cache& into, const Passage& passage,
                                          std::span<const TokenId> before,
                                          const std::stop_token& stop);
  // The cache knows the model's lane table as soon as there is one.
  void take_lane_shares();
  // Makes that table, where the recipe wants one; whether it is there, or given up.
  bool profile(const std::stop_token& stop, const ProgressFn& progress);

  // Of lost.cpp. Where memory that was given back for a change cannot be had again, the chat has no
  // cache: `cache` is null, n_read() 0, and every call begins with need_cache().
  //   errors  CACHE_LOST, saying what to do; the kind is that of what failed
  Result<void> need_cache();
  // An empty one of the chat's recipe, in an arena of limit_bytes where the engine has none.
  Result<void> take_cache(std::size_t limit_bytes);
  // What was saved comes back into an empty cache; the rest is unread.
  Result<void> restore_saved();
  Error lost(const Error& why) const;

  // Of edit.cpp: a cache for this chat under another recipe.
  Result<std::unique_ptr<kvcache::Cache>> open_in_place(const kvcache::Recipe& recipe);
  // Of memory.cpp.
  struct Trial {
    std::size_t own_most = 0;  // what the chat's cache may take under the wished limit
    std::unique_ptr<kvcache::Cache> copy =
        {};                // under another recipe; null: none is wished for, or is
                           // possible without reading again
    bool rereads = false;  // everything is read again
    bool opens = true;     // a chat of the recipe can be opened under the wished limit
    kvcache::CompactionReport report = {};
    MemoryChange change = {};
  };
  Result<Trial> try_out(const MemoryWish& wish) const;
  std::size_t limit_of(const MemoryWish& wish) const;
  std::size_t others_bytes() const;
  std::size_t bytes_beside() const;
  std::size_t own_bytes_under(std::size_t limit) const;
  Result<Estimate> estimate_of(const kvcache::Recipe& recipe, std::size_t limit,
                               EstimateAsks asks = {}) const;
  Result<bool> comes_down(const kvcache::Recipe& recipe) const;
  Result<std::unique_ptr<kvcache::Cache>> copy_under(const kvcache::Recipe& recipe,
                                                     kvcache::CompactionReport& report) const;
  Result<kvcache::Arena::Lease> last_rows(kvcache::Cache& of, const std::stop_token& stop) const;
  Result<Fidelity> cost_since(const kvcache::Arena::Lease& before, kvcache::Cache& now,
                              const std::stop_token& stop) const;
  Result<MemoryChange> reread_change(const MemoryWish& wish) const;
  Error limit_error(const MemoryWish& wish, std::size_t least) const;
  Result<void> take_memory(std::size_t limit);
  Result<void> shrink_under(std::size_t most, MemoryChange& change);
  Result<void> come_down(Trial& trial, const MemoryWish& wish, const std::stop_token& stop);
  Result<void> raise_limit(std::size_t limit, std::stop_token stop, const ProgressFn& progress);

  std::size_t n_read() const { return cache == nullptr ? 0 : cache->n_tokens(); }
  std::size_t n_unread() const { return transcript.tokens().size() - n_read(); }
  std::size_t n_context_left() const;
  kvcache::SnapshotIdentity identity(std::size_t n_tokens) const;
  // What messages may promise: "The chat is kept. ", or "" where there is no journal.
  const char* kept_text() const { return options.journal != nullptr ? "The chat is kept. " : ""; }
  // `problem`, or where it is CACHE_FULL the same in terms of tokens.
  Error explain(Error problem) const;
  // `problem`, or where reading everything again was stopped, what the chat is then.
  Error explain_reread(Error problem) const;

  Engine::State& engine;
  SessionOptions options;
  SystemClock system_clock;
  const Clock& clock;
  std::unique_ptr<kvcache::Cache> cache;        // null: see need_cache()
  std::size_t lost_limit = 0;                   // what the arena had, where the engine has none
  std::unique_ptr<kvcache::Snapshot> snapshot;  // null where nothing is saved
  Transcript transcript;
  RepeatScript script;  // empty until the recipe needs one
  ExactRows exact_rows;
  std::vector<float> logits;       // [n_vocabulary] after the last token that was asked for
  std::optional<Held> turn_began;  // while an answer is made
  struct RecallRun {
    std::vector<Passage> passages;
    std::size_t n_done = 0, n_tokens = 0;  // passages; of the chat when it began
    RecallProbe sum;
  };
  std::optional<RecallRun> recall_run;  // while a probe is not finished
  Meter meter;
  std::string meter_kept;  // as the journal has it
};

}  // namespace satchel::runtime
