#include "ui/widgets/conversation/find_overlay.h"

#include <QTextBlock>
#include <QTextCursor>
#include <QTextDocument>
#include <QTextLayout>
#include <algorithm>

namespace satchel::ui {

bool FindOverlay::take(const FindLook& look) {
  const bool isSame = m_isPlaced && look.pattern == m_look.pattern;
  m_look = look;
  if (isSame) return false;
  m_places.clear();
  m_isPlaced = false;
  if (!look.isOn()) return false;
  m_parts = 0;
  m_isPlaced = true;
  return true;
}

void FindOverlay::placePart(const QString& shown) {
  const int part = m_parts++;
  for (auto it = m_look.pattern.globalMatch(shown); it.hasNext();) {
    const QRegularExpressionMatch match = it.next();
    m_places.push_back({part, int(match.capturedStart()), int(match.capturedEnd())});
  }
}

// An address that is not shown is counted by the finder: then the last one shown stands for it.
int FindOverlay::currentPlace() const {
  return std::min(m_look.current, int(m_places.size()) - 1);
}

void FindOverlay::addTo(QAbstractTextDocumentLayout::PaintContext& context, int part,
                        QTextDocument* document, const Theme& theme) const {
  if (!m_look.isOn()) return;
  const int last = document->characterCount() - 1;
  for (int i = 0; i < int(m_places.size()); ++i) {
    const Place& place = m_places[std::size_t(i)];
    if (place.part != part) continue;
    QAbstractTextDocumentLayout::Selection selection;
    selection.cursor = QTextCursor(document);
    selection.cursor.setPosition(std::min(place.begin, last));
    selection.cursor.setPosition(std::min(place.end, last), QTextCursor::KeepAnchor);
    selection.format.setBackground(i == currentPlace() ? theme.found : theme.foundSoft);
    selection.format.setForeground(i == currentPlace() ? theme.onFound : theme.text);
    context.selections.append(selection);
  }
}

std::optional<std::pair<int, int>> FindOverlay::current() const {
  const int at = currentPlace();
  if (at < 0) return std::nullopt;
  const Place& place = m_places[std::size_t(at)];
  return std::pair(place.part, place.begin);
}

QRectF lineAt(const QTextDocument& document, int character) {
  const QTextBlock block = document.findBlock(character);
  if (!block.isValid()) return {};
  const QRectF all = document.documentLayout()->blockBoundingRect(block);
  const QTextLine line = block.layout()->lineForTextPosition(character - block.position());
  return line.isValid() ? line.rect().translated(all.topLeft()) : all;
}

}  // namespace satchel::ui
