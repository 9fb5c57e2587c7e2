// Changing what is there: cut the end off, go on in a second chat, pin, forget.
#include <algorithm>
#include <memory>

#include "kernels/base/index_range.h"
#include "runtime/session/session_state.h"

namespace satchel::runtime {

void cut_cache(Session::State& s, std::size_t end) {
  s.cache.rereads().cut(end);
  const std::size_t n_read = std::min(end, s.cache.n_tokens());
  const std::size_t point = s.cache.cut_point(n_read);
  s.past.forget_from(point);
  if (point > 0) {
    const Result<void> cut = s.cache->edit().truncate(point);
    if (cut.ok()) return;
    // The text is cut already. A cache that holds more of it would answer from what is gone.
    s.past.forget_from(0);
    s.cache.rereads().lost({.begin = 0, .end = n_read}, kvcache::RereadReason::cut_failed);
    s.engine.record(LogLevel::warning, "cleared instead of truncated code=" + cut.error().code);
  }
  s.cache->clear();
}

namespace {

// Of a message, the tokens that the cache has seen.
Result<IndexRange> read_part(Session::State& s, MessageId id) {
  SATCHEL_TRY(s.prefill.need_cache());
  SATCHEL_TRY_ASSIGN(const SessionMessage message, s.transcript.find(id));
  if (message.begin >= s.cache.n_tokens() && message.end > message.begin)
    return Error{ErrorKind::invalid, "PARAM", "This message has not been read yet."};
  const std::size_t end = std::min(message.end, s.cache.n_tokens());
  return IndexRange{.begin = std::min(message.begin, end), .end = end};
}

Result<void> mark(Session::State& s, MessageId id, Marks::Mark mark) {
  Marks marks = s.transcript.marks();
  marks.set(id, mark);
  return s.transcript.set_marks(std::move(marks));
}

// Up to token `end`, where a message ends.
void cut_text(Session::State& s, std::size_t end, bool lets_journal_follow) {
  s.transcript.truncate(end, lets_journal_follow);
  s.meter.drop_rows();
  cut_cache(s, end);
}

// Where message `last` ends; 0: the beginning. What is owed of an answer is stored first.
Result<std::size_t> end_of(Session::State& s, MessageId last) {
  SATCHEL_TRY(s.prefill.need_cache());
  SATCHEL_TRY(s.transcript.settle());
  if (last.value == 0) return std::size_t{0};
  SATCHEL_TRY_ASSIGN(const SessionMessage message, s.transcript.find(last));
  return message.end;
}

// The chat ends at a message that is not in it now: one that was cut.
Result<void> load_up_to(Session::State& s, MessageId last) {
  const std::span<const SessionMessage> messages = s.transcript.messages();
  const MessageId before = messages.empty() ? MessageId{} : messages.back().id;
  const std::vector<std::int32_t> held(s.transcript.tokens().begin(), s.transcript.tokens().end());
  const bool was_ahead = s.transcript.is_ahead_of_journal();
  SATCHEL_TRY(s.options.journal->truncate(s.options.chat, last));
  const Result<Transcript::Loaded> loaded = s.transcript.load_again();
  if (!loaded.ok() && was_ahead) return loaded.error();  // the journal has the whole chat
  if (!loaded.ok()) {
    const Result<void> back = s.options.journal->truncate(s.options.chat, before);
    if (!back.ok())
      s.engine.record(LogLevel::error, "the journal ends elsewhere code=" + back.error().code);
    return loaded.error();
  }
  s.meter.drop_rows();
  const std::span<const std::int32_t> tokens = s.transcript.tokens();
  const auto common =
      static_cast<std::size_t>(std::ranges::mismatch(held, tokens).in1 - held.begin());
  cut_cache(s, common);
  kvcache::RereadReason reason = kvcache::RereadReason::not_saved;
  if (s.cache.n_saved(tokens) > common) {
    s.cache->clear();
    const kvcache::RestoreReport restored = s.prefill.restore();
    if (restored.reason != kvcache::RereadReason::none) reason = restored.reason;
  }
  s.cache.rereads().lost({.begin = s.cache.n_tokens(), .end = tokens.size()}, reason);
  s.engine.record(LogLevel::info,
                  "went to another text reused=" + std::to_string(s.cache.n_tokens()) +
                      " of=" + std::to_string(tokens.size()));
  return {};
}

}  // namespace

Result<void> Session::truncate(MessageId last) {
  State& s = *state_;
  const Result<std::size_t> end = end_of(s, last);
  const bool is_elsewhere = !end.ok() && end.error().code == "MESSAGE_NOT_FOUND";
  if (is_elsewhere && s.options.journal != nullptr) return load_up_to(s, last);
  SATCHEL_TRY(end);
  if (s.options.journal != nullptr) SATCHEL_TRY(s.options.journal->truncate(s.options.chat, last));
  cut_text(s, *end, /*lets_journal_follow=*/false);
  return {};
}

Result<void> Session::truncate_until_said(MessageId last) {
  SATCHEL_TRY_ASSIGN(const std::size_t end, end_of(*state_, last));
  cut_text(*state_, end, /*lets_journal_follow=*/true);
  return {};
}

Result<std::vector<MessageVersions>> Session::versions() const {
  const State& s = *state_;
  if (s.options.journal == nullptr) return std::vector<MessageVersions>();
  SATCHEL_TRY_ASSIGN(std::vector<MessageLink> links, s.options.journal->tree(s.options.chat));
  return MessageTree(std::move(links)).versions_of(messages());
}

Result<void> Session::switch_to(MessageId version) {
  State& s = *state_;
  if (s.options.journal == nullptr)
    return Error{ErrorKind::invalid, "PARAM", "This chat is not kept: it has one version only."};
  SATCHEL_TRY_ASSIGN(std::vector<MessageLink> links, s.options.journal->tree(s.options.chat));
  SATCHEL_TRY_ASSIGN(const MessageId end, MessageTree(std::move(links)).end_of(version));
  return truncate(end);
}

Result<std::unique_ptr<Session>> Session::fork(ChatId chat, std::optional<MessageId> last) {
  State& s = *state_;
  SATCHEL_TRY(s.prefill.need_cache());
  SATCHEL_TRY(s.transcript.settle());
  std::size_t n_messages = messages().size();
  if (last) {
    const auto found = std::ranges::find(messages(), *last, &SessionMessage::id);
    if (last->value != 0) SATCHEL_TRY(s.transcript.find(*last));
    n_messages = last->value == 0 ? 0 : static_cast<std::size_t>(found - messages().begin()) + 1;
  }
  SATCHEL_TRY_ASSIGN(std::unique_ptr<kvcache::Cache> cache, s.cache->fork());
  SessionOptions options = s.options;
  options.chat = chat;
  options.recipe = s.cache.recipe();
  options.thinking = s.transcript.thinking();
  options.beyond = s.past.chosen();
  auto state = std::make_unique<State>(s.engine, options, std::move(cache));
  state->meter.copy(s.meter);
  state->cache.rereads() = s.cache.rereads().copy();
  SATCHEL_TRY_ASSIGN(std::vector<StoredMessage> stored, s.transcript.stored());
  stored.resize(n_messages);
  SATCHEL_TRY(state->transcript.restore(stored));
  if (!s.transcript.marks().empty())
    SATCHEL_TRY(state->transcript.set_marks(s.transcript.marks().copied(
        ids_of(s.transcript.messages()), ids_of(state->transcript.messages()))));
  if (s.cache.has_store())
    s.past.copy_resting({s.cache.store(), s.cache.key()},
                        {state->cache.store(), state->cache.key()});
  // Before anything of it is saved: the other chat's text is none of this one's.
  if (last) cut_cache(*state, state->transcript.tokens().size());
  return std::unique_ptr<Session>(new Session(std::move(state)));
}

Result<void> Session::pin(MessageId id) {
  SATCHEL_TRY_ASSIGN(const IndexRange part, read_part(*state_, id));
  SATCHEL_TRY(state_->prefill.bring_back(part, {}));
  SATCHEL_TRY(state_->cache->edit().pin(part.begin, part.end - part.begin));
  return mark(*state_, id, Marks::Mark::pinned);
}

Result<void> Session::unpin(MessageId id) {
  SATCHEL_TRY_ASSIGN(SessionMessage message, state_->transcript.find(id));
  if (!message.is_pinned) return {};
  SATCHEL_TRY_ASSIGN(const IndexRange part, read_part(*state_, id));
  Marks marks = state_->transcript.marks();
  marks.unpin(id);
  SATCHEL_TRY(state_->transcript.set_marks(std::move(marks)));
  message.is_pinned = false;
  const kvcache::SegmentKind kind = segment_kind(message);
  if (kind == kvcache::SegmentKind::pinned) return {};  // the system text is so by itself
  return state_->cache->edit().unpin(part.begin, part.end - part.begin, kind);
}

Result<void> Session::forget(MessageId id) {
  SATCHEL_TRY_ASSIGN(const IndexRange part, read_part(*state_, id));
  state_->meter.drop_rows();
  SATCHEL_TRY(state_->prefill.bring_back(part, {}));
  SATCHEL_TRY(state_->cache->edit().forget(part.begin, part.end - part.begin));
  return mark(*state_, id, Marks::Mark::forgotten);
}

}  // namespace satchel::runtime
