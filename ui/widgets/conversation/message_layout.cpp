#include "ui/widgets/conversation/message_layout.h"

#include <QAbstractTextDocumentLayout>
#include <QCoreApplication>
#include <QFontMetricsF>
#include <QPainter>
#include <QTextBlock>
#include <QTextCursor>
#include <QTextDocument>
#include <QTextDocumentFragment>
#include <algorithm>
#include <cmath>

#include "ui/model/code_spans.h"
#include "ui/model/engine_values.h"
#include "ui/model/format.h"
#include "ui/model/latex_text.h"
#include "ui/model/parts_text.h"
#include "ui/widgets/conversation/code_highlighter.h"
#include "ui/widgets/conversation/document_style.h"
#include "ui/widgets/icon_button.h"

namespace satchel::ui {
namespace {

constexpr double kColumnMax = 740;     // a line that is still easy to read
constexpr double kMargin = 10;         // with the place of a scroll bar on both sides: kGapHuge
constexpr double kBubbleShare = 0.84;  // of the column
constexpr double kPadX = 16, kPadY = 11;
constexpr double kTopGap = 18, kBottomGap = 10;  // around a message
constexpr double kPartGap = 12;
constexpr double kMarkWidth = 3, kMarkGap = 5;  // of a mark in the margin
constexpr double kCodeHead = 32;
constexpr double kForgottenOpacity = 0.55;   // still read easily
constexpr qsizetype kShortCharacters = 900;  // a user's text longer than that is shown in part
constexpr int kShortLines = 14;

double columnWidth(int width) {
  return std::min<double>(width - 2 * kMargin, kColumnMax);
}
double columnLeft(int width) {
  return (width - columnWidth(width)) / 2;
}

// The beginning of a long text, cut at the end of a line or word.
QString shortened(const QString& text, qsizetype characters, int lines) {
  qsizetype end = 0;
  for (int line = 0; line < lines && end >= 0; ++line) {
    const qsizetype next = text.indexOf(u'\n', end);
    if (next < 0 || next > characters) {
      end = std::min(characters, text.size());
      break;
    }
    end = next + 1;
  }
  if (end >= text.size()) return text;
  const qsizetype blank = text.lastIndexOf(u' ', end);
  if (blank > end - 80 && text[end - 1] != u'\n') end = blank;
  return text.left(end).trimmed() + QStringLiteral(" …");
}

// Files end with the end of a line: it would show as an empty one.
QString withoutEnd(QString text) {
  while (!text.isEmpty() && text.back().isSpace()) text.chop(1);
  return text;
}

QString footnoteText(const Message& content) {
  QString text = content.footnote;
  if (content.state == runtime::MessageState::interrupted)
    text += (text.isEmpty() ? QString() : QStringLiteral(" · ")) +
            MessageLayout::tr("Stopped. The partial answer is saved.");
  return content.partsAll > 0 && !text.isEmpty() ? text + QStringLiteral(" ▾") : text;
}

}  // namespace

MessageLayout::MessageLayout(int width, const QFont& font, const Theme& theme)
    : m_width(width),
      m_font(font),
      m_theme(theme),
      m_thoughts(font),
      m_tools(font),
      m_packed(font) {}

MessageLayout::~MessageLayout() = default;

void MessageLayout::setContent(const Message& content) {
  if (content == m_content && m_height > 0) return;
  const bool hasOtherQuotes = content.quotes != m_content.quotes;
  if (content.role != m_content.role || hasOtherQuotes) m_parts.clear();
  m_content = content;
  m_held.clear();
  m_find.clear();
  m_tools.setContent(content);
  m_packed.setContent(content.packed);
  if (isUser()) {
    const bool isDocument = !content.documentTitle.isEmpty();
    const QString text = isDocument ? withoutEnd(content.text) : content.text;
    const QString shown = content.isExpanded ? text
                                             : shortened(text, isDocument ? 240 : kShortCharacters,
                                                         isDocument ? 4 : kShortLines);
    m_isShortened = shown.size() != text.size();
    MessagePart part;
    part.text = shown;
    setParts({part});
  } else {
    m_isShortened = false;
    setParts(markdownParts(content.text));
    if (hasOtherQuotes) linkQuotes();
    m_thoughts.setContent(content.thoughts, content.thoughtNote, content.showsThoughts);
  }
  place();
}

// A user's message has one part, which may be shown up to some word only.
void MessageLayout::forEachSource(const std::function<void(Part& part, qsizetype begin)>& see) {
  qsizetype at = 0;
  for (Part& part : m_parts) {
    const qsizetype begin = isUser() ? 0 : m_content.text.indexOf(part.source.text, at);
    if (begin < 0) continue;
    at = begin + part.source.text.size();
    see(part, begin);
  }
}

// They are known of whole answers only, whose parts stay as they are.
void MessageLayout::linkQuotes() {
  forEachSource([this](Part& part, qsizetype begin) {
    if (part.source.kind != MessagePart::Prose) return;
    ui::linkQuotes(
        *part.document,
        quotesShown(m_content.quotes, {part.source.text, begin}, part.document->toPlainText()),
        m_theme);
  });
}

void MessageLayout::setHeld(HeldLook look, const QList<HeldStretch>& stretches) {
  if (!m_held.take(look, stretches) && m_held.isPlaced()) return;
  std::vector<MarkdownStretch> sources(m_parts.size());
  forEachSource([&](Part& part, qsizetype begin) {
    sources[std::size_t(&part - m_parts.data())] = {part.source.text, begin};
  });
  for (std::size_t i = 0; i < m_parts.size(); ++i)
    m_held.placePart(sources[i], m_parts[i].document->toPlainText());
}

void MessageLayout::setFind(const FindLook& look) {
  if (!m_find.take(look)) return;
  for (const Part& part : m_parts) m_find.placePart(part.document->toPlainText());
}

QRectF MessageLayout::foundLine() const {
  const auto place = m_find.current();
  if (!place || place->first >= int(m_parts.size())) return {};
  const Part& part = m_parts[std::size_t(place->first)];
  return lineAt(*part.document, place->second).translated(part.text.topLeft());
}

// Keeps the parts that stand; what streams changes only the last one.
void MessageLayout::setParts(const QList<MessagePart>& parts) {
  const auto wanted = std::size_t(parts.size());
  if (m_parts.size() > wanted) m_parts.resize(wanted);
  for (std::size_t i = 0; i < wanted; ++i) {
    const MessagePart& source = parts[qsizetype(i)];
    if (i == m_parts.size()) {
      m_parts.push_back(makePart(source));
    } else if (m_parts[i].source != source && !grow(m_parts[i], source)) {
      m_parts[i] = makePart(source);
    }
  }
}

// Plain text that only got longer is added at the end: what stands keeps its lines.
bool MessageLayout::grow(Part& part, const MessagePart& source) {
  const bool plain = isUser() || source.kind == MessagePart::Code;
  if (!plain || part.source.kind != source.kind || !source.text.startsWith(part.source.text))
    return false;
  QTextCursor cursor(part.document.get());
  cursor.movePosition(QTextCursor::End);
  cursor.insertText(source.text.sliced(part.source.text.size()));
  part.source = source;
  return true;
}

MessageLayout::Part MessageLayout::makePart(const MessagePart& source) {
  ++m_partsLaidOut;
  Part part;
  part.source = source;
  part.document = std::make_unique<ClosedDocument>();
  if (source.kind == MessagePart::Code || isUser()) {
    const CodeLanguage* language =
        source.kind == MessagePart::Code ? codeLanguage(source.language) : nullptr;
    if (language != nullptr) new CodeHighlighter(*language, m_theme, part.document.get());
    part.document->setPlainText(source.text);
    if (source.kind == MessagePart::Code) {
      prepareCode(*part.document, m_font);
    } else {
      preparePlain(*part.document, m_font);
    }
  } else {
    setMarkdown(*part.document, withLatexAsCode(source.text), m_font, m_theme);
  }
  return part;
}

void MessageLayout::place() {
  m_bubble = m_expand = QRectF();
  if (isUser()) {
    placeUser();
  } else {
    placeAnswer();
  }
}

void MessageLayout::placeUser() {
  const double column = columnWidth(m_width), left = columnLeft(m_width);
  const bool isDocument = !m_content.documentTitle.isEmpty();
  const double textMax = column * kBubbleShare - 2 * kPadX;
  Part& part = m_parts.front();
  part.document->setTextWidth(-1);
  double textWidth = std::min(std::ceil(part.document->idealWidth()) + 1, textMax);
  const QFontMetricsF bold(scaledFont(m_font, 1, QFont::DemiBold));
  if (isDocument)
    textWidth =
        std::clamp(bold.horizontalAdvance(m_content.documentTitle) + 130, textWidth, textMax);
  part.document->setTextWidth(textWidth);
  const double head = isDocument ? 30 : 0;
  const double foot = m_isShortened || (m_content.isExpanded && isDocument) ? 28 : 0;
  const double height = part.document->size().height();
  const double width = textWidth + 2 * kPadX;
  m_bubble = QRectF(left + column - width, kTopGap, width, height + 2 * kPadY + head + foot);
  part.text = QRectF(m_bubble.left() + kPadX, m_bubble.top() + kPadY + head, textWidth, height);
  if (foot > 0) m_expand = QRectF(part.text.left(), part.text.bottom() + 6, textWidth, foot - 6);
  m_tools.placeBeside(m_bubble);
  const double tools = m_tools.hasVersions() ? MessageTools::kHeight : 0;
  const double end = m_packed.place(left, m_bubble.bottom() + tools, column);
  m_height = int(std::ceil(end + kBottomGap));
}

void MessageLayout::placeAnswer() {
  const double column = columnWidth(m_width), left = columnLeft(m_width);
  double y = m_thoughts.place(left, kTopGap, column);
  for (Part& part : m_parts) {
    if (&part != &m_parts.front()) y += kPartGap;
    const bool isCode = part.source.kind == MessagePart::Code;
    const double textWidth = isCode ? column - 2 * kPadX : column;
    if (part.document->textWidth() != textWidth) part.document->setTextWidth(textWidth);
    const double height = part.document->size().height();
    if (isCode) {
      part.frame = QRectF(left, y, column, height + kCodeHead + kPadY + 4);
      part.text = QRectF(left + kPadX, y + kCodeHead + 4, textWidth, height);
      y = part.frame.bottom();
    } else {
      part.text = QRectF(left, y, textWidth, height);
      y = part.text.bottom();
    }
  }
  const QFontMetricsF small(scaledFont(m_font, 0.86));
  if (showsDots()) y += small.height() + 6;
  m_footnote = QRectF();
  if (const QString footnote = footnoteText(m_content); !footnote.isEmpty()) {
    m_footnote = small.boundingRect(QRectF(left, y + 8, column, 1000), Qt::TextWordWrap, footnote);
    m_footnote.setWidth(std::min(m_footnote.width() + 2, column));
    y = m_footnote.bottom();
  }
  if (!m_tools.isEmpty()) {
    m_tools.placeBelow(left, y + 4);
    y += MessageTools::kHeight;
  }
  m_height = int(std::ceil(m_packed.place(left, y, column) + kBottomGap));
}

void MessageLayout::draw(QPainter& painter, const QRectF& visible, TextPlace from, TextPlace to,
                         bool copyHovered, bool isNear) const {
  painter.setRenderHint(QPainter::Antialiasing);
  if (!m_bubble.isNull()) {
    painter.setPen(Qt::NoPen);
    painter.setBrush(m_theme.accentSoft);
    painter.drawRoundedRect(m_bubble, 14, 14);
  }
  const QFont small = scaledFont(m_font, 0.86);
  if (!m_content.documentTitle.isEmpty()) {
    const QRectF head(m_bubble.left() + kPadX, m_bubble.top() + kPadY, m_bubble.width() - 2 * kPadX,
                      22);
    drawIcon(painter, Icon::Document, QRectF(head.left() - 2, head.top() - 1, 20, 20),
             m_theme.accent);
    const QFont bold = scaledFont(m_font, 1, QFont::DemiBold);
    painter.setFont(bold);
    painter.setPen(m_theme.text);
    const QFontMetricsF metrics(bold);
    painter.drawText(
        head.adjusted(24, 0, 0, 0), Qt::AlignLeft | Qt::AlignVCenter,
        metrics.elidedText(m_content.documentTitle, Qt::ElideMiddle, head.width() - 24));
  }
  drawMark(painter);
  const double opacity = painter.opacity();
  if (m_content.mark == MessageMark::Forgotten) painter.setOpacity(opacity * kForgottenOpacity);
  for (int i = 0; i < int(m_parts.size()); ++i)
    drawPart(painter, i, visible, from, to, copyHovered);
  painter.setOpacity(opacity);
  painter.setFont(small);
  if (!m_expand.isNull()) {
    painter.setPen(m_theme.accent);
    QString label = m_content.isExpanded
                        ? tr("Show less")
                        : tr("Show all %1 characters").arg(formatCount(m_content.text.size()));
    if (const QString parts = documentPartsText(m_content); !parts.isEmpty())
      label += QStringLiteral(" · ") + parts;
    painter.drawText(m_expand, Qt::AlignLeft | Qt::AlignVCenter, label);
  }
  m_tools.draw(painter, m_theme, isNear);
  m_packed.draw(painter, m_theme);
  if (isUser()) return;
  m_thoughts.draw(painter, visible, m_theme);
  painter.setPen(m_theme.muted);
  if (showsDots()) {
    painter.setPen(Qt::NoPen);
    painter.setBrush(m_theme.muted);
    for (int dot = 0; dot < 3; ++dot)
      painter.drawEllipse(QPointF(columnLeft(m_width) + 4 + dot * 12, kTopGap + 10), 3, 3);
  }
  if (const QString footnote = footnoteText(m_content); !footnote.isEmpty())
    painter.drawText(m_footnote, Qt::TextWordWrap, footnote);
}

// A line in the margin, and above the message what it means.
void MessageLayout::drawMark(QPainter& painter) const {
  if (m_content.mark == MessageMark::None) return;
  const QColor color = m_content.mark == MessageMark::Pinned ? m_theme.accent : m_theme.muted;
  const double left = columnLeft(m_width), right = left + columnWidth(m_width);
  const double x = isUser() ? right + kMarkGap : left - kMarkGap - kMarkWidth;
  painter.setPen(Qt::NoPen);
  painter.setBrush(color);
  painter.drawRoundedRect(QRectF(x, kTopGap, kMarkWidth, m_height - kTopGap - kBottomGap),
                          kMarkWidth / 2, kMarkWidth / 2);
  painter.setFont(scaledFont(m_font, 0.78));
  painter.setPen(color);
  painter.drawText(QRectF(left, 1, right - left, kTopGap - 2),
                   int((isUser() ? Qt::AlignRight : Qt::AlignLeft) | Qt::AlignVCenter),
                   markText(m_content.mark));
}

void MessageLayout::drawPart(QPainter& painter, int index, const QRectF& visible, TextPlace from,
                             TextPlace to, bool copyHovered) const {
  const Part& part = m_parts[std::size_t(index)];
  const QRectF all = part.frame.isNull() ? part.text : part.frame;
  if (!all.intersects(visible)) return;
  if (part.source.kind == MessagePart::Code) {
    painter.setPen(QPen(m_theme.border, 1));
    painter.setBrush(m_theme.code);
    painter.drawRoundedRect(part.frame.adjusted(0.5, 0.5, -0.5, -0.5), kRadius, kRadius);
    const QFont small = scaledFont(m_font, 0.86);
    painter.setFont(small);
    painter.setPen(m_theme.muted);
    const QRectF head(part.frame.left() + kPadX, part.frame.top() + 3,
                      part.frame.width() - 2 * kPadX, kCodeHead - 3);
    painter.drawText(head, Qt::AlignLeft | Qt::AlignVCenter,
                     part.source.language.isEmpty() ? tr("text") : part.source.language.left(24));
    painter.setPen(copyHovered ? m_theme.text : m_theme.muted);
    painter.drawText(copyRect(part), Qt::AlignRight | Qt::AlignVCenter, tr("Copy"));
  }
  painter.save();
  painter.translate(part.text.topLeft());
  drawText(painter, index, visible.intersected(all).translated(-part.text.topLeft()), from, to);
  painter.restore();
}

// Of a part's text what stands in `clip`, in its own coordinates.
void MessageLayout::drawText(QPainter& painter, int index, const QRectF& clip, TextPlace from,
                             TextPlace to) const {
  const Part& part = m_parts[std::size_t(index)];
  QAbstractTextDocumentLayout::PaintContext context;
  context.palette = paletteOf(m_theme);
  context.clip = clip;
  m_find.addTo(context, index, part.document.get(), m_theme);
  if (from < to && from.part <= index && index <= to.part) {
    QAbstractTextDocumentLayout::Selection selection;
    selection.cursor = QTextCursor(part.document.get());
    const int last = part.document->characterCount() - 1;
    selection.cursor.setPosition(from.part == index ? std::min(from.character, last) : 0);
    selection.cursor.setPosition(to.part == index ? std::min(to.character, last) : last,
                                 QTextCursor::KeepAnchor);
    QColor lit = m_theme.accent;
    lit.setAlphaF(m_theme.isDark ? 0.4f : 0.25f);
    selection.format.setBackground(lit);
    context.selections.append(selection);
  }
  m_held.keepShapes(index, *part.document, clip);
  painter.setClipRect(clip, Qt::IntersectClip);
  part.document->documentLayout()->draw(&painter, context);
  const bool isCode = part.source.kind == MessagePart::Code;
  m_held.draw(painter, context, index, *part.document,
              isUser() ? m_theme.accentSoft
              : isCode ? m_theme.code
                       : m_theme.base,
              m_theme);
}

QRectF MessageLayout::copyRect(const Part& part) const {
  return QRectF(part.frame.right() - kPadX - 60, part.frame.top() + 3, 60, kCodeHead - 3);
}

MessageHit MessageLayout::hit(const QPointF& point) const {
  if (!m_expand.isNull() && m_expand.contains(point)) return {MessageHit::Expand, {}, {}};
  if (m_thoughts.hits(point)) return {MessageHit::Thoughts, {}, {}};
  if (const int action = m_packed.hit(point); action >= 0) {
    MessageHit packed{MessageHit::Packed, {}, {}};
    packed.packed = kPackedActions[std::size_t(action)];
    return packed;
  }
  switch (m_tools.hit(point)) {
    case MessageTools::Copy:
      return {MessageHit::CopyMessage, {}, {}};
    case MessageTools::Replace:
      return {MessageHit::Replace, {}, {}};
    case MessageTools::Older:
      return {MessageHit::Older, {}, {}};
    case MessageTools::Newer:
      return {MessageHit::Newer, {}, {}};
    case MessageTools::Nothing:
      break;
  }
  if (m_content.partsAll > 0 && m_footnote.contains(point)) return {MessageHit::Footnote, {}, {}};
  for (int i = 0; i < int(m_parts.size()); ++i) {
    const Part& part = m_parts[std::size_t(i)];
    const bool isLast = i + 1 == int(m_parts.size());
    if (part.source.kind == MessagePart::Code && copyRect(part).contains(point))
      return {MessageHit::CopyCode, {i, 0}, {}};
    if (point.y() > part.text.bottom() + kPartGap / 2 && !isLast) continue;
    const QPointF inside = point - part.text.topLeft();
    const auto* layout = part.document->documentLayout();
    MessageHit hit;
    hit.place = {i, std::max(0, layout->hitTest(inside, Qt::FuzzyHit))};
    if (part.text.contains(point)) hit.kind = MessageHit::Text;
    hit.address = layout->anchorAt(inside);
    if (!hit.address.isEmpty()) hit.kind = MessageHit::Link;
    hit.quote = quoteOfLink(hit.address);
    if (hit.quote >= 0 && hit.quote < m_content.quotes.size()) hit.kind = MessageHit::Quote;
    return hit;
  }
  return {};
}

TextPlace MessageLayout::end() const {
  if (m_parts.empty()) return {};
  return {int(m_parts.size()) - 1, m_parts.back().document->characterCount() - 1};
}

std::pair<TextPlace, TextPlace> MessageLayout::wordAt(TextPlace place) const {
  if (place.part >= int(m_parts.size())) return {place, place};
  QTextCursor cursor(m_parts[std::size_t(place.part)].document.get());
  cursor.setPosition(place.character);
  cursor.select(QTextCursor::WordUnderCursor);
  return {{place.part, cursor.selectionStart()}, {place.part, cursor.selectionEnd()}};
}

QString MessageLayout::textBetween(TextPlace from, TextPlace to) const {
  QStringList texts;
  for (int i = from.part; i <= to.part && i < int(m_parts.size()); ++i) {
    const QTextDocument& document = *m_parts[std::size_t(i)].document;
    const int last = document.characterCount() - 1;
    QTextCursor cursor(const_cast<QTextDocument*>(&document));
    cursor.setPosition(i == from.part ? std::min(from.character, last) : 0);
    cursor.setPosition(i == to.part ? std::min(to.character, last) : last, QTextCursor::KeepAnchor);
    texts.append(cursor.selection().toPlainText());
  }
  return texts.join(QStringLiteral("\n\n"));
}

QString MessageLayout::codeOf(int part) const {
  return part < int(m_parts.size()) ? m_parts[std::size_t(part)].source.text : QString();
}

QList<MessagePart> MessageLayout::codeParts() const {
  QList<MessagePart> code;
  for (const Part& part : m_parts)
    if (part.source.kind == MessagePart::Code) code.append(part.source);
  return code;
}

int MessageLayout::estimate(const Message& content, int width, const QFont& font) {
  const QFontMetricsF metrics(font);
  const bool user = content.role == runtime::Role::user;
  const double line = metrics.height() * 1.35;
  const double column = columnWidth(width) * (user ? kBubbleShare : 1);
  const double perLine = std::max(10.0, column / metrics.averageCharWidth());
  const auto length = double(user && !content.isExpanded
                                 ? std::min<qsizetype>(content.text.size(), kShortCharacters)
                                 : content.text.size());
  const double lines =
      std::ceil(length / perLine) + 0.6 * double(content.text.left(4000).count(u'\n'));
  return int(std::max(lines, 1.0) * line + (user ? 2 * kPadY : 0) +
             (content.thoughtNote.isEmpty() ? 0 : 2 * line) + (user ? 0 : MessageTools::kHeight) +
             (content.packed.isEmpty() ? 0 : PackedCard::estimatedHeight(font)) + kTopGap +
             kBottomGap);
}

}  // namespace satchel::ui
