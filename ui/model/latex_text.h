// LaTeX in what a model writes: it is shown as its source, unspoiled by Markdown, whose marks it
// has.
#pragma once

#include <QString>
#include <QStringView>

namespace satchel::ui {

// Formulas in a line, \(…\) or $…$, as code. A dollar that is money stays: a formula's begins
// before no blank, ends behind none and before no digit, and what is between has a sign or is a
// single word.
QString withLatexAsCode(const QString& markdown);

// A line that a formula of its own begins with: "$$" or "\[". What stands behind it on the line is
// `rest`; empty mark: it begins none.
struct LatexOpening {
  QStringView mark, rest;
};
LatexOpening latexOpening(QStringView line);
// Where on a line the formula ends that was opened by this mark; below 0: not on this line.
qsizetype latexEnd(QStringView mark, QStringView line);

}  // namespace satchel::ui
