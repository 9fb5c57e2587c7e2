#include "ui/widgets/conversation/held_overlay.h"

#include <QPainter>
#include <QTextBlock>
#include <QTextCursor>
#include <QTextDocument>
#include <QTextLayout>
#include <QTextTable>
#include <algorithm>
#include <utility>

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

// Characters of a document.
struct Range {
  int begin = 0, end = 0;
  bool isEmpty() const { return begin >= end; }
  Range movedBy(int by) const { return {begin + by, end + by}; }
};
Range both(const Range& a, const Range& b) {
  return {std::max(a.begin, b.begin), std::min(a.end, b.end)};
}

// What of a range is in none of these.
std::vector<Range> without(const Range& range,
                           const QList<QAbstractTextDocumentLayout::Selection>& selections) {
  std::vector<Range> rest = {range};
  for (const auto& selection : selections) {
    const Range taken =
        both(range, {selection.cursor.selectionStart(), selection.cursor.selectionEnd()});
    if (taken.isEmpty()) continue;
    std::vector<Range> now;
    for (const Range& one : rest) {
      const Range before{one.begin, std::min(one.end, taken.begin)};
      const Range after{std::max(one.begin, taken.end), one.end};
      if (!before.isEmpty()) now.push_back(before);
      if (!after.isEmpty()) now.push_back(after);
    }
    rest = std::move(now);
  }
  return rest;
}

// What characters stand on.
struct Paper {
  Range characters;
  QColor color;
};

QColor colorOr(const QBrush& brush, const QColor& none) {
  return brush.style() == Qt::NoBrush ? none : brush.color();
}

// A block in a quote and a cell of a table may have a background, and code in a line has.
QList<Paper> papersOf(const QTextBlock& block, QColor color) {
  if (const QTextTable* table = QTextCursor(block).currentTable())
    color = colorOr(table->cellAt(block.position()).format().background(), color);
  color = colorOr(block.blockFormat().background(), color);
  QList<Paper> papers;
  for (auto it = block.begin(); !it.atEnd(); ++it) {
    const QTextFragment fragment = it.fragment();
    const QColor own = colorOr(fragment.charFormat().background(), color);
    const int end = fragment.position() + fragment.length();
    if (!papers.isEmpty() && papers.back().color == own)
      papers.back().characters.end = end;
    else
      papers.append(Paper{{fragment.position(), end}, own});
  }
  return papers;
}

bool isRightToLeft(QChar character) {
  return character.direction() == QChar::DirR || character.direction() == QChar::DirAL;
}

// Where characters of a line stand in it, from left to right each; of text in two directions that
// is several places. text: of the line's block, in which the characters are counted
std::vector<std::pair<qreal, qreal>> placesOf(const QTextLine& line, const Range& characters,
                                              QStringView text) {
  const auto [begin, end] = characters;
  if (std::ranges::none_of(text.sliced(begin, end - begin), isRightToLeft))
    return {{line.cursorToX(begin), line.cursorToX(end)}};
  std::vector<std::pair<qreal, qreal>> places;
  for (int at = begin; at < end; ++at)
    places.push_back(std::minmax({line.cursorToX(at), line.cursorToX(at, QTextLine::Trailing)}));
  return places;
}

// What is drawn over words, and how.
struct HeldLayer {
  QColor color;  // invalid: nothing
  QPainter::CompositionMode mode = QPainter::CompositionMode_SourceOver;
};

// So that the words stand there in `colors`.
HeldLayer layerOf(const HeldColors& colors, QColor paper, const Theme& theme) {
  if (colors.text.isValid()) {
    paper.setAlphaF(1 - float(colors.text.alphaF()));
    return {.color = paper.alpha() > 0 ? paper : QColor()};
  }
  if (!colors.behind.isValid()) return {};
  // What makes of the paper what the colour behind the words would have made of it.
  const float alpha = float(colors.behind.alphaF());
  const auto factor = [&](float own, float behind) {
    const float mixed = (1 - alpha) * own + alpha * behind;
    return theme.isDark ? std::clamp(1 - (1 - mixed) / std::max(1 - own, 0.01f), 0.0f, 1.0f)
                        : std::clamp(mixed / std::max(own, 0.01f), 0.0f, 1.0f);
  };
  return {
      .color = QColor::fromRgbF(factor(float(paper.redF()), float(colors.behind.redF())),
                                factor(float(paper.greenF()), float(colors.behind.greenF())),
                                factor(float(paper.blueF()), float(colors.behind.blueF()))),
      .mode = theme.isDark ? QPainter::CompositionMode_Screen : QPainter::CompositionMode_Multiply};
}

HeldColors colorsOf(const HeldStretch& stretch, HeldLook look, const Theme& theme) {
  if (look != HeldLook::Heat) return heldColors(stretch.held, look, theme);
  const float heat = heatOf(stretch.attended);
  return {.text = {}, .behind = heat > 0 ? heatColor(heat, kMostHeat, theme) : QColor()};
}

std::vector<QTextBlock> blocksIn(const QTextDocument& document, const QRectF& clip) {
  const QAbstractTextDocumentLayout& layout = *document.documentLayout();
  const int begin = std::max(0, layout.hitTest(clip.topLeft(), Qt::FuzzyHit));
  const int end = std::max(begin, layout.hitTest(clip.bottomRight(), Qt::FuzzyHit));
  std::vector<QTextBlock> blocks;
  for (QTextBlock block = document.findBlock(begin); block.isValid() && block.position() <= end;
       block = block.next())
    blocks.push_back(block);
  return blocks;
}

// What is drawn on, and what.
struct Canvas {
  QPainter& painter;
  const QAbstractTextDocumentLayout::PaintContext& context;
  HeldLook look;
  const Theme& theme;
  const QList<HeldStretch>& stretches;
};
struct BlockInSight {
  const QTextBlock& block;
  QPointF origin;
  QString text;
  QList<Paper> papers;
};

void drawWords(const Canvas& canvas, const BlockInSight& block, const QTextLine& line,
               const Range& words, const HeldColors& colors) {
  const double top = block.origin.y() + line.y();
  const double end = line.naturalTextRect().right();  // before the space that the line ends with
  for (const Paper& paper : block.papers) {
    const Range on = both(words, paper.characters);
    const HeldLayer layer = layerOf(colors, paper.color, canvas.theme);
    if (on.isEmpty() || !layer.color.isValid()) continue;
    canvas.painter.setCompositionMode(layer.mode);
    for (const Range& range : without(on, canvas.context.selections))
      for (const auto& [left, right] :
           placesOf(line, range.movedBy(-block.block.position()), block.text))
        canvas.painter.fillRect(QRectF(block.origin.x() + left, top,
                                       std::max(0.0, std::min(right, end) - left), line.height()),
                                layer.color);
  }
}

void drawLine(const Canvas& canvas, const BlockInSight& block, const QTextLine& line) {
  const Range all =
      Range{line.textStart(), line.textStart() + line.textLength()}.movedBy(block.block.position());
  auto next = std::ranges::upper_bound(canvas.stretches, all.begin, {}, &HeldStretch::end);
  for (; next != canvas.stretches.end() && next->begin < all.end; ++next)
    drawWords(canvas, block, line, both(all, {int(next->begin), int(next->end)}),
              colorsOf(*next, canvas.look, canvas.theme));
}

// Lines out of sight cost a look at their place.
void drawBlock(const Canvas& canvas, const BlockInSight& block) {
  const QTextLayout& lines = *block.block.layout();
  const double top = canvas.context.clip.top() - block.origin.y();
  const double bottom = canvas.context.clip.bottom() - block.origin.y();
  for (int i = 0; i < lines.lineCount(); ++i) {
    const QTextLine line = lines.lineAt(i);
    if (line.y() > bottom) break;
    if (line.y() + line.height() >= top) drawLine(canvas, block, line);
  }
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

void HeldOverlay::keepShapes(int part, const QTextDocument& document, const QRectF& clip) const {
  if (!isShown(part)) return;
  for (const QTextBlock& block : blocksIn(document, clip)) block.layout()->setCacheEnabled(true);
}

void HeldOverlay::draw(QPainter& painter, const QAbstractTextDocumentLayout::PaintContext& context,
                       int part, const QTextDocument& document, const QColor& paper,
                       const Theme& theme) const {
  if (!isShown(part)) return;
  const QAbstractTextDocumentLayout& layout = *document.documentLayout();
  painter.save();
  painter.setOpacity(1);
  painter.setRenderHint(QPainter::Antialiasing, false);  // neighbours share an edge
  const Canvas canvas{painter, context, m_look, theme, m_parts[std::size_t(part)]};
  for (const QTextBlock& block : blocksIn(document, context.clip))
    drawBlock(canvas, {block, layout.blockBoundingRect(block).topLeft(), block.text(),
                       papersOf(block, paper)});
  painter.restore();
}

QString HeldOverlay::textAt(int part, int character) const {
  if (isOff() || part >= int(m_parts.size())) return {};
  const QList<HeldStretch>& stretches = m_parts[std::size_t(part)];
  const auto found = std::ranges::upper_bound(stretches, character, {}, &HeldStretch::end);
  if (found == stretches.end() || found->begin > character) return {};
  return m_look == HeldLook::Heat ? attendedText(found->attended) : heldText(found->held);
}

}  // namespace satchel::ui
