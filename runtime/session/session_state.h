// The inside of a Session, shared by the files of this folder.
//   session.cpp  messages and figures · turn.cpp  reading and answering · idle.cpp  what may wait ·
//   edit.cpp  truncate, fork, pin, forget, recipe · memory.cpp  another limit or recipe ·
//   resume.cpp  save, resume
#pragma once

#include <memory>
#include <vector>

#include "runtime/engine_state.h"
#include "runtime/reading/read_text.h"
#include "runtime/session/session.h"
#include "runtime/session/transcript.h"

namespace satchel::runtime {

// Behind a message there must be room for the head of an answer, a word and the tail, or it could
// not be answered. Chosen: the heads and tails of all templates are shorter than this.
inline constexpr std::size_t kLeastAnswerTokens = 16;

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
  // The turn is over: what was held back for it may be compressed.
  Result<kvcache::CompactionReport> end_turn();
  // Reads what an answer left unread, so that a resumed chat finds nothing to read, and ends the
  // turn. A full pool is no error here.
  Result<void> read_rest();
  // Packs what waits, whatever it costs in time; whether that made room.
  Result<bool> make_room(std::stop_token stop);
  Result<void> make_script();
  void open_snapshot();
  TextPass text_pass(std::stop_token stop, const ProgressFn& progress) const;

  // The last hidden states of a reading, kept (in the arena) until what was read has been packed and
  // can be compared with them.
  struct ExactRows {
    kvcache::ExtentId extent = {};
    std::size_t end = 0, n = 0;  // of tokens() up to `end`; 0: none are kept
  };
  Result<void> keep_rows(std::size_t n_tokens, const float* rows);
  void drop_rows();
  bool measures_now() const;  // rows are there, and nothing they stand for waits
  Result<void> measure(std::stop_token stop, const ProgressFn& progress);
  void measure_if_due(std::stop_token stop, const ProgressFn& progress, IdleReport& report);
  // The cache knows the model's lane table as soon as there is one.
  void take_lane_shares();
  // Makes that table, where the recipe wants one; whether it is there, or given up.
  bool profile(const std::stop_token& stop, const ProgressFn& progress);

  // Of memory.cpp.
  struct Trial {
    std::size_t own_most = 0;  // what the chat's cache may take under the wished limit
    std::unique_ptr<kvcache::Cache> copy =
        {};  // under another recipe; null: none is wished for, or is
             // possible without reading again
    kvcache::CompactionReport report = {};
    MemoryChange change = {};
  };
  Result<Trial> try_out(const MemoryWish& wish) const;
  std::size_t limit_of(const MemoryWish& wish) const;
  std::size_t bytes_beside() const;
  std::size_t own_bytes_under(std::size_t limit) const;
  Result<Estimate> estimate_of(const kvcache::Recipe& recipe) const;
  Result<bool> comes_down(const kvcache::Recipe& recipe) const;
  Result<std::unique_ptr<kvcache::Cache>> copy_under(const kvcache::Recipe& recipe,
                                                     kvcache::CompactionReport& report) const;
  Result<Fidelity> cost_of(kvcache::Cache& other, const std::stop_token& stop) const;
  Result<MemoryChange> reread_change(const MemoryWish& wish) const;
  Error limit_error(const MemoryWish& wish, std::size_t least) const;
  Result<void> lower_limit(const MemoryWish& wish, MemoryChange& change);
  Result<void> raise_limit(std::size_t limit, std::stop_token stop, const ProgressFn& progress);

  std::size_t n_read() const { return cache->n_tokens(); }
  std::size_t n_unread() const { return transcript.tokens().size() - n_read(); }
  std::size_t n_context_left() const;
  kvcache::SnapshotIdentity identity(std::size_t n_tokens) const;
  // What messages may promise: "The chat is kept. ", or "" where there is no journal.
  const char* kept_text() const { return options.journal != nullptr ? "The chat is kept. " : ""; }
  // `problem`, or where it is CACHE_FULL the same in terms of tokens.
  Error explain(Error problem) const;

  Engine::State& engine;
  SessionOptions options;
  SystemClock system_clock;
  const Clock& clock;
  std::unique_ptr<kvcache::Cache> cache;
  std::unique_ptr<kvcache::Snapshot> snapshot;  // null where nothing is saved
  Transcript transcript;
  RepeatScript script;  // empty until the recipe needs one
  ExactRows exact_rows;
  std::vector<float> logits;  // [n_vocabulary] after the last token that was asked for
  Fidelity fidelity;
};

}  // namespace satchel::runtime
