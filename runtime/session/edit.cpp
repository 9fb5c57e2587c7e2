// Changing what is there: cut the end off, go on in a second chat, pin, forget, another recipe.
#include <algorithm>
#include <string>

#include "runtime/session/session_state.h"

namespace satchel::runtime {
namespace {

Result<SessionMessage> find(const Transcript& transcript, kvcache::MessageId id) {
  const auto messages = transcript.messages();
  const auto found = std::find_if(messages.begin(), messages.end(),
                                  [id](const SessionMessage& message) { return message.id == id; });
  if (found != messages.end()) return *found;
  return Error{ErrorKind::not_found, "MESSAGE_NOT_FOUND",
               "This chat has no message " + std::to_string(id.value) + "."};
}

}  // namespace

Result<void> Session::truncate(kvcache::MessageId last) {
  State& s = *state_;
  SATCHEL_TRY(s.need_cache());
  SATCHEL_TRY(s.transcript.settle());
  std::size_t end = 0;
  if (last.value != 0) {
    SATCHEL_TRY_ASSIGN(const SessionMessage message, find(s.transcript, last));
    end = message.end;
  }
  if (s.options.journal != nullptr) SATCHEL_TRY(s.options.journal->truncate(s.options.chat, last));
  s.transcript.truncate(end);
  s.drop_rows();
  end = std::min(end, s.n_read());
  if (s.cache->can_truncate(end)) return s.cache->truncate(end);
  s.cache->clear();  // to be read again
  return {};
}

Result<std::unique_ptr<Session>> Session::fork(kvcache::ChatId chat) {
  State& s = *state_;
  SATCHEL_TRY(s.need_cache());
  SATCHEL_TRY(s.transcript.settle());
  SATCHEL_TRY_ASSIGN(std::unique_ptr<kvcache::Cache> cache, s.cache->fork());
  SessionOptions options = s.options;
  options.chat = chat;
  auto state = std::make_unique<State>(s.engine, options, std::move(cache));
  state->meter = s.meter;
  state->meter.ledger.close();  // the rows to compare with are not its own
  if (options.journal == nullptr) {
    state->transcript.copy(s.transcript);
    return std::unique_ptr<Session>(new Session(std::move(state)));
  }
  SATCHEL_TRY_ASSIGN(const std::vector<kvcache::StoredMessage> stored,
                     options.journal->messages(s.options.chat));
  std::vector<kvcache::NewMessage> copies;
  for (const kvcache::StoredMessage& message : stored) {
    // What the cache has seen, which for a message that came back damaged is not what was stored.
    SATCHEL_TRY_ASSIGN(const SessionMessage seen, find(s.transcript, message.id));
    copies.push_back({.role = message.role,
                      .state = message.state == kvcache::MessageState::damaged
                                   ? kvcache::MessageState::interrupted
                                   : message.state,
                      .text = message.text,
                      .tokens = s.transcript.tokens().subspan(seen.begin, seen.end - seen.begin),
                      .kind = message.kind,
                      .title = message.title,
                      .tokenizer = s.engine.tokenizer->hash()});
  }
  if (!copies.empty()) SATCHEL_TRY(options.journal->append_all(chat, copies));
  SATCHEL_TRY(state->transcript.load());
  return std::unique_ptr<Session>(new Session(std::move(state)));
}

Result<void> Session::pin(kvcache::MessageId id) {
  State& s = *state_;
  SATCHEL_TRY(s.need_cache());
  SATCHEL_TRY_ASSIGN(const SessionMessage message, find(s.transcript, id));
  const std::size_t end = std::min(message.end, s.n_read());
  const std::size_t begin = std::min(message.begin, end);
  return s.cache->pin(begin, end - begin);
}

Result<void> Session::forget(kvcache::MessageId id) {
  State& s = *state_;
  SATCHEL_TRY(s.need_cache());
  SATCHEL_TRY_ASSIGN(const SessionMessage message, find(s.transcript, id));
  const std::size_t end = std::min(message.end, s.n_read());
  const std::size_t begin = std::min(message.begin, end);
  s.drop_rows();
  return s.cache->forget(begin, end - begin);
}

// Beside the chat's own where there is room for both, so that nothing has changed where it fails; else
// in its place: where that fails the chat's own is there, but empty, or, if the backend fails as well,
// lost.
Result<std::unique_ptr<kvcache::Cache>> Session::State::open_in_place(
    const kvcache::Recipe& recipe) {
  const kvcache::CacheHome home{.backend = engine.backend, .arena = engine.arena};
  const kvcache::CacheShape shape = cache->shape();
  Result<std::unique_ptr<kvcache::Cache>> made = kvcache::Cache::open(home, shape, recipe);
  const auto is_full = [&] { return !made.ok() && made.error().kind == ErrorKind::out_of_memory; };
  if (is_full()) {
    snapshot.reset();
    cache->clear();
    made = kvcache::Cache::open(home, shape, recipe);
  }
  if (is_full()) {  // not even two empty ones
    cache.reset();
    made = kvcache::Cache::open(home, shape, recipe);
    if (!made.ok()) SATCHEL_TRY(take_cache(home.arena->bytes()));
  }
  return made;
}

Result<ReadReport> Session::set_recipe(const kvcache::Recipe& recipe, std::stop_token stop,
                                       const ProgressFn& progress) {
  State& s = *state_;
  SATCHEL_TRY(s.need_cache());
  SATCHEL_TRY(s.transcript.settle());
  s.drop_rows();
  const std::size_t n_before = s.n_read();
  Result<std::unique_ptr<kvcache::Cache>> opened = s.open_in_place(recipe);
  const bool as_before = s.cache == nullptr || (n_before > 0 && s.n_read() == n_before);
  if (!opened.ok() && as_before) return opened.error();
  s.forget_measured();
  s.snapshot.reset();
  const bool is_new = opened.ok();
  if (is_new) {
    s.cache = std::move(opened).value();
    s.options.recipe = recipe;
  }
  s.open_snapshot();
  s.script = {};
  SATCHEL_TRY(s.make_script());
  Result<ReadReport> read = s.read_unread(stop, progress);
  if (!read.ok()) return s.explain_reread(std::move(read).error());
  if (!is_new) return opened.error();
  return read;
}

}  // namespace satchel::runtime
