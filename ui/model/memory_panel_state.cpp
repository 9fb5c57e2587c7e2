#include "ui/model/memory_panel_state.h"

#include <QCoreApplication>
#include <algorithm>
#include <cmath>
#include <iterator>

#include "runtime/limits/presets.h"
#include "ui/model/engine_values.h"
#include "ui/model/format.h"

namespace satchel::ui {
namespace {

// Two significant digits: 312,345,678 -> 310,000,000.
quint64 rounded(double bytes) {
  const double step = std::pow(10, std::floor(std::log10(std::max(bytes, 10.0))) - 1);
  return quint64(std::llround(bytes / step) * qint64(std::llround(step)));
}

// As people read it; in what is typed a preset has its name.
QString titleOf(const runtime::Preset& preset) {
  constexpr const char* kTitles[] = {
      QT_TRANSLATE_NOOP("Preset", "Full"), QT_TRANSLATE_NOOP("Preset", "Balanced"),
      QT_TRANSLATE_NOOP("Preset", "Compact"), QT_TRANSLATE_NOOP("Preset", "Extreme")};
  const auto known = std::ranges::find(kTitles, preset.title,
                                       [](const char* title) { return std::string_view(title); });
  return known == std::end(kTitles) ? textOf(preset.title)
                                    : QCoreApplication::translate("Preset", *known);
}

QString explain(const runtime::Preset& preset) {
  if (preset.recipe == "full")
    return MemoryPanelState::tr("Keeps every token exactly, in 16 bits.");
  if (preset.keep >= 1) return MemoryPanelState::tr("Keeps every token, older ones in 4 bits.");
  return MemoryPanelState::tr(
             "Keeps the %1 of tokens that matter most for repeating the text, in 4 bits.")
      .arg(formatPercent(preset.keep));
}

}  // namespace

MemoryPanelState::MemoryPanelState(const Clock* clock, QObject* parent)
    : QObject(parent), m_clock(clock) {
  Q_ASSERT(clock);
  connect(&m_plan, &ChatPlan::changed, this, &MemoryPanelState::changed);
}

ChatSettings MemoryPanelState::nextSettings() const {
  ChatSettings settings = m_next;
  const auto presets = runtime::presets();
  if (m_presetIndex < int(presets.size()))
    settings.preset = textOf(presets[std::size_t(m_presetIndex)].name);
  return settings;
}

int MemoryPanelState::presetCount() const {
  return int(runtime::presets().size());
}

PresetLine MemoryPanelState::presetLine(int index) const {
  const auto presets = runtime::presets();
  if (index < 0 || index >= int(presets.size())) return {};
  const runtime::Preset& preset = presets[std::size_t(index)];
  PresetLine line;
  line.preset = textOf(preset.name);
  line.title = titleOf(preset);
  line.explanation = explain(preset);
  line.fidelity = fidelityOfPreset(line.preset);
  line.isMeasured = m_measured.contains(line.preset);
  for (const runtime::PresetEstimate& preview : m_previews.presets) {
    if (preview.preset != preset.name) continue;
    const std::size_t fits = preview.estimate.n_tokens_fit;
    line.fitsContext = m_model.n_context > 0 && fits >= m_model.n_context;
    line.tokens = tr("%1 tokens fit").arg(formatCount(qint64(fits)));
    line.bytes = formatBytes(preview.estimate.expected_bytes);
  }
  return line;
}

QString MemoryPanelState::fidelityOfPreset(const QString& preset) const {
  const auto presets = runtime::presets();
  for (const runtime::Preset& known : presets)
    if (textOf(known.name) == preset && known.recipe == "full") return tr("exact");
  const auto found = m_measured.constFind(preset);
  if (found == m_measured.constEnd()) return tr("not measured");
  return tr("%1 agreement, measured %2")
      .arg(formatPercent(found->agreement), formatAge(m_clock->wall_ms() - found->measured_ms));
}

quint64 MemoryPanelState::budgetMin() const {
  // What the smallest preset needs for its whole context, or a sixteenth of the default: below
  // that a chat of this model hardly begins.
  quint64 least = m_previews.default_bytes / 16;
  for (const runtime::PresetEstimate& preview : m_previews.presets)
    least = std::min(least, quint64(preview.estimate.arena_bytes));
  return std::max<quint64>(rounded(double(least)), 1'000'000);
}

quint64 MemoryPanelState::budgetMax() const {
  const quint64 free = m_previews.free_bytes;
  const quint64 most = std::max<quint64>(free, m_previews.default_bytes);
  return std::max(most, budgetMin() + 1);
}

double MemoryPanelState::budgetPosition() const {
  const double low = std::log(double(budgetMin())), high = std::log(double(budgetMax()));
  const double here = std::log(double(std::max<quint64>(budgetBytes(), 1)));
  return std::clamp((here - low) / (high - low), 0.0, 1.0);
}

quint64 MemoryPanelState::budgetAt(double position) const {
  if (position >= 1) return budgetMax();
  const double low = std::log(double(budgetMin())), high = std::log(double(budgetMax()));
  const quint64 bytes = rounded(std::exp(low + std::clamp(position, 0.0, 1.0) * (high - low)));
  return std::clamp(bytes, budgetMin(), budgetMax());
}

QString MemoryPanelState::budgetText() const {
  return hasPreviews() ? formatBytes(budgetBytes()) : QStringLiteral("–");
}

QString MemoryPanelState::machineText() const {
  if (!hasPreviews()) return {};
  const QString free = formatBytes(m_previews.free_bytes);
  return m_model.on_gpu ? tr("%1 free on the GPU").arg(free)
                        : tr("%1 free on this machine").arg(free);
}

QString MemoryPanelState::previewText() const {
  if (!hasPreviews()) return tr("Open a model to see what fits.");
  const PresetLine line = presetLine(m_presetIndex);
  QString text = line.explanation;
  for (const runtime::PresetEstimate& preview : m_previews.presets) {
    if (textOf(preview.preset) != line.preset) continue;
    const runtime::Estimate& estimate = preview.estimate;
    const QString whole = formatCount(qint64(m_model.n_context));
    text += u' ';
    if (!line.fitsContext)
      text +=
          tr("%1 tokens fit into the limit (estimated). The full context needs a limit of %2.")
              .arg(formatCount(qint64(estimate.n_tokens_fit)), formatBytesUp(estimate.arena_bytes));
    else if (line.preset == QStringLiteral("full"))
      text += tr("The full context of %1 tokens takes %2 (estimated).").arg(whole, line.bytes);
    else
      text += tr("The full context of %1 tokens takes %2 once compressed (estimated).")
                  .arg(whole, line.bytes);
  }
  return text;
}

bool MemoryPanelState::differsFromChat() const {
  if (!m_hasChat || !hasPreviews()) return false;
  const ChatSettings next = nextSettings();
  const auto bytes = [this](quint64 budget) {
    return budget != 0 ? budget : m_previews.default_bytes;
  };
  return next.preset != m_chat.preset || bytes(next.budgetBytes) != bytes(m_chat.budgetBytes);
}

void MemoryPanelState::showRequested() {
  m_plan.setRequested(nextSettings(), differsFromChat());
  Q_EMIT changed();
}

void MemoryPanelState::propose(Proposal proposal) {
  if (!m_hasChat || !hasPreviews()) return;
  const QString preset = proposal == Proposal::Exactly ? QStringLiteral("full") : m_chat.preset;
  const quint64 now = m_chat.budgetBytes != 0 ? m_chat.budgetBytes : m_previews.default_bytes;
  quint64 wanted = 0;
  for (const runtime::PresetEstimate& preview : m_previews.presets)
    if (textOf(preview.preset) == preset) wanted = preview.estimate.arena_bytes;
  if (wanted <= now && proposal == Proposal::HigherLimit) wanted = 2 * now;
  for (int i = 0; i < presetCount(); ++i)
    if (presetLine(i).preset == preset) setPresetIndex(i);
  setBudgetBytes(std::max(now, std::min(wanted, budgetMax())));
}

void MemoryPanelState::setBudgetBytes(quint64 bytes) {
  if (bytes == m_next.budgetBytes) return;
  m_next.budgetBytes = bytes;
  Q_EMIT previewWanted(bytes);
  showRequested();
}

void MemoryPanelState::setPresetIndex(int index) {
  index = std::clamp(index, 0, presetCount() - 1);
  if (index == m_presetIndex) return;
  m_presetIndex = index;
  showRequested();
}

void MemoryPanelState::setModel(const runtime::ModelFacts& model) {
  m_model = model;
  m_next.budgetBytes = 0;
  m_previews = {};
  m_measured.clear();
  m_hasChat = false;
  m_cache = {};
  if (!model.path.empty()) Q_EMIT previewWanted(0);
  showRequested();
}

void MemoryPanelState::setPreviews(const runtime::PresetEstimates& previews) {
  // An answer to an older question: the slider has moved on.
  if (m_next.budgetBytes != 0 && previews.limit_bytes != m_next.budgetBytes) return;
  m_previews = previews;
  m_next.budgetBytes = previews.limit_bytes;
  showRequested();
}

}  // namespace satchel::ui
