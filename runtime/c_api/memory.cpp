// What a session holds, what that costs, and other settings.
#include "runtime/c_api/handles.h"

namespace satchel::c_api {
namespace {

Result<kvcache::Recipe> own_recipe(SessionCall& call) {
  runtime::ChatService& service = call.service();
  std::optional<kvcache::Recipe> recipe;
  SATCHEL_TRY(service.look([&]() -> Result<void> {
    const runtime::OpenChat* chat = service.chat(call.chat());
    if (chat == nullptr) return runtime::no_chat();
    recipe = chat->memory().recipe;
    return {};
  }));
  return *recipe;
}

Result<runtime::MemoryRequest> request_of(const satchel_memory_request& given, SessionCall& call) {
  runtime::MemoryRequest request{.limit_bytes = given.limit_bytes};
  if (given.recipe != nullptr) {
    SATCHEL_TRY_ASSIGN(request.recipe, recipe_of(given.recipe, given.keep));
  } else if (given.keep != 0) {
    SATCHEL_TRY_ASSIGN(const kvcache::Recipe own, own_recipe(call));
    SATCHEL_TRY_ASSIGN(request.recipe, own.with_keep(given.keep));
  }
  return request;
}

void give_change(satchel_memory_change* out, const runtime::MemoryChange& change) {
  give(out, {.struct_size = 0,
             .fits = change.fits,
             .bytes_before = change.bytes_before,
             .bytes_after = change.bytes_after,
             .n_lowered = change.n_lowered,
             .n_evicted = change.n_evicted,
             .n_recomputed = change.n_reread,
             .least_limit_bytes = change.limit_least,
             .reason = reason_of(main_reason(change.reread))});
}

Result<Told> told_of(satchel_session* session) {
  if (session == nullptr) return missing("session");
  const std::scoped_lock lock(session->shared->mutex);
  return session->shared->told;
}

}  // namespace
}  // namespace satchel::c_api

using namespace satchel;
using namespace satchel::c_api;

int32_t satchel_cache_stats(satchel_session* session, satchel_stats* stats, satchel_error** err) {
  return guard(err, [&]() -> Result<void> {
    if (stats == nullptr) return missing("stats");
    SATCHEL_TRY(clear(stats));
    SATCHEL_TRY_ASSIGN(const Told told, told_of(session));
    const runtime::ChatMemory& memory = told.memory;
    give(stats, {.struct_size = 0,
                 .n_tiers = static_cast<uint32_t>(memory.stats.tiers.size()),
                 .n_tokens = memory.n_tokens,
                 .n_prefilled = memory.n_read,
                 .n_context = memory.n_context,
                 .n_in_reach = memory.n_in_context,
                 .bytes = memory.stats.bytes,
                 .fp16_bytes = memory.stats.fp16_bytes,
                 .n_retained = memory.stats.n_kept,
                 .n_evicted = memory.stats.n_evicted,
                 .n_resting = memory.stats.n_resting,
                 .limit_bytes = memory.stats.arena_bytes,
                 .used_bytes = memory.stats.arena_used_bytes,
                 .peak_bytes = memory.stats.arena_peak_bytes,
                 .n_unread = memory.n_unread});
    return {};
  });
}

int32_t satchel_fidelity_stats(satchel_session* session, satchel_fidelity* fidelity,
                               satchel_error** err) {
  return guard(err, [&]() -> Result<void> {
    if (fidelity == nullptr) return missing("fidelity");
    SATCHEL_TRY(clear(fidelity));
    SATCHEL_TRY_ASSIGN(const Told told, told_of(session));
    const runtime::Fidelity& measured = told.memory.fidelity;
    satchel_fidelity out = {};
    out.is_measured = measured.n_tokens > 0;
    if (out.is_measured != 0) {
      out.agreement = measured.agreement;
      out.kl = measured.kl;
      out.attention_retained = measured.attention_kept;
      out.n_compared = measured.n_tokens;
      out.measured_at = measured.measured_at;
      out.measured_ms = measured.measured_ms;
    }
    out.n_facts_asked = static_cast<uint32_t>(told.recall.n_asked);
    out.n_facts_recalled = static_cast<uint32_t>(told.recall.n_said);
    give(fidelity, out);
    return {};
  });
}

int32_t satchel_memory_change_preview(satchel_session* session,
                                      const satchel_memory_request* request,
                                      satchel_memory_change* change, satchel_error** err) {
  return guard(err, [&]() -> Result<void> {
    SATCHEL_TRY(clear(change));
    SATCHEL_TRY_ASSIGN(const satchel_memory_request given, taken(request));
    SATCHEL_TRY_ASSIGN(const auto call, SessionCall::begin(session));
    SATCHEL_TRY_ASSIGN(const runtime::MemoryRequest wanted, request_of(given, *call));
    SATCHEL_TRY_ASSIGN(const runtime::MemoryChange found,
                       call->service().preview_memory(call->chat(), wanted, call->call()));
    give_change(change, found);
    return {};
  });
}

int32_t satchel_memory_change_apply(satchel_session* session, const satchel_memory_request* request,
                                    const satchel_listener* listener, satchel_memory_change* change,
                                    satchel_error** err) {
  return guard(err, [&]() -> Result<void> {
    SATCHEL_TRY(clear(change));
    SATCHEL_TRY_ASSIGN(const satchel_memory_request given, taken(request));
    SATCHEL_TRY_ASSIGN(const auto call, SessionCall::begin(session, listener));
    SATCHEL_TRY_ASSIGN(const runtime::MemoryRequest wanted, request_of(given, *call));
    SATCHEL_TRY_ASSIGN(const runtime::MemoryChange done,
                       call->service().change_memory(call->chat(), wanted, call->call()));
    give_change(change, done);
    return {};
  });
}

int32_t satchel_idle(satchel_session* session, const satchel_listener* listener, int32_t* finished,
                     satchel_error** err) {
  return guard(err, [&]() -> Result<void> {
    if (finished != nullptr) *finished = 0;
    SATCHEL_TRY_ASSIGN(const auto call, SessionCall::begin(session, listener));
    SATCHEL_TRY_ASSIGN(const runtime::IdleReport done,
                       call->service().idle(call->chat(), call->call()));
    if (finished != nullptr) *finished = done.finished;
    return {};
  });
}
