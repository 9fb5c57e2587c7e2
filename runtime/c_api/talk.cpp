// What is said in a session: messages and documents, and the answers to them.
#include "runtime/c_api/talk.h"

#include <algorithm>
#include <vector>

#include "runtime/grammar/gbnf.h"
#include "runtime/grammar/json_schema.h"

namespace satchel::c_api {
namespace {

using runtime::GenerateReport;
using runtime::MessageText;
using runtime::Role;

template <class T>
T or_default(T given, T fallback) {
  return given == 0 ? fallback : given;
}

Result<std::shared_ptr<const runtime::Grammar>> grammar_of(const satchel_sampling& in) {
  if (in.grammar != nullptr && in.json_schema != nullptr)
    return Error{ErrorKind::invalid, "PARAM",
                 "An answer takes a grammar or a json_schema, not both."};
  const char* const text = in.grammar != nullptr ? in.grammar : in.json_schema;
  if (text == nullptr) return std::shared_ptr<const runtime::Grammar>();
  SATCHEL_TRY_ASSIGN(const std::string_view given, text_of(text, SATCHEL_NUL_ENDED, "grammar"));
  SATCHEL_TRY_ASSIGN(runtime::Grammar made, in.grammar != nullptr
                                                ? runtime::parse_gbnf(given)
                                                : runtime::grammar_of_schema(given));
  return std::shared_ptr<const runtime::Grammar>(
      std::make_shared<runtime::Grammar>(std::move(made)));
}

void give_prefilled(satchel_prefill_report* out, const runtime::ReadReport& report,
                    SessionCall& call) {
  Session& session = call.session();
  const std::scoped_lock lock(session.mutex);
  const auto reread = session.told.with_resumed(report.reread);
  give(out, {.struct_size = 0,
             .compressed = report.compressed,
             .n_tokens = report.n_tokens,
             .n_unread = session.told.memory.n_unread,
             .n_evicted = report.n_evicted,
             .ms = report.ms,
             .n_recomputed = n_reread(reread),
             .reason = reason_of(main_reason(reread)),
             .n_shelf = report.n_shelf});
}

struct Asked {
  const satchel_sampling* sampling;
  const satchel_listener* listener;
  satchel_result* result;
  satchel_buffer** text;
};

// ask  gets the call and the sampling
template <class Ask>
Result<void> answered(satchel_session* session, const Asked& asked, const Ask& ask) {
  if (asked.text != nullptr) *asked.text = nullptr;
  SATCHEL_TRY(clear(asked.result));
  SATCHEL_TRY_ASSIGN(const runtime::Sampling sampling, sampling_of(asked.sampling));
  SATCHEL_TRY_ASSIGN(const auto call, SessionCall::begin(session, asked.listener));
  SATCHEL_TRY_ASSIGN(GenerateReport report, ask(*call, sampling));
  give(asked.result, result_of(report, call->session()));
  give_text(asked.text, std::move(report.text));
  return {};
}

Result<std::vector<MessageText>> messages_of(const satchel_message* messages, std::size_t n) {
  if (messages == nullptr && n > 0) return missing("messages");
  std::vector<MessageText> out;
  const auto* at = reinterpret_cast<const unsigned char*>(messages);
  for (std::size_t i = 0; i < n; ++i) {  // side by side as the host knows them
    const auto* given = reinterpret_cast<const satchel_message*>(at);
    SATCHEL_TRY_ASSIGN(const satchel_message one, taken(given));
    SATCHEL_TRY_ASSIGN(const std::string_view text, text_of(one.text, one.size, "text"));
    if (one.role > SATCHEL_ASSISTANT)
      return Error{ErrorKind::invalid, "PARAM",
                   "A message has role " + std::to_string(one.role) +
                       ", which is none of SATCHEL_SYSTEM, SATCHEL_USER and SATCHEL_ASSISTANT."};
    out.push_back({.role = static_cast<Role>(one.role), .text = text});
    at += given->struct_size;
  }
  return out;
}

}  // namespace

Result<runtime::Sampling> sampling_of(const satchel_sampling* given) {
  SATCHEL_TRY_ASSIGN(const satchel_sampling in, taken(given));
  runtime::Sampling out;
  out.temperature = in.temperature;
  out.top_k = in.top_k == SATCHEL_OFF ? 0 : or_default<std::size_t>(in.top_k, out.top_k);
  out.top_p = or_default(in.top_p, out.top_p);
  out.min_p = in.min_p < 0 ? 0 : or_default(in.min_p, out.min_p);
  out.repetition_penalty = or_default(in.repetition_penalty, out.repetition_penalty);
  out.seed = in.seed;
  out.n_tokens_max = in.n_tokens_max == SATCHEL_OFF
                         ? 0
                         : or_default<std::size_t>(in.n_tokens_max, out.n_tokens_max);
  out.ends_loops = in.allow_loops == 0;
  SATCHEL_TRY(check(out));
  SATCHEL_TRY_ASSIGN(out.grammar, grammar_of(in));
  return out;
}

Result<GenerateReport> ask(SessionCall& call, std::optional<std::string_view> message,
                           const runtime::Sampling& sampling) {
  runtime::ChatService& service = call.service();
  return message ? service.send(call.chat(), *message, sampling, call.call())
                 : service.answer(call.chat(), sampling, call.call());
}

satchel_result result_of(const GenerateReport& report, Session& session) {
  const std::scoped_lock lock(session.mutex);
  const std::optional<runtime::ResumeReport>& resumed = session.told.resumed;
  const std::size_t n_read = report.read.n_tokens + (resumed ? resumed->n_reread : 0);
  const std::size_t n_new = std::min(n_read, report.n_prompt);
  const auto reread = session.told.with_resumed(report.read.reread);
  return {.struct_size = sizeof(satchel_result),
          .finish = static_cast<int32_t>(report.finish),
          .answer_id = report.answer.value,
          .n_prompt = report.n_prompt,
          .n_reused = report.n_prompt - n_new,
          .n_prefilled = n_new,
          .n_thought = report.thoughts.n_tokens,
          .n_answer = report.n_tokens,
          .prefill_ms = report.read.ms,
          .decode_ms = report.ms,
          .resume_outcome = resumed ? outcome_of(*resumed) : SATCHEL_RESUME_RESTORED,
          .n_parts = static_cast<uint32_t>(report.episodes.n_all),
          .n_parts_unread = static_cast<uint32_t>(report.episodes.n_unread),
          .reserved = 0,
          .n_recomputed = n_reread(reread),
          .reason = reason_of(main_reason(reread))};
}

}  // namespace satchel::c_api

using namespace satchel;
using namespace satchel::c_api;

int32_t satchel_append(satchel_session* session, const satchel_message* messages, size_t n,
                       int64_t* ids, satchel_error** err) {
  return guard(err, [&]() -> Result<void> {
    if (ids != nullptr) std::fill_n(ids, n, 0);
    SATCHEL_TRY_ASSIGN(const std::vector<MessageText> added, messages_of(messages, n));
    SATCHEL_TRY_ASSIGN(const auto call, SessionCall::begin(session));
    SATCHEL_TRY_ASSIGN(const std::vector<runtime::MessageId> made,
                       call->service().append(call->chat(), added, call->call()));
    for (std::size_t i = 0; ids != nullptr && i < made.size(); ++i) ids[i] = made[i].value;
    return {};
  });
}

int32_t satchel_append_document(satchel_session* session, const char* title, const char* text,
                                size_t size, const satchel_listener* listener,
                                satchel_prefill_report* report, satchel_error** err) {
  return guard(err, [&]() -> Result<void> {
    SATCHEL_TRY(clear(report));
    SATCHEL_TRY_ASSIGN(const std::string_view given, text_of(text, size, "text"));
    SATCHEL_TRY_ASSIGN(const auto call, SessionCall::begin(session, listener));
    SATCHEL_TRY_ASSIGN(
        const runtime::ReadReport read,
        call->service().attach(
            call->chat(), {.title = title == nullptr ? "" : title, .text = given}, call->call()));
    give_prefilled(report, read, *call);
    return {};
  });
}

int32_t satchel_prefill(satchel_session* session, const satchel_listener* listener,
                        satchel_prefill_report* report, satchel_error** err) {
  return guard(err, [&]() -> Result<void> {
    SATCHEL_TRY(clear(report));
    SATCHEL_TRY_ASSIGN(const auto call, SessionCall::begin(session, listener));
    SATCHEL_TRY_ASSIGN(const runtime::ReadReport read,
                       call->service().read(call->chat(), call->call()));
    give_prefilled(report, read, *call);
    return {};
  });
}

int32_t satchel_send(satchel_session* session, const char* message, size_t size,
                     const satchel_sampling* sampling, const satchel_listener* listener,
                     satchel_result* result, satchel_buffer** text, satchel_error** err) {
  return guard(err, [&]() -> Result<void> {
    return answered(session, {sampling, listener, result, text},
                    [&](SessionCall& call, const runtime::Sampling& how) -> Result<GenerateReport> {
                      SATCHEL_TRY_ASSIGN(const std::string_view said,
                                         text_of(message, size, "message"));
                      return ask(call, said, how);
                    });
  });
}

int32_t satchel_answer(satchel_session* session, const satchel_sampling* sampling,
                       const satchel_listener* listener, satchel_result* result,
                       satchel_buffer** text, satchel_error** err) {
  return guard(err, [&]() -> Result<void> {
    return answered(session, {sampling, listener, result, text},
                    [&](SessionCall& call, const runtime::Sampling& how) {
                      return ask(call, std::nullopt, how);
                    });
  });
}

int32_t satchel_ask_all(satchel_session* session, const char* question, size_t size,
                        const satchel_sampling* sampling, const satchel_listener* listener,
                        satchel_result* result, satchel_buffer** text, satchel_error** err) {
  return guard(err, [&]() -> Result<void> {
    return answered(session, {sampling, listener, result, text},
                    [&](SessionCall& call, const runtime::Sampling& how) -> Result<GenerateReport> {
                      SATCHEL_TRY_ASSIGN(const std::string_view said,
                                         text_of(question, size, "question"));
                      return call.service().ask_all(call.chat(), said, how, call.call());
                    });
  });
}

int32_t satchel_use_cpu(satchel_session* session, const satchel_sampling* sampling,
                        const satchel_listener* listener, satchel_resume_report* report,
                        satchel_result* result, satchel_buffer** text, satchel_error** err) {
  return guard(err, [&]() -> Result<void> {
    if (text != nullptr) *text = nullptr;
    SATCHEL_TRY(clear(report));
    SATCHEL_TRY(clear(result));
    SATCHEL_TRY_ASSIGN(const runtime::Sampling how, sampling_of(sampling));
    SATCHEL_TRY_ASSIGN(const auto call, SessionCall::begin(session, listener));
    SATCHEL_TRY_ASSIGN(runtime::CpuMove move,
                       call->service().use_cpu(call->chat(), how, call->call()));
    if (move.resumed) give_resume(report, *move.resumed);
    if (move.answer) give(result, result_of(*move.answer, call->session()));
    give_text(text, move.answer ? std::move(move.answer->text) : std::string());
    return {};
  });
}

int32_t satchel_truncate(satchel_session* session, int64_t last, satchel_error** err) {
  return guard(err, [&]() -> Result<void> {
    SATCHEL_TRY_ASSIGN(const auto call, SessionCall::begin(session));
    return call->service().truncate(call->chat(), {last}, call->call());
  });
}

int32_t satchel_versions(satchel_session* session, int64_t message, int64_t* ids, size_t capacity,
                         size_t* n, satchel_error** err) {
  return guard(err, [&]() -> Result<void> {
    if (n != nullptr) *n = 0;
    SATCHEL_TRY_ASSIGN(const auto call, SessionCall::begin(session));
    SATCHEL_TRY_ASSIGN(const std::vector<runtime::MessageVersions> all,
                       call->service().versions(call->chat(), call->call()));
    const auto found = std::ranges::find(all, runtime::MessageId{message},
                                         &runtime::MessageVersions::message);
    std::vector<runtime::MessageId> versions = {{message}};
    if (found != all.end()) versions = found->versions;
    for (std::size_t i = 0; ids != nullptr && i < std::min(capacity, versions.size()); ++i)
      ids[i] = versions[i].value;
    if (n != nullptr) *n = versions.size();
    return {};
  });
}

int32_t satchel_switch_to(satchel_session* session, int64_t version, satchel_error** err) {
  return guard(err, [&]() -> Result<void> {
    SATCHEL_TRY_ASSIGN(const auto call, SessionCall::begin(session));
    return call->service().switch_to(call->chat(), {version}, call->call());
  });
}

int32_t satchel_pin(satchel_session* session, int64_t message, satchel_error** err) {
  return guard(err, [&]() -> Result<void> {
    SATCHEL_TRY_ASSIGN(const auto call, SessionCall::begin(session));
    return call->service().pin(call->chat(), {message}, call->call());
  });
}

int32_t satchel_forget(satchel_session* session, int64_t message, satchel_error** err) {
  return guard(err, [&]() -> Result<void> {
    SATCHEL_TRY_ASSIGN(const auto call, SessionCall::begin(session));
    return call->service().forget(call->chat(), {message}, call->call());
  });
}
