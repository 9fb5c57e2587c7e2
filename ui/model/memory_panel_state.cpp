#include "ui/model/memory_panel_state.h"

#include <algorithm>
#include <cmath>

#include "runtime/governor/presets.h"
#include "ui/model/format.h"

namespace satchel::ui {
namespace {

QString textOf(std::string_view text) {
  return QString::fromUtf8(text.data(), qsizetype(text.size()));
}

// Two significant digits: 312,345,678 -> 310,000,000.
quint64 rounded(double bytes) {
  const double step = std::pow(10, std::floor(std::log10(std::max(bytes, 10.0))) - 1);
  return quint64(std::llround(bytes / step) * qint64(std::llround(step)));
}

QString explain(const runtime::Preset& preset) {
  if (preset.recipe == "full")
    return MemoryPanelState::tr("Keeps every token exactly, in 16 bits.");
  if (preset.keep >= 1) return MemoryPanelState::tr("Keeps every token, the older ones in 4 bits.");
  return MemoryPanelState::tr(
             "Keeps the %1 that the model needs most to repeat what it read, in 4 bits; packs when "
             "idle.")
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
  line.title = textOf(preset.title);
  line.explanation = explain(preset);
  line.fidelity = fidelityOfPreset(line.preset);
  line.isMeasured = m_measured.contains(line.preset);
  for (const Preview& preview : m_previews.presets) {
    if (preview.preset != line.preset) continue;
    const auto fits = qint64(preview.estimate.n_tokens_fit);
    line.fitsContext = m_model.contextTokens > 0 && fits >= m_model.contextTokens;
    line.tokens = tr("%1 tokens fit").arg(formatCount(fits));
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
  quint64 least = m_previews.defaultBytes / 16;
  for (const Preview& preview : m_previews.presets)
    least = std::min(least, quint64(preview.estimate.pool_bytes));
  return std::max<quint64>(rounded(double(least)), 1'000'000);
}

quint64 MemoryPanelState::budgetMax() const {
  const quint64 free = m_previews.freeBytes;
  const quint64 most = std::max<quint64>(free, m_previews.defaultBytes);
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
  const QString free = formatBytes(m_previews.freeBytes);
  return m_model.onGpu ? tr("%1 free on the GPU").arg(free)
                       : tr("%1 free on this machine").arg(free);
}

QString MemoryPanelState::previewText() const {
  if (!hasPreviews()) return tr("Open a model to see what fits.");
  const PresetLine line = presetLine(m_presetIndex);
  QString text = line.explanation;
  for (const Preview& preview : m_previews.presets) {
    if (preview.preset != line.preset) continue;
    const runtime::Estimate& estimate = preview.estimate;
    const QString whole = formatCount(m_model.contextTokens);
    text += u' ';
    if (!line.fitsContext)
      text +=
          tr("%1 tokens fit into the limit, estimated; the whole context needs a limit of %2.")
              .arg(formatCount(qint64(estimate.n_tokens_fit)), formatBytesUp(estimate.pool_bytes));
    else if (line.preset == QStringLiteral("full"))
      text += tr("The whole context of %1 tokens takes %2, estimated.").arg(whole, line.bytes);
    else
      text += tr("The whole context of %1 tokens takes %2 once packed, estimated.")
                  .arg(whole, line.bytes);
  }
  return text;
}

bool MemoryPanelState::differsFromChat() const {
  if (!m_hasChat || !hasPreviews()) return false;
  const ChatSettings next = nextSettings();
  const auto bytes = [this](quint64 budget) {
    return budget != 0 ? budget : m_previews.defaultBytes;
  };
  return next.preset != m_chat.settings.preset ||
         bytes(next.budgetBytes) != bytes(m_chat.settings.budgetBytes);
}

void MemoryPanelState::wishChanged() {
  m_plan.setWish(nextSettings(), differsFromChat());
  Q_EMIT changed();
}

void MemoryPanelState::setBudgetBytes(quint64 bytes) {
  if (bytes == m_next.budgetBytes) return;
  m_next.budgetBytes = bytes;
  Q_EMIT previewWanted(bytes);
  wishChanged();
}

void MemoryPanelState::setPresetIndex(int index) {
  index = std::clamp(index, 0, presetCount() - 1);
  if (index == m_presetIndex) return;
  m_presetIndex = index;
  wishChanged();
}

void MemoryPanelState::setModel(const ModelInfo& model) {
  m_model = model;
  m_next.budgetBytes = 0;
  m_previews = {};
  m_measured.clear();
  m_hasChat = false;
  m_cache = {};
  if (!model.path.isEmpty()) Q_EMIT previewWanted(0);
  wishChanged();
}

void MemoryPanelState::setPreviews(const Previews& previews) {
  // An answer to an older question: the slider has moved on.
  if (m_next.budgetBytes != 0 && previews.budgetBytes != m_next.budgetBytes) return;
  m_previews = previews;
  m_next.budgetBytes = previews.budgetBytes;
  wishChanged();
}

}  // namespace satchel::ui
