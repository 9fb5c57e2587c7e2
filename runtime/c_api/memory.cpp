// What a session holds, what that costs, and other settings.
#include "runtime/c_api/handles.h"

namespace satchel::c_api {
namespace {

Result<runtime::MemoryRequest> request_of(std::uint64_t limit_bytes, const char* recipe) {
  runtime::MemoryRequest request{.limit_bytes = limit_bytes};
  if (recipe != nullptr) {
    SATCHEL_TRY_ASSIGN(request.recipe, recipe_of(recipe));
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
             .n_reread = change.n_reread,
             .least_limit_bytes = change.limit_least});
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
                 .n_read = memory.n_read,
                 .n_context = memory.n_context,
                 .n_in_reach = memory.n_in_context,
                 .bytes = memory.stats.bytes,
                 .fp16_bytes = memory.stats.fp16_bytes,
                 .n_kept = memory.stats.n_kept,
                 .n_evicted = memory.stats.n_evicted,
                 .n_resting = memory.stats.n_resting,
                 .limit_bytes = memory.stats.arena_bytes,
                 .used_bytes = memory.stats.arena_used_bytes,
                 .peak_bytes = memory.stats.arena_peak_bytes});
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
      out.attention_kept = measured.attention_kept;
      out.n_compared = measured.n_tokens;
      out.measured_at = measured.measured_at;
      out.measured_ms = measured.measured_ms;
    }
    out.n_facts_asked = static_cast<uint32_t>(told.recall.n_asked);
    out.n_facts_said = static_cast<uint32_t>(told.recall.n_said);
    give(fidelity, out);
    return {};
  });
}

int32_t satchel_memory_change_preview(satchel_session* session, uint64_t limit_bytes,
                                      const char* recipe, satchel_memory_change* change,
                                      satchel_error** err) {
  return guard(err, [&]() -> Result<void> {
    SATCHEL_TRY(clear(change));
    SATCHEL_TRY_ASSIGN(const runtime::MemoryRequest request, request_of(limit_bytes, recipe));
    SATCHEL_TRY_ASSIGN(const auto call, SessionCall::begin(session));
    SATCHEL_TRY_ASSIGN(const runtime::MemoryChange found,
                       call->service().preview_memory(call->chat(), request, call->call()));
    give_change(change, found);
    return {};
  });
}

int32_t satchel_memory_change_apply(satchel_session* session, uint64_t limit_bytes,
                                    const char* recipe, satchel_progress_fn progress, void* user,
                                    satchel_memory_change* change, satchel_error** err) {
  return guard(err, [&]() -> Result<void> {
    SATCHEL_TRY(clear(change));
    SATCHEL_TRY_ASSIGN(const runtime::MemoryRequest request, request_of(limit_bytes, recipe));
    SATCHEL_TRY_ASSIGN(const auto call, SessionCall::begin(session, progress, user));
    SATCHEL_TRY_ASSIGN(const runtime::MemoryChange done,
                       call->service().change_memory(call->chat(), request, call->call()));
    give_change(change, done);
    return {};
  });
}

int32_t satchel_idle(satchel_session* session, satchel_progress_fn progress, void* user,
                     int32_t* finished, satchel_error** err) {
  return guard(err, [&]() -> Result<void> {
    if (finished != nullptr) *finished = 0;
    SATCHEL_TRY_ASSIGN(const auto call, SessionCall::begin(session, progress, user));
    SATCHEL_TRY_ASSIGN(const runtime::IdleReport done,
                       call->service().idle(call->chat(), call->call()));
    if (finished != nullptr) *finished = done.finished;
    return {};
  });
}
