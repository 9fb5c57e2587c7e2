// What a chat holds: told, saved, packed when there is time, changed.
#include <cstdlib>

#include "runtime/chat/service_call.h"

namespace satchel::runtime {
namespace {

constexpr std::int64_t kDayMs = 86'400'000;

std::size_t n_unread(const Session& session) {
  std::size_t n = session.tokens().size() - session.n_read();
  for (const Episode& episode : session.episodes())
    if (episode.is_unread) n += episode.n_tokens;
  return n;
}

ChatMemory memory_of(const Session& session) {
  return {.stats = session.stats(),
          .fidelity = session.fidelity(),
          .n_read = session.n_read(),
          .n_unread = n_unread(session),
          .n_tokens = session.tokens().size(),
          .n_context = session.n_context(),
          .n_in_context = session.n_context() - session.n_context_left(),
          .goes_on = session.beyond() == BeyondContext::episodes,
          .n_placed = session.n_placed(),
          .documents = session.parts_read()};
}

// A store that is open to read has told why. Each chat that is opened would say it again.
bool was_told(const ChatStore& store, const Error& error) {
  return error.code == "READ_ONLY" && !store.notices().empty();
}

}  // namespace

void ChatService::tell_cache(const OpenChat& chat, const Running& running) {
  if (chat.session() == nullptr || !running.call.sink) return;
  running.tell(memory_of(*chat.session()));
  const auto entries = chat.session()->ledger();
  running.tell(LedgerChanged{{entries.begin(), entries.end()}, chat.session()->recall()});
}

void ChatService::save_now(OpenChat& chat, Running& running) {
  save_now(chat, running, running.call.stop);
}

void ChatService::save_now(OpenChat& chat, Running& running, const std::stop_token& stop) {
  if (!chat.is_saved()) return;
  (void)store_->records();  // the store looks whether they can be written by now
  const Result<kvcache::SaveReport> saved = chat.session()->save(stop);
  chat.owes_save = !saved.ok() && saved.error().kind == ErrorKind::cancelled;
  if (saved.ok()) {
    running.tell(*saved);
  } else if (!chat.owes_save && !was_told(*store_, saved.error())) {
    tell_error(running, ChatTask::save, saved.error());
  }
}

Result<void> ChatService::save(ChatHandle handle, const ChatCall& call) {
  return run<void>(ChatTask::save, handle, call, [&](Running& running) -> Result<void> {
    SATCHEL_TRY_ASSIGN(OpenChat* const chat, find(handle));
    if (chat->session() != nullptr) save_now(*chat, running);
    return chat->owes_save ? Result<void>(call_stopped()) : Result<void>();
  });
}

Result<PresetEstimates> ChatService::estimate_presets(std::size_t limit_bytes,
                                                      const ChatCall& call) {
  return run<PresetEstimates>(
      ChatTask::estimate_presets, {}, call, [&](Running& running) -> Result<PresetEstimates> {
        if (engine() == nullptr) return no_model();
        SATCHEL_TRY_ASSIGN(PresetEstimates estimates,
                           runtime::estimate_presets(*engine(), limit_bytes));
        running.tell(estimates);
        return estimates;
      });
}

Result<MemoryChange> ChatService::preview_memory(ChatHandle handle, const MemoryRequest& request,
                                                 const ChatCall& call) {
  return run<MemoryChange>(
      ChatTask::preview_memory, handle, call, [&](Running& running) -> Result<MemoryChange> {
        SATCHEL_TRY_ASSIGN(OpenChat* const chat, find(handle));
        if (call.stop.stop_requested()) return call_stopped();
        SATCHEL_TRY_ASSIGN(const MemoryRequest suited, suited_request(request));
        SATCHEL_TRY_ASSIGN(const MemoryChange change, chat->preview(suited, call.stop));
        running.tell(MemoryPreviewed{with_request(chat->memory(), suited), change});
        return change;
      });
}

Result<MemoryChange> ChatService::change_memory(ChatHandle handle, const MemoryRequest& request,
                                                const ChatCall& call) {
  return run<MemoryChange>(
      ChatTask::change_memory, handle, call, [&](Running& running) -> Result<MemoryChange> {
        SATCHEL_TRY_ASSIGN(OpenChat* const chat, find_resumed(running));
        SATCHEL_TRY_ASSIGN(const MemoryRequest suited, suited_request(request));
        return change_now(*chat, suited, running);
      });
}

Result<MemoryRequest> ChatService::suited_request(MemoryRequest request) {
  if (request.recipe && engine() != nullptr) {
    SATCHEL_TRY_ASSIGN(request.recipe, engine()->suited(*request.recipe));
  }
  return request;
}

Result<MemoryChange> ChatService::change_now(OpenChat& chat, const MemoryRequest& request,
                                             Running& running) {
  const MemorySettings before = chat.memory();
  const Result<MemoryChange> change = chat.change(request, running.call.stop, progress_of(running));
  if (!change.ok() && chat.memory() == before) {
    tell_cache(chat, running);  // it may have come down all the same
    return change;
  }
  chat.has_new_setup = chat.is_saved();
  check(running, ChatTask::keep_settings, chat.keep_new_setup(*host()));
  running.tell(MemoryChanged{chat.memory(), change.ok() ? *change : MemoryChange{}, change.ok()});
  tell_cache(chat, running);
  if (chat.session() != nullptr) save_now(chat, running);
  return change;
}

Result<IdleReport> ChatService::idle(ChatHandle handle, const ChatCall& call) {
  const std::stop_source makes_way;
  const std::stop_callback relay(call.stop,
                                 [&makes_way] { std::stop_source(makes_way).request_stop(); });
  const auto permit =
      caught<CallQueue::Permit>([&] { return queue_.wait_idle(call.stop, makes_way); });
  if (!permit.ok() && permit.error().kind == ErrorKind::cancelled) return IdleReport{};
  if (!permit.ok()) return permit.error();
  Running running{ChatTask::idle, handle, call};
  return guarded<IdleReport>(running, [&](Running& its) -> Result<IdleReport> {
    const auto found = chats_.find(handle);
    if (found == chats_.end() || found->second.session() == nullptr)
      return IdleReport{.finished = true};
    return idle_now(found->second, makes_way.get_token(), its);
  });
}

Result<IdleReport> ChatService::idle_now(OpenChat& chat, const std::stop_token& stop,
                                         Running& running) {
  Session& session = *chat.session();
  if (chat.owes_save) save_now(chat, running, stop);
  if (chat.owes_save) return IdleReport{};
  if (!session.has_idle_work()) {
    thin_unused(stop);
    return IdleReport{.finished = true, .recall = session.recall()};
  }
  if (stop.stop_requested()) return IdleReport{};
  const ProgressFn told = progress_of(running);
  const auto tell = [&](const Progress& progress) {
    ChatMemory memory = memory_of(session);
    if (progress.phase == Phase::profile)
      memory.learning_share =
          static_cast<double>(progress.done) / static_cast<double>(progress.total);
    else
      memory.is_packing = true;
    running.tell(memory);
    told(progress);
  };
  tell({Phase::pack, 0, 0});
  IdleReport all;
  do {  // a document's part at a time
    SATCHEL_TRY_ASSIGN(const IdleReport report, idle_piece(chat, stop, tell, running));
    for (const kvcache::Reread& one : report.reread) kvcache::add(all.reread, one);
    all = {.finished = report.finished && !chat.owes_save,
           .n_read = all.n_read + report.n_read,
           .n_evicted = all.n_evicted + report.n_evicted,
           .n_lowered = all.n_lowered + report.n_lowered,
           .reread = std::move(all.reread),
           .fidelity = report.fidelity.n_tokens > 0 ? report.fidelity : all.fidelity,
           .recall = report.recall};
    if (report.n_read == 0) break;
  } while (!all.finished && !stop.stop_requested());
  return all;
}

bool ChatService::has_idle_work(ChatHandle handle) const {
  const auto found = chats_.find(handle);
  if (found == chats_.end() || found->second.session() == nullptr) return false;
  return owes_thinning() || found->second.owes_save || found->second.session()->has_idle_work();
}

// Once for each opening of the store, then once a day: chats age while a program stays open. A
// clock that was set back by a day counts as well.
bool ChatService::owes_thinning() const {
  if (store_ == nullptr) return false;
  return !thinned_ms_ || std::abs(clock_.wall_ms() - *thinned_ms_) >= kDayMs;
}

// What stays as large as it is costs disk only: an error is not told, and a day later it is tried
// again.
void ChatService::thin_unused(const std::stop_token& stop) {
  if (!owes_thinning()) return;
  std::vector<ChatId> open;
  for (const auto& [handle, chat] : chats_)
    if (chat.is_saved()) open.push_back(chat.id());
  const auto thinned = store_->thin_unused(open, stop);
  const bool is_stopped = !thinned.ok() && thinned.error().kind == ErrorKind::cancelled;
  if (!is_stopped) thinned_ms_ = clock_.wall_ms();
}

Result<IdleReport> ChatService::idle_piece(OpenChat& chat, const std::stop_token& stop,
                                           const ProgressFn& progress, Running& running) {
  Result<IdleReport> report = chat.session()->idle(stop, progress);
  tell_cache(chat, running);
  if (report.ok()) save_now(chat, running, stop);
  return report;
}

}  // namespace satchel::runtime
