// MemoryPanelState on the open chat; memory_panel_state.cpp has what the sliders say.
#include <algorithm>
#include <cmath>

#include "kvcache/state/per_1000_tokens.h"
#include "runtime/chat/episodes_text.h"
#include "ui/model/engine_values.h"
#include "ui/model/fidelity_text.h"
#include "ui/model/format.h"
#include "ui/model/memory_panel_state.h"

namespace satchel::ui {

QString MemoryPanelState::recipeText() const {
  if (!m_hasChat) return {};
  QString title = m_chat.preset;
  for (int i = 0; i < presetCount(); ++i)
    if (presetLine(i).preset == title) title = presetLine(i).title;
  if (m_recipe.isEmpty() || m_recipe == m_chat.preset) return title;
  return m_keep < 1 ? tr("%1 · recipe %2, %3 kept").arg(title, m_recipe, formatPercent(m_keep))
                    : tr("%1 · recipe %2").arg(title, m_recipe);
}

double MemoryPanelState::packingShare() const {
  const kvcache::CacheStats& stats = m_cache.stats;
  if (stats.n_pending > 0)
    return std::clamp(double(stats.n_pending_probed) / double(stats.n_pending), 0.0, 1.0);
  const runtime::PartsRead all = runtime::of_all(m_cache.documents);
  return all.n_all > 0 ? double(all.n_read) / double(all.n_all) : 1;
}

bool MemoryPanelState::hasUnread() const {
  const runtime::PartsRead all = runtime::of_all(m_cache.documents);
  return all.n_read < all.n_all;
}

QString MemoryPanelState::packingText() const {
  if (isLearning())
    return tr("profiling the model… %1")
        .arg(formatPercent(std::round(m_cache.learning_share * 100) / 100));
  if (m_cache.stats.n_pending == 0 && !hasUnread()) return {};
  if (m_cache.stats.n_pending == 0) {
    const runtime::PartsRead all = runtime::of_all(m_cache.documents);
    return (isPacking() ? tr("reading… %1 of %2 parts") : tr("%1 of %2 parts read"))
        .arg(formatCount(qint64(all.n_read)), formatCount(qint64(all.n_all)));
  }
  const QString share = formatPercent(std::round(packingShare() * 100) / 100);
  return isPacking() ? tr("compressing… %1").arg(share) : tr("paused at %1").arg(share);
}

QString MemoryPanelState::bytesText() const {
  const kvcache::CacheStats& stats = m_cache.stats;
  if (isNothingRead()) return tr("Nothing read yet");
  return tr("Cache: %1 for %2 tokens, %3 per\u00a0"
            "1,000 (%4 in fp16)")
      .arg(formatBytes(stats.bytes), formatCount(qint64(stats.n_tokens)),
           formatBytes(kvcache::bytes_per_1000_tokens(stats.bytes, stats.n_tokens)),
           formatBytes(stats.fp16_bytes));
}

QString MemoryPanelState::bodyText() const {
  const kvcache::CacheStats& stats = m_cache.stats;
  if (stats.body_fp16_bytes == 0) return {};
  const double saved = 1 - double(stats.body_bytes) / double(stats.body_fp16_bytes);
  if (saved <= 0) return {};
  return tr("Older text: %1, %2 less than in fp16")
      .arg(formatBytes(stats.body_bytes), formatPercent(saved));
}

QString MemoryPanelState::arenaText() const {
  const kvcache::CacheStats& stats = m_cache.stats;
  if (stats.arena_bytes == 0) return {};
  return tr("%1 of %2").arg(formatBytes(stats.arena_used_bytes), formatBytes(stats.arena_bytes));
}

QString MemoryPanelState::fidelityText() const {
  if (m_cache.fidelity.n_tokens > 0) return fidelityFigures(m_cache.fidelity);
  if (m_cache.stats.body_fp16_bytes > 0 && m_recipe == QStringLiteral("full"))
    return tr("Exact: nothing is compressed");
  if (m_cache.stats.body_bytes < m_cache.stats.body_fp16_bytes) return tr("Not measured yet");
  return tr("Nothing compressed yet");
}

QString MemoryPanelState::fidelityAge() const {
  const runtime::Fidelity& fidelity = m_cache.fidelity;
  if (fidelity.n_tokens == 0) return {};
  QString text = measuredText(fidelity.measured_at, fidelity.measured_ms, m_clock->wall_ms());
  const runtime::SinceMeasured since = runtime::since_measured(fidelity, m_ledger.entries());
  if (since.was_moved) text = tr("%1; text corrected or moved since then").arg(text);
  if (since.was_compressed) text = tr("%1; compressed further since then").arg(text);
  return text;
}

QString MemoryPanelState::attentionText() const {
  return m_cache.fidelity.n_tokens > 0 ? ui::attentionText(m_cache.fidelity) : QString();
}

QString MemoryPanelState::recallText() const {
  if (m_recall.n_asked == 0) return {};
  return tr("%1, %2").arg(
      ui::recallText(m_recall),
      measuredText(m_recall.measured_at, m_recall.measured_ms, m_clock->wall_ms()));
}

QString MemoryPanelState::ledgerText() const {
  const auto steps = m_ledger.entries().size();
  return steps == 1 ? tr("History: 1 step…")
                    : tr("History: %1 steps…").arg(formatCount(qint64(steps)));
}

QString MemoryPanelState::contextText() const {
  const std::size_t context = m_cache.n_context > 0 ? m_cache.n_context : m_model.n_context;
  if (context == 0) return {};
  if (isBeyond())
    return tr("%1 of %2 tokens in reach")
        .arg(formatCount(qint64(m_cache.n_in_context)), formatCount(qint64(m_cache.n_tokens)));
  return tr("%1 of %2 tokens")
      .arg(formatCount(qint64(m_cache.n_tokens)), formatCount(qint64(context)));
}

QString MemoryPanelState::contextTip() const {
  const QString context =
      formatCount(qint64(m_cache.n_context > 0 ? m_cache.n_context : m_model.n_context));
  if (isBeyond())
    return tr("The model sees %1 tokens of this chat now: the newest turns and the older parts "
              "that the last question needed. The other %2 are kept, and are looked up when a "
              "question needs them.")
        .arg(formatCount(qint64(m_cache.n_in_context)),
             formatCount(qint64(m_cache.n_tokens - m_cache.n_in_context)));
  if (m_cache.goes_on)
    return tr("The model sees all of this chat. It sees at most %1 tokens at once: as the chat "
              "grows, older turns stay as parts that are looked up when a question needs them.")
        .arg(context);
  if (m_cache.n_tokens > m_cache.n_context && m_cache.n_context > 0)
    return tr("This chat is longer than the %1 tokens that the model sees at once: nothing more "
              "can "
              "be sent, unless it goes on with its older turns as parts.")
        .arg(context);
  return tr("The model sees all of this chat, at most %1 tokens at once. When they are used up, "
            "you are asked whether the chat goes on.")
      .arg(context);
}

double MemoryPanelState::contextShare() const {
  if (isBeyond()) return 1 - contextOlderShare();
  return m_cache.n_context > 0
             ? std::clamp(double(m_cache.n_in_context) / double(m_cache.n_context), 0.0, 1.0)
             : 0;
}

double MemoryPanelState::contextOlderShare() const {
  return isBeyond() ? 1 - double(m_cache.n_in_context) / double(m_cache.n_tokens) : 0;
}

double MemoryPanelState::budgetShare() const {
  const kvcache::CacheStats& stats = m_cache.stats;
  return stats.arena_bytes > 0
             ? std::clamp(double(stats.arena_used_bytes) / double(stats.arena_bytes), 0.0, 1.0)
             : 0;
}

void MemoryPanelState::takeSettings(const runtime::MemorySettings& memory) {
  m_chat = settingsOf(memory);
  m_recipe = textOf(memory.recipe.name());
  m_keep = memory.recipe.keep();
}

void MemoryPanelState::setChat(const runtime::MemorySettings& memory) {
  m_hasChat = true;
  takeSettings(memory);
  m_cache = {};
  m_ledger.setEntries({}, int(m_model.n_lanes));
  m_recall = {};
  m_openedMs = m_clock->wall_ms();
  m_isLedgerKnown = false;
  m_measuredBefore = 0;
  m_plan.setChatBytes(0);
  showRequested();
}

void MemoryPanelState::setCache(const runtime::ChatMemory& cache) {
  m_cache = cache;
  if (cache.fidelity.n_tokens > 0 && cache.fidelity.measured_ms > m_measuredBefore)
    m_measured.insert(m_chat.preset, cache.fidelity);
  // While text waits to be packed its bytes change with every piece: the plan would be worked out
  // again and again, and hold the packing up.
  if (cache.stats.n_pending == 0 && !cache.is_packing) m_plan.setChatBytes(cache.stats.bytes);
  Q_EMIT changed();
}

void MemoryPanelState::setLedger(const runtime::LedgerChanged& ledger) {
  std::vector<runtime::LedgerEntry> steps, before;
  for (const runtime::LedgerEntry& step : stepsSince(m_ledger.entries(), ledger.entries)) {
    const bool isNew = m_isLedgerKnown || step.at_ms >= m_openedMs;
    if (step.cause == runtime::LedgerCause::limit) (isNew ? steps : before).push_back(step);
  }
  m_isLedgerKnown = true;
  m_recall = ledger.recall;
  m_ledger.setEntries(ledger.entries, int(m_model.n_lanes));
  const quint64 limit = m_chat.budgetBytes != 0 ? m_chat.budgetBytes : m_previews.default_bytes;
  if (!before.empty()) Q_EMIT reclaimedBefore(before);
  if (!steps.empty()) Q_EMIT reclaimed(steps, limit);
  Q_EMIT changed();
}

void MemoryPanelState::setApplied(const runtime::MemorySettings& memory) {
  takeSettings(memory);
  m_measuredBefore = m_cache.fidelity.measured_ms;
  showRequested();
}

void MemoryPanelState::endPacking() {
  m_cache.is_packing = false;
  m_cache.learning_share = -1;
  Q_EMIT changed();
}

}  // namespace satchel::ui
