#include "ui/widgets/conversation/document_style.h"

#include <QFontDatabase>
#include <QFontInfo>
#include <QTextBlock>
#include <QTextCursor>
#include <QTextFrame>
#include <QTextTable>

namespace satchel::ui {
namespace {

constexpr double kLinePercent = 135, kCodeLinePercent = 125;
constexpr double kParagraphGap = 10;
// An address that hardly anybody writes: it begins with a control character.
constexpr QStringView kQuoteLink = u"\u0001quote:";

QFont codeFont(const QFont& base) {
  QFont font = QFontDatabase::systemFont(QFontDatabase::FixedFont);
  // Without a desktop the platform's answer may be a proportional one.
  if (!QFontInfo(font).fixedPitch()) font = QFont(QStringLiteral("monospace"));
  if (base.pointSizeF() > 0) font.setPointSizeF(base.pointSizeF() * 0.94);
  return font;
}

QTextOption wrapping(QTextOption::WrapMode mode) {
  QTextOption option;
  option.setWrapMode(mode);
  return option;
}

void prepare(QTextDocument& document, const QFont& font) {
  document.setDocumentMargin(0);
  document.setUndoRedoEnabled(false);
  document.setDefaultFont(font);
  document.setDefaultTextOption(wrapping(QTextOption::WrapAtWordBoundaryOrAnywhere));
}

void setLineHeight(QTextDocument& document, double percent) {
  QTextCursor cursor(&document);
  cursor.select(QTextCursor::Document);
  QTextBlockFormat format;
  format.setLineHeight(percent, QTextBlockFormat::ProportionalHeight);
  cursor.mergeBlockFormat(format);
}

void styleBlock(const QTextBlock& block, const QFont& font, const Theme& theme) {
  QTextBlockFormat format = block.blockFormat();
  const int level = format.headingLevel();
  const bool inTable = QTextCursor(block).currentTable() != nullptr;
  const bool inList = block.textList() != nullptr;
  const bool first = block.blockNumber() == 0;
  format.setLineHeight(level > 0 || inTable ? 118 : kLinePercent,
                       QTextBlockFormat::ProportionalHeight);
  format.setTopMargin(level > 0 && !first ? kParagraphGap : 0);
  format.setBottomMargin(inTable ? 0 : inList ? 4 : level > 0 ? 6 : kParagraphGap);
  if (!block.next().isValid()) format.setBottomMargin(0);
  if (format.property(QTextFormat::BlockQuoteLevel).toInt() > 0) {
    format.setLeftMargin(14);
    format.setBackground(theme.surface);
  }
  if (format.hasProperty(QTextFormat::BlockTrailingHorizontalRulerWidth))
    format.setBackground(theme.border);
  QTextCursor cursor(block);
  cursor.setBlockFormat(format);
  if (level == 0) return;
  cursor.select(QTextCursor::BlockUnderCursor);
  QTextCharFormat heading;
  heading.setFontPointSize(font.pointSizeF() * (level == 1 ? 1.4 : level == 2 ? 1.22 : 1.08));
  heading.setFontWeight(QFont::DemiBold);
  heading.clearProperty(QTextFormat::FontSizeAdjustment);
  cursor.mergeCharFormat(heading);
}

struct Span {
  int begin, length;
  QTextCharFormat format;
};

// Links, code in the line and pictures: found first, changed afterwards, as a change would spoil
// the walk; from the back, so that places stay right.
void styleSpans(QTextDocument& document, const QFont& font, const Theme& theme) {
  QList<Span> spans;
  for (QTextBlock block = document.begin(); block.isValid(); block = block.next())
    for (auto it = block.begin(); !it.atEnd(); ++it) {
      const QTextFragment fragment = it.fragment();
      const QTextCharFormat format = fragment.charFormat();
      if (format.isImageFormat() || format.isAnchor() || format.fontFixedPitch())
        spans.append({fragment.position(), fragment.length(), format});
    }
  const QFont mono = codeFont(font);
  for (auto span = spans.crbegin(); span != spans.crend(); ++span) {
    QTextCursor cursor(&document);
    cursor.setPosition(span->begin);
    cursor.setPosition(span->begin + span->length, QTextCursor::KeepAnchor);
    if (span->format.isImageFormat()) {
      const QTextImageFormat image = span->format.toImageFormat();
      const QString described = image.stringProperty(QTextFormat::ImageAltText);
      QTextCharFormat plain;
      plain.setForeground(theme.muted);
      cursor.insertText(
          QObject::tr("[picture: %1]").arg(described.isEmpty() ? image.name() : described), plain);
      continue;
    }
    QTextCharFormat format;
    if (span->format.isAnchor()) {
      format.setForeground(theme.accent);
      format.setFontUnderline(true);
    }
    if (span->format.fontFixedPitch()) {
      format.setFontFamilies(mono.families());
      format.setFontPointSize(mono.pointSizeF());
      format.setBackground(theme.surface);
    }
    cursor.mergeCharFormat(format);
  }
}

void styleTables(QTextDocument& document, const Theme& theme) {
  const auto frames = document.rootFrame()->childFrames();
  for (QTextFrame* frame : frames) {
    auto* table = qobject_cast<QTextTable*>(frame);
    if (table == nullptr) continue;
    QTextTableFormat format = table->format();
    format.setBorder(1);
    format.setBorderBrush(theme.border);
    format.setBorderStyle(QTextFrameFormat::BorderStyle_Solid);
    format.setBorderCollapse(true);
    format.setCellPadding(6);
    format.setCellSpacing(0);
    format.setTopMargin(2);
    format.setBottomMargin(kParagraphGap);
    table->setFormat(format);
    for (int column = 0; column < table->columns(); ++column) {
      QTextTableCell cell = table->cellAt(0, column);
      QTextCharFormat head = cell.format();
      head.setBackground(theme.surface);
      cell.setFormat(head);
      QTextCursor cursor = cell.firstCursorPosition();
      cursor.setPosition(cell.lastCursorPosition().position(), QTextCursor::KeepAnchor);
      QTextCharFormat bold;
      bold.setFontWeight(QFont::DemiBold);
      cursor.mergeCharFormat(bold);
    }
  }
}

}  // namespace

QVariant ClosedDocument::loadResource(int, const QUrl&) {
  return {};
}

void preparePlain(QTextDocument& document, const QFont& font) {
  prepare(document, font);
  setLineHeight(document, kLinePercent);
}

void prepareCode(QTextDocument& document, const QFont& font) {
  prepare(document, codeFont(font));
  document.setDefaultTextOption(wrapping(QTextOption::WrapAnywhere));
  setLineHeight(document, kCodeLinePercent);
}

void linkQuotes(QTextDocument& document, const QList<ShownQuote>& quotes, const Theme& theme) {
  for (const ShownQuote& quote : quotes) {
    QTextCursor cursor(&document);
    cursor.setPosition(quote.begin);
    cursor.setPosition(quote.end, QTextCursor::KeepAnchor);
    QTextCharFormat format;
    format.setAnchor(true);
    format.setAnchorHref(kQuoteLink.toString() + QString::number(quote.quote));
    format.setUnderlineStyle(QTextCharFormat::DotLine);
    format.setUnderlineColor(theme.accent);
    cursor.mergeCharFormat(format);
  }
}

int quoteOfLink(const QString& address) {
  return address.startsWith(kQuoteLink) ? address.sliced(kQuoteLink.size()).toInt() : -1;
}

void setMarkdown(QTextDocument& document, const QString& markdown, const QFont& font,
                 const Theme& theme) {
  prepare(document, font);
  document.setMarkdown(markdown,
                       QTextDocument::MarkdownFeatures(QTextDocument::MarkdownDialectGitHub) |
                           QTextDocument::MarkdownNoHTML);
  for (QTextBlock block = document.begin(); block.isValid(); block = block.next())
    styleBlock(block, font, theme);
  styleTables(document, theme);
  styleSpans(document, font, theme);
}

}  // namespace satchel::ui
