// What the open chat holds: told, kept, packed when there is time, changed.
#include "ui/model/engine_errors.h"
#include "ui/model/engine_facts.h"
#include "ui/model/engine_worker.h"

namespace satchel::ui {

void EngineWorker::save() {
  tell(Request::Save, m_open->session()->save(), &EngineWorker::saved);
}

void EngineWorker::keepMeasured(const runtime::ReadReport& report) {
  check(Request::Save, m_measured.keep(m_engine->fingerprint(), report));
}

void EngineWorker::tellCache() {
  if (!m_open || m_open->session() == nullptr) return;
  Q_EMIT cacheChanged(m_open->cacheState());
  Q_EMIT ledgerChanged(m_open->ledger());
}

void EngineWorker::idle(std::stop_token stop) {
  if (stop.stop_requested() || !m_open || m_open->session() == nullptr) return;
  if (!m_open->session()->has_idle_work()) return;
  const auto tellWork = [this](const runtime::Progress& progress) {
    CacheState state = m_open->cacheState();
    if (progress.phase == runtime::Phase::profile)
      state.learningShare = double(progress.done) / double(progress.total);
    else
      state.isPacking = true;
    Q_EMIT cacheChanged(state);
  };
  tellWork({runtime::Phase::pack, 0, 0});
  const Result<runtime::IdleReport> report = m_open->session()->idle(stop, tellWork);
  tellCache();
  if (!report.ok()) {
    tellError(Request::Idle, report.error());
    return;
  }
  save();
}

void EngineWorker::preview(quint64 budgetBytes) {
  const Result<Previews> previews =
      m_engine ? makePreviews(*m_engine, budgetBytes) : Result<Previews>(noModel());
  tell(Request::Preview, previews, &EngineWorker::previewed);
}

void EngineWorker::previewChat(const ChatSettings& settings, std::stop_token stop) {
  tell(Request::PreviewChat, planFor(settings, stop), &EngineWorker::chatPreviewed);
}

Result<ChatPreview> EngineWorker::planFor(const ChatSettings& settings, std::stop_token stop) {
  if (!m_open) return noChat();
  if (stop.stop_requested()) return stopped();
  SATCHEL_TRY_ASSIGN(const runtime::MemoryChange change, m_open->preview(settings, stop));
  return ChatPreview{settings, change};
}

void EngineWorker::applyToChat(const ChatSettings& settings, std::stop_token stop) {
  check(Request::ApplyToChat, apply(settings, stop));
}

Result<void> EngineWorker::apply(const ChatSettings& settings, std::stop_token stop) {
  if (!m_engine || !m_open) return noChat();
  // A saved chat whose memory did not open before is tried again.
  if (m_open->isSaved() && m_open->session() == nullptr) SATCHEL_TRY(resumeOpen(stop));
  const ChatSettings before = m_open->settings();
  const Result<runtime::MemoryChange> change = m_open->apply(settings, stop, progressFn());
  if (!change.ok() && m_open->settings() == before) {
    tellCache();  // it may have come down all the same
    return change.error();
  }
  const runtime::MemoryChange done = change.ok() ? *change : runtime::MemoryChange{};
  check(Request::Save, keepSettings());
  const OpenedChat opened = m_open->opened();
  Q_EMIT chatApplied({opened.settings, opened.recipe, opened.keep, done, change.ok()});
  tellCache();
  if (m_open->session() != nullptr) save();
  if (!change.ok()) return change.error();
  return {};
}

Result<void> EngineWorker::keepSettings() {
  if (!m_open->isSaved()) return {};
  return m_chats.library().set_setup(m_open->id(), m_open->setup(*m_engine, m_modelPath));
}

}  // namespace satchel::ui
