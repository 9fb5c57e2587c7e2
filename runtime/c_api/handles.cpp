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

namespace {

int32_t phase_of(runtime::Phase phase) {
  switch (phase) {
    case runtime::Phase::load_model:
      return SATCHEL_PHASE_LOAD;
    case runtime::Phase::read_prompt:
    case runtime::Phase::generate:
      return SATCHEL_PHASE_PREFILL;
    case runtime::Phase::measure_fidelity:
      return SATCHEL_PHASE_MEASURE;
    case runtime::Phase::pack:
      return SATCHEL_PHASE_PACK;
    case runtime::Phase::profile:
      return SATCHEL_PHASE_PROFILE;
    case runtime::Phase::ask_parts:
      return SATCHEL_PHASE_PARTS;
  }
  return SATCHEL_PHASE_PREFILL;
}

}  // namespace

ChatCall Listener::call() {
  return {.stop = stop_.get_token(),
          .sink = [this](ChatHandle, const ChatEvent& event) { hear(event); }};
}

void Listener::stop_unless(int32_t answer) {
  if (answer != 0) stop_.request_stop();
}

void Listener::hear(const ChatEvent& event) {
  if (const auto* now = std::get_if<runtime::Progress>(&event)) {
    if (functions_.progress != nullptr)
      stop_unless(
          functions_.progress(functions_.user, phase_of(now->phase), now->done, now->total));
  } else if (const auto* said = std::get_if<runtime::AnswerDelta>(&event)) {
    if (functions_.delta == nullptr) return;
    const satchel_delta delta = {.struct_size = sizeof(satchel_delta),
                                 .is_thought = said->is_thought,
                                 .text = said->text.data(),
                                 .size = said->text.size()};
    stop_unless(functions_.delta(functions_.user, &delta));
  }
}

SessionCall::SessionCall(Session& session, const satchel_listener& listener)
    : session_(session), listener_(listener) {
  const std::scoped_lock lock(session_.mutex);
  session_.stop = listener_.stop();
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
                                                        const satchel_listener* listener) {
  if (session == nullptr) return missing("session");
  SATCHEL_TRY_ASSIGN(const satchel_listener functions, taken(listener));
  if (session->shared->is_busy.exchange(true)) return session_busy();
  try {
    return std::make_unique<SessionCall>(*session->shared, functions);
  } catch (...) {
    session->shared->is_busy = false;
    throw;
  }
}

ChatCall SessionCall::call() {
  return {.stop = listener_.stop().get_token(), .sink = [this](ChatHandle, const ChatEvent& event) {
            {
              const std::scoped_lock lock(session_.mutex);
              session_.told.hear(event);
            }
            listener_.hear(event);
          }};
}

void Told::hear(const ChatEvent& event) {
  if (const auto* now = std::get_if<runtime::ChatMemory>(&event)) memory = *now;
  if (const auto* changed = std::get_if<runtime::LedgerChanged>(&event)) recall = changed->recall;
  if (const auto* report = std::get_if<runtime::ResumeReport>(&event)) resumed = *report;
}

std::vector<kvcache::Reread> Told::with_resumed(std::vector<kvcache::Reread> reread) const {
  for (std::size_t i = 0; resumed && i < resumed->reread.size(); ++i)
    kvcache::add(reread, resumed->reread[i]);
  return reread;
}

namespace {

Result<kvcache::Recipe> named_recipe(const char* recipe) {
  const std::string_view given = recipe == nullptr ? "full" : recipe;
  const std::size_t first = given.find_first_not_of(" \t\r\n");
  if (first != given.npos && given[first] == '{') return kvcache::Recipe::parse(given);
  if (given.find('/') != given.npos || given.ends_with(".json"))
    return Error{ErrorKind::not_found, "RECIPE",
                 "\"" + std::string(given) + "\" looks like a file. Give its JSON, or a name."};
  return runtime::resolve_recipe(given);
}

}  // namespace

Result<kvcache::Recipe> recipe_of(const char* recipe, double keep) {
  SATCHEL_TRY_ASSIGN(kvcache::Recipe named, named_recipe(recipe));
  if (keep == 0) return named;
  return named.with_keep(keep);
}

const char* reason_of(kvcache::RereadReason reason) {
  return reason == kvcache::RereadReason::none ? nullptr : kvcache::reread_word(reason);
}

// Older than the reasons, and coarser.
int32_t outcome_of(const runtime::ResumeReport& report) {
  using kvcache::RereadReason;
  if (report.reason == RereadReason::none || report.reason == RereadReason::not_saved)
    return SATCHEL_RESUME_RESTORED;
  if (report.n_reused > 0) return SATCHEL_RESUME_PARTLY;
  switch (report.reason) {
    case RereadReason::nothing_saved:
      return SATCHEL_RESUME_NOTHING_SAVED;
    case RereadReason::other_model:
      return SATCHEL_RESUME_OTHER_MODEL;
    case RereadReason::other_recipe:
      return SATCHEL_RESUME_OTHER_RECIPE;
    case RereadReason::other_tokens:
      return SATCHEL_RESUME_OTHER_TOKENS;
    case RereadReason::other_format:
    case RereadReason::over_limit:
      return SATCHEL_RESUME_OTHER_FORMAT;
    default:
      return SATCHEL_RESUME_DAMAGED;
  }
}

void give_resume(satchel_resume_report* out, const runtime::ResumeReport& report) {
  give(out, {.struct_size = 0,
             .outcome = outcome_of(report),
             .n_tokens = report.n_chat_tokens,
             .n_reused = report.n_reused,
             .n_recomputed = report.n_reread,
             .bytes_read = report.bytes_read,
             .ms = report.ms,
             .too_long = report.too_long,
             .reserved = 0,
             .reason = reason_of(report.reason)});
}

}  // namespace satchel::c_api
