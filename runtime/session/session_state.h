// The inside of a Session, shared by the files of this folder.
//   session.cpp  messages and figures · turn.cpp  reading and answering · resume.cpp  save, resume
#pragma once

#include <memory>
#include <vector>

#include "runtime/engine_state.h"
#include "runtime/session/session.h"
#include "runtime/session/transcript.h"

namespace satchel::runtime {

// Behind a message there must be room for the head of an answer, a word and the tail, or it could
// not be answered. Chosen: the heads and tails of all templates are shorter than this.
inline constexpr std::size_t kLeastAnswerTokens = 16;

struct Session::State {
  State(Engine::State& engine_in, const SessionOptions& options_in,
        std::unique_ptr<kvcache::Cache> cache_in);

  // Refused before anything is committed if the model could not take it in and answer.
  Result<kvcache::MessageId> commit(const Draft& draft);

  // What one stretch of tokens() is read with.
  struct Span {
    std::size_t end = 0;           // tokens() up to here; it begins at n_read()
    std::span<float> logits = {};  // after its last token; may be empty
    bool measures = false;         // fidelity, if something was packed or evicted
  };
  Result<ReadReport> read_span(const Span& span, std::stop_token stop, const ProgressFn& progress);
  Result<ReadReport> read_unread(std::stop_token stop, const ProgressFn& progress);
  // exact, packed: [fidelity_rows(n), width] in the backend's memory, exact filled, packed to fill.
  struct Rows {
    float *exact = nullptr, *packed = nullptr;
  };
  Result<void> measure(std::size_t n_tokens, const Rows& rows, std::stop_token stop,
                       const ProgressFn& progress);
  // Reads what an answer left unread, so that a resumed chat finds nothing to read. A full pool is
  // no error here.
  Result<void> read_rest();

  Result<void> read_again(std::stop_token stop, const ProgressFn& progress);

  std::size_t n_read() const { return cache->n_tokens(); }
  std::size_t n_unread() const { return transcript.tokens().size() - n_read(); }
  std::size_t n_context_left() const;
  kvcache::SnapshotIdentity identity(std::size_t n_tokens) const;
  // `problem`, or where it is CACHE_FULL the same in terms of tokens.
  Error explain(Error problem) const;

  Engine::State& engine;
  SessionOptions options;
  SystemClock system_clock;
  const Clock& clock;
  std::unique_ptr<kvcache::Cache> cache;
  std::unique_ptr<kvcache::Snapshot> snapshot;  // null where nothing is saved
  Transcript transcript;
  std::vector<float> logits;  // [n_vocabulary] after the last token that was asked for
  Fidelity fidelity;
};

}  // namespace satchel::runtime
