#include "ui/model/latex_text.h"

#include <algorithm>

namespace satchel::ui {
namespace {

constexpr qsizetype kFormulaMost = 400;  // characters in a line; chosen

bool isFormula(QStringView text) {
  if (text.isEmpty() || text.front().isSpace() || text.back().isSpace()) return false;
  if (text.contains(u'`') || text.contains(u'\n')) return false;
  const bool hasSign = std::any_of(
      text.begin(), text.end(), [](QChar c) { return QStringView(u"\\^_={}+*/<>|").contains(c); });
  const bool isWord = std::all_of(text.begin(), text.end(), [](QChar c) { return c.isLetter(); });
  return hasSign || isWord;
}

// Behind the code that begins here: a run of ` up to the next run of that length.
qsizetype behindCode(QStringView text, qsizetype at) {
  qsizetype run = at;
  while (run < text.size() && text[run] == u'`') ++run;
  const qsizetype end = text.indexOf(text.sliced(at, run - at), run);
  return end < 0 ? run : end + (run - at);
}

struct Formula {
  qsizetype begin = 0, length = 0, end = 0;  // of what is between the marks; behind them
};

Formula formulaAt(QStringView text, qsizetype at) {
  if (text.sliced(at).startsWith(u"\\(")) {
    const qsizetype end = text.indexOf(u"\\)", at + 2);
    if (end < 0 || end - at > kFormulaMost) return {};
    const QStringView inside = text.sliced(at + 2, end - at - 2);
    return isFormula(inside.trimmed()) ? Formula{at + 2, inside.size(), end + 2} : Formula();
  }
  const bool isOpening =
      text[at] == u'$' && (at == 0 || (text[at - 1] != u'$' && text[at - 1] != u'\\'));
  const qsizetype end = isOpening ? text.indexOf(u'$', at + 1) : -1;
  if (end < 0 || end - at > kFormulaMost) return {};
  const QStringView inside = text.sliced(at + 1, end - at - 1);
  const bool isMoney = end + 1 < text.size() && text[end + 1].isDigit();
  return isFormula(inside) && !isMoney ? Formula{at + 1, inside.size(), end + 1} : Formula();
}

}  // namespace

QString withLatexAsCode(const QString& markdown) {
  if (!markdown.contains(u'$') && !markdown.contains(u"\\(")) return markdown;
  QString out;
  const QStringView text = markdown;
  for (qsizetype at = 0; at < text.size();) {
    if (text[at] == u'`') {
      const qsizetype end = behindCode(text, at);
      out += text.sliced(at, end - at);
      at = end;
      continue;
    }
    const bool mayBe = text[at] == u'$' || text[at] == u'\\';
    const Formula formula = mayBe ? formulaAt(text, at) : Formula();
    if (formula.end == 0) {
      out += text[at++];
      continue;
    }
    out += u'`' + text.sliced(formula.begin, formula.length).trimmed().toString() + u'`';
    at = formula.end;
  }
  return out;
}

LatexOpening latexOpening(QStringView line) {
  const QStringView trimmed = line.trimmed();
  for (const QStringView mark : {QStringView(u"$$"), QStringView(u"\\[")})
    if (trimmed.startsWith(mark)) return {mark, trimmed.sliced(2)};
  return {};
}

qsizetype latexEnd(QStringView mark, QStringView line) {
  return line.indexOf(mark == u"$$" ? QStringView(u"$$") : QStringView(u"\\]"));
}

}  // namespace satchel::ui
