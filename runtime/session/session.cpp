#include "runtime/session/session.h"

#include <algorithm>
#include <string>

#include "kernels/base/size_text.h"
#include "runtime/session/session_state.h"

namespace satchel::runtime {
namespace {

Error context_full(std::size_t n_needed, std::size_t n_left, std::size_t n_context) {
  return Error{ErrorKind::out_of_memory, "CONTEXT_FULL",
               "This needs " + count_text(n_needed) + " tokens with room for an answer, but " +
                   count_text(n_left) + " of the model's " + count_text(n_context) +
                   " are left. Nothing was sent. Shorten it or start a new chat."};
}

}  // namespace

Session::State::State(Engine::State& engine_in, const SessionOptions& options_in,
                      std::unique_ptr<kvcache::Cache> cache_in)
    : engine(engine_in),
      options(options_in),
      clock(options_in.clock != nullptr ? *options_in.clock : system_clock),
      cache(std::move(cache_in)),
      transcript({.tokenizer = *engine_in.tokenizer,
                  .chat_template = *engine_in.chat_template,
                  .n_vocabulary = engine_in.model->config().n_vocabulary,
                  .model_fingerprint = engine_in.fingerprint,
                  .system = options_in.system,
                  .thinking = options_in.thinking,
                  .journal = options_in.journal,
                  .chat = options_in.chat}),
      logits(engine_in.model->config().n_vocabulary) {
  open_snapshot();
}

Session::State::~State() {
  if (cache != nullptr) drop_rows();
}

void Session::State::open_snapshot() {
  if (options.blocks != nullptr)
    snapshot = std::make_unique<kvcache::Snapshot>(*cache, *options.blocks,
                                                   kvcache::CacheKey::of_chat(options.chat));
}

std::size_t Session::State::n_context_left() const {
  const std::size_t context = engine.model->config().context;
  return context - std::min(context, transcript.tokens().size());
}

Result<std::vector<kvcache::MessageId>> Session::State::commit(const Draft& draft) {
  const std::size_t n_needed = draft.n_tokens() + kLeastAnswerTokens;
  if (n_needed > n_context_left())
    return context_full(n_needed, n_context_left(), engine.model->config().context);
  return transcript.commit(draft);
}

Session::Session(std::unique_ptr<State> state) : state_(std::move(state)) {}
Session::~Session() = default;

Result<kvcache::MessageId> Session::add_user(std::string_view text) {
  SATCHEL_TRY(state_->need_cache());
  SATCHEL_TRY_ASSIGN(const Draft draft, state_->transcript.draft({.text = text}, std::nullopt));
  SATCHEL_TRY_ASSIGN(const std::vector<kvcache::MessageId> ids, state_->commit(draft));
  return ids.back();
}

Result<DocumentIds> Session::add_document(std::string_view title, std::string_view text) {
  SATCHEL_TRY(state_->need_cache());
  SATCHEL_TRY_ASSIGN(const Draft draft,
                     state_->transcript.draft({.text = text, .document_title = title}, kNoted));
  SATCHEL_TRY_ASSIGN(const std::vector<kvcache::MessageId> ids, state_->commit(draft));
  return DocumentIds{.document = ids[ids.size() - 2], .answer = ids.back()};
}

std::span<const std::int32_t> Session::tokens() const {
  return state_->transcript.tokens();
}
std::span<const SessionMessage> Session::messages() const {
  return state_->transcript.messages();
}
std::size_t Session::n_read() const {
  return state_->n_read();
}
std::size_t Session::n_context() const {
  return state_->engine.model->config().context;
}
std::size_t Session::n_context_left() const {
  return state_->n_context_left();
}
kvcache::CacheStats Session::stats() const {
  if (state_->cache != nullptr) return state_->cache->stats();
  const auto& arena = state_->engine.arena;
  kvcache::CacheStats stats;
  stats.pool_bytes = arena != nullptr ? arena->bytes() : state_->lost_limit;
  return stats;
}
Result<void> Session::set_thinking(Thinking thinking) {
  SATCHEL_TRY(check_thinking(*state_->engine.chat_template, thinking));
  state_->options.thinking = thinking;
  state_->transcript.set_thinking(thinking);
  return {};
}
Thinking Session::thinking() const {
  return state_->options.thinking;
}
const Fidelity& Session::fidelity() const {
  return state_->meter.fidelity;
}
const RecallProbe& Session::recall() const {
  return state_->meter.recall;
}
std::span<const LedgerEntry> Session::ledger() const {
  return state_->meter.ledger.entries();
}
const kvcache::Recipe& Session::recipe() const {
  return state_->options.recipe;
}

}  // namespace satchel::runtime
