#include "runtime/c_api/handles.h"

#include <algorithm>

#include "runtime/limits/presets.h"

namespace satchel::c_api {

using runtime::ChatCall;
using runtime::ChatEvent;
using runtime::ChatHandle;

// The header's numbers stay as they are, whatever becomes of ours.
template <class E>
constexpr bool is(E value, std::uint32_t number) {
  return static_cast<std::uint32_t>(value) == number;
}
static_assert(is(kvcache::RestoreOutcome::restored, SATCHEL_RESUME_RESTORED) &&
              is(kvcache::RestoreOutcome::partly, SATCHEL_RESUME_PARTLY) &&
              is(kvcache::RestoreOutcome::nothing_saved, SATCHEL_RESUME_NOTHING_SAVED) &&
              is(kvcache::RestoreOutcome::other_model, SATCHEL_RESUME_OTHER_MODEL) &&
              is(kvcache::RestoreOutcome::other_recipe, SATCHEL_RESUME_OTHER_RECIPE) &&
              is(kvcache::RestoreOutcome::other_tokens, SATCHEL_RESUME_OTHER_TOKENS) &&
              is(kvcache::RestoreOutcome::other_format, SATCHEL_RESUME_OTHER_FORMAT) &&
              is(kvcache::RestoreOutcome::damaged, SATCHEL_RESUME_DAMAGED));
static_assert(is(runtime::Finish::end_of_turn, SATCHEL_END_OF_TURN) &&
              is(runtime::Finish::n_tokens_max, SATCHEL_TOKENS_MAX) &&
              is(runtime::Finish::repeats, SATCHEL_REPEATS) &&
              is(runtime::Finish::stopped, SATCHEL_STOPPED) &&
              is(runtime::Finish::context_full, SATCHEL_CONTEXT_FULL) &&
              is(runtime::Finish::cache_full, SATCHEL_CACHE_FULL));
static_assert(is(runtime::Role::system, SATCHEL_SYSTEM) && is(runtime::Role::user, SATCHEL_USER) &&
              is(runtime::Role::assistant, SATCHEL_ASSISTANT));
static_assert(is(runtime::Thinking::automatic, SATCHEL_THINKING_AUTO) &&
              is(runtime::Thinking::on, SATCHEL_THINKING_ON) &&
              is(runtime::Thinking::off, SATCHEL_THINKING_OFF));
static_assert(is(LogLevel::debug, SATCHEL_LOG_DEBUG) && is(LogLevel::info, SATCHEL_LOG_INFO) &&
              is(LogLevel::warning, SATCHEL_LOG_WARNING) && is(LogLevel::error, SATCHEL_LOG_ERROR));

SessionCall::SessionCall(Session& session, const satchel_listener& listener)
    : session_(session), listener_(listener) {
  const std::scoped_lock lock(session_.mutex);
  session_.stop = stop_;
  session_.told.resumed.reset();
}

SessionCall::~SessionCall() {
  {
    const std::scoped_lock lock(session_.mutex);
    session_.stop = std::stop_source(std::nostopstate);
  }
  session_.is_busy = false;
}

Result<std::unique_ptr<SessionCall>> SessionCall::begin(satchel_session* session,
                                                        const satchel_listener& listener) {
  if (session == nullptr) return missing("session");
  if (session->shared->is_busy.exchange(true)) return session_busy();
  return std::make_unique<SessionCall>(*session->shared, listener);
}

Result<std::unique_ptr<SessionCall>> SessionCall::begin(satchel_session* session,
                                                        satchel_progress_fn progress, void* user) {
  satchel_listener listener = {};
  listener.progress = progress;
  listener.user = user;
  return begin(session, listener);
}

ChatCall SessionCall::call() {
  return {.stop = stop_.get_token(),
          .sink = [this](ChatHandle, const ChatEvent& event) { hear(event); }};
}

void SessionCall::stop_unless(int32_t answer) {
  if (answer != 0) stop_.request_stop();
}

void SessionCall::hear(const ChatEvent& event) {
  {
    const std::scoped_lock lock(session_.mutex);
    session_.told.hear(event);
  }
  if (const auto* now = std::get_if<runtime::Progress>(&event)) {
    if (listener_.progress != nullptr)
      stop_unless(listener_.progress(listener_.user, phase_of(now->phase), now->done, now->total));
  } else if (const auto* delta = std::get_if<runtime::AnswerDelta>(&event)) {
    if (listener_.piece == nullptr) return;
    const satchel_piece piece = {.struct_size = sizeof(satchel_piece),
                                 .is_thought = delta->is_thought,
                                 .text = delta->text.data(),
                                 .size = delta->text.size()};
    stop_unless(listener_.piece(listener_.user, &piece));
  }
}

void Told::hear(const ChatEvent& event) {
  if (const auto* now = std::get_if<runtime::ChatMemory>(&event)) memory = *now;
  if (const auto* changed = std::get_if<runtime::LedgerChanged>(&event)) recall = changed->recall;
  if (const auto* report = std::get_if<runtime::ResumeReport>(&event)) resumed = *report;
}

ChatCall call_with(satchel_progress_fn progress, void* user) {
  if (progress == nullptr) return {};
  const auto stop = std::make_shared<std::stop_source>();
  return {.stop = stop->get_token(),
          .sink = [stop, progress, user](ChatHandle, const ChatEvent& event) {
            const auto* now = std::get_if<runtime::Progress>(&event);
            if (now != nullptr && progress(user, phase_of(now->phase), now->done, now->total) != 0)
              stop->request_stop();
          }};
}

int32_t phase_of(runtime::Phase phase) {
  switch (phase) {
    case runtime::Phase::load_model:
      return SATCHEL_PHASE_LOAD;
    case runtime::Phase::read_prompt:
    case runtime::Phase::generate:
      return SATCHEL_PHASE_READ;
    case runtime::Phase::measure_fidelity:
      return SATCHEL_PHASE_MEASURE;
    case runtime::Phase::pack:
      return SATCHEL_PHASE_PACK;
    case runtime::Phase::profile:
      return SATCHEL_PHASE_PROFILE;
    case runtime::Phase::ask_parts:
      return SATCHEL_PHASE_PARTS;
  }
  return SATCHEL_PHASE_READ;
}

Result<kvcache::Recipe> recipe_of(const char* recipe) {
  const std::string_view given = recipe == nullptr ? "full" : recipe;
  const std::size_t first = given.find_first_not_of(" \t\r\n");
  if (first != given.npos && given[first] == '{') return kvcache::Recipe::parse(given);
  if (given.find('/') != given.npos || given.ends_with(".json"))
    return Error{ErrorKind::not_found, "RECIPE",
                 "\"" + std::string(given) + "\" looks like a file. Give its JSON, or a name."};
  return runtime::resolve_recipe(given);
}

}  // namespace satchel::c_api
