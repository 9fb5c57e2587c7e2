#include "ui/widgets/conversation/held_overlay.h"

#include <QTextCursor>
#include <QTextDocument>
#include <algorithm>

namespace satchel::ui {
namespace {

using kvcache::HeldToken;

constexpr float kFaintest = 0.3f;   // of text that is gone: can still be read
constexpr float kMostTint = 0.42f;  // behind what is held exactly
constexpr float kExactBits = 16;

float precisionOf(const HeldToken& held) {
  return std::clamp(held.bits / kExactBits, 0.0f, 1.0f);
}

float opacityOf(const HeldToken& held) {
  return kFaintest + (1 - kFaintest) * std::clamp(held.share, 0.0f, 1.0f);
}

HeldColors colorsOf(const HeldStretch& stretch, HeldLook look, const Theme& theme) {
  if (look != HeldLook::Heat) return heldColors(stretch.held, look, theme);
  const float heat = heatOf(stretch.attended);
  return {.text = {}, .behind = heat > 0 ? heatColor(heat, kMostHeat, theme) : QColor()};
}

}  // namespace

QColor heatColor(float heat, float most, const Theme& theme) {
  QColor color = theme.heat;
  color.setAlphaF(most * std::clamp(heat, 0.0f, 1.0f));
  return color;
}

HeldColors heldColors(const HeldToken& held, HeldLook look, const Theme& theme) {
  HeldColors colors;
  if (look == HeldLook::Fade || held.share == 0) {
    colors.text = theme.text;
    colors.text.setAlphaF(opacityOf(held));
  }
  if (look == HeldLook::Precision && held.share > 0) {
    colors.behind = theme.accent;
    colors.behind.setAlphaF(kMostTint * precisionOf(held));
  }
  return colors;
}

QColor heldColor(const HeldToken& held, HeldLook look, const Theme& theme) {
  QColor color = theme.accent;
  color.setAlphaF(held.share == 0          ? 0.0f
                  : look == HeldLook::Fade ? std::clamp(held.share, 0.08f, 1.0f)
                                           : std::max(0.12f, precisionOf(held)));
  return color;
}

bool HeldOverlay::take(HeldLook look, const QList<HeldStretch>& stretches) {
  if (look == m_look && stretches == m_stretches) return false;
  m_look = look;
  m_stretches = stretches;
  clear();
  return true;
}

void HeldOverlay::placePart(const MarkdownStretch& source, const QString& shown) {
  m_parts.push_back(heldShown(m_stretches, source, shown));
}

void HeldOverlay::addTo(QAbstractTextDocumentLayout::PaintContext& context, int part,
                        QTextDocument* document, const Theme& theme) const {
  if (isOff() || part >= int(m_parts.size())) return;
  const int last = document->characterCount() - 1;
  // Only what is seen: each selection costs the drawing of every line a look at it.
  const QAbstractTextDocumentLayout* layout = document->documentLayout();
  const int begin = std::max(0, layout->hitTest(context.clip.topLeft(), Qt::FuzzyHit));
  const int end = std::max(begin, layout->hitTest(context.clip.bottomRight(), Qt::FuzzyHit));
  const QList<HeldStretch>& stretches = m_parts[std::size_t(part)];
  auto next = std::ranges::upper_bound(stretches, begin, {}, &HeldStretch::end);
  for (; next != stretches.end() && next->begin <= end; ++next) {
    const HeldStretch& stretch = *next;
    const HeldColors colors = colorsOf(stretch, m_look, theme);
    if (!colors.text.isValid() && !colors.behind.isValid()) continue;
    QAbstractTextDocumentLayout::Selection selection;
    selection.cursor = QTextCursor(document);
    selection.cursor.setPosition(std::min(int(stretch.begin), last));
    selection.cursor.setPosition(std::min(int(stretch.end), last), QTextCursor::KeepAnchor);
    if (colors.text.isValid()) selection.format.setForeground(colors.text);
    if (colors.behind.isValid()) selection.format.setBackground(colors.behind);
    context.selections.append(selection);
  }
}

QString HeldOverlay::textAt(int part, int character) const {
  if (isOff() || part >= int(m_parts.size())) return {};
  const QList<HeldStretch>& stretches = m_parts[std::size_t(part)];
  const auto found = std::ranges::upper_bound(stretches, character, {}, &HeldStretch::end);
  if (found == stretches.end() || found->begin > character) return {};
  return m_look == HeldLook::Heat ? attendedText(found->attended) : heldText(found->held);
}

}  // namespace satchel::ui
