#include "ui/model/markdown_parts.h"

#include <QStringView>

#include "ui/model/latex_text.h"

namespace satchel::ui {
namespace {

// The run of ` or ~ that opens a fence, indented by at most three blanks; empty where there is
// none.
QStringView fenceOf(QStringView line) {
  qsizetype begin = 0;
  while (begin < line.size() && begin < 4 && line[begin] == u' ') ++begin;
  if (begin == 4 || begin == line.size()) return {};
  const QChar mark = line[begin];
  if (mark != u'`' && mark != u'~') return {};
  qsizetype end = begin;
  while (end < line.size() && line[end] == mark) ++end;
  return end - begin >= 3 ? line.sliced(begin, end - begin) : QStringView();
}

bool closes(QStringView line, QStringView opening) {
  const QStringView fence = fenceOf(line);
  return !fence.isEmpty() && fence[0] == opening[0] && fence.size() >= opening.size() &&
         line.trimmed().size() == fence.size();
}

// Whether a line that follows a blank one begins a paragraph or heading of its own, whatever stood
// before: not part of a list, a quote or an indented block.
bool startsAfresh(QStringView line) {
  if (line.isEmpty()) return false;
  const QChar first = line[0];
  return first.isLetter() || first == u'#' || first == u'*' || first == u'"' || first == u'(';
}

class Cutter {
 public:
  QList<MessagePart> cut(QStringView text) {
    qsizetype begin = 0;
    while (begin < text.size()) {
      qsizetype end = text.indexOf(u'\n', begin);
      if (end < 0) end = text.size();
      take(text.sliced(begin, end - begin));
      begin = end + 1;
    }
    finishPart();
    return std::move(m_parts);
  }

 private:
  void take(QStringView line) {
    if (!m_latex.isEmpty()) return takeLatex(line);
    if (m_current.kind == MessagePart::Code) {
      if (closes(line, m_fence)) {
        finishPart();
      } else {
        append(line);
      }
      return;
    }
    if (const QStringView fence = fenceOf(line); !fence.isEmpty()) {
      finishPart();
      m_fence = fence;
      m_current.kind = MessagePart::Code;
      m_current.language = line.sliced(fence.end() - line.begin()).trimmed().toString();
      m_hasLines = true;
      return;
    }
    if (const LatexOpening opening = latexOpening(line); !opening.mark.isEmpty()) {
      finishPart();
      m_latex = opening.mark;
      m_current.kind = MessagePart::Code;
      m_current.language = QStringLiteral("latex");
      m_hasLines = true;
      if (!opening.rest.isEmpty()) takeLatex(opening.rest);
      return;
    }
    // As far as it has come: the item of a list.
    const bool isItem = line.startsWith(u"* ") || line == u"*";
    if (m_afterBlank && startsAfresh(line) && !isItem) finishPart();
    m_afterBlank = line.trimmed().isEmpty();
    append(line);
  }

  // A formula of its own is a part, as code is; what follows it on its last line is another.
  void takeLatex(QStringView line) {
    const qsizetype end = latexEnd(m_latex, line);
    if (end < 0) return append(line);
    if (!line.left(end).trimmed().isEmpty()) append(line.left(end));
    finishPart();
    m_latex = {};
    if (const QStringView rest = line.sliced(end + 2); !rest.trimmed().isEmpty()) append(rest);
  }

  void append(QStringView line) {
    if (!m_first) m_current.text += u'\n';
    m_current.text += line;
    m_first = false;
    m_hasLines = true;
  }

  void finishPart() {
    const bool empty = m_current.kind == MessagePart::Prose && m_current.text.trimmed().isEmpty();
    if (m_hasLines && !empty) {
      if (m_current.kind == MessagePart::Prose) {
        while (m_current.text.endsWith(u'\n')) m_current.text.chop(1);
      }
      m_parts.append(m_current);
    }
    m_current = MessagePart();
    m_first = true;
    m_hasLines = false;
    m_afterBlank = false;
  }

  QList<MessagePart> m_parts;
  MessagePart m_current;
  QStringView m_fence;
  QStringView m_latex;  // the mark of the formula that is open; empty: none
  bool m_first = true;
  bool m_hasLines = false;
  bool m_afterBlank = false;
};

}  // namespace

QList<MessagePart> markdownParts(const QString& text) {
  return Cutter().cut(text);
}

}  // namespace satchel::ui
