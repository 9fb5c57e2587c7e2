// Colours of code, and LaTeX that Markdown must not spoil.
#include <gtest/gtest.h>

#include <QTextBlock>
#include <QTextDocument>
#include <QTextLayout>

#include "ui/model/code_spans.h"
#include "ui/model/latex_text.h"
#include "ui/model/markdown_parts.h"
#include "ui/widgets/conversation/code_highlighter.h"

namespace satchel::ui {
namespace {

using namespace Qt::StringLiterals;

// "keyword:if string:'x'": the coloured words of a text, a line each.
QString spansOf(const char* language, const QString& text) {
  const CodeLanguage* known = codeLanguage(QString::fromLatin1(language));
  EXPECT_NE(known, nullptr) << language;
  if (known == nullptr) return {};
  const char* names[] = {"k", "s", "n", "c"};
  QStringList lines;
  int state = 0;
  for (const QString& line : text.split(u'\n')) {
    QStringList words;
    for (const CodeSpan& span : codeSpans(*known, line, state))
      words.append(QString::fromLatin1(names[int(span.kind)]) + u':' +
                   line.sliced(span.begin, span.length));
    lines.append(words.join(u' '));
  }
  return lines.join(u'\n');
}

TEST(CodeSpans, tell_keywords_strings_numbers_and_comments) {
  EXPECT_EQ(spansOf("cpp", u"if (x1 == 0x1F) return \"a\\\"b\";  // why"_s),
            u"k:if n:0x1F k:return s:\"a\\\"b\" c:// why"_s);
  EXPECT_EQ(spansOf("python", u"def iffy(): return 'x' # y"_s), u"k:def k:return s:'x' c:# y"_s);
  EXPECT_EQ(spansOf("SQL", u"SELECT name FROM t -- all"_s), u"k:SELECT k:FROM c:-- all"_s);
  EXPECT_EQ(spansOf("json", u"{\"a\": [1.5, true]}"_s), u"s:\"a\" n:1.5 k:true"_s);
  EXPECT_EQ(spansOf("C++ title=x", u"int"_s), u"k:int"_s);
  EXPECT_EQ(codeLanguage(u"text"_s), nullptr);
  EXPECT_EQ(codeLanguage(u""_s), nullptr);
}

TEST(CodeSpans, go_on_over_lines_and_end_where_nothing_closes_them) {
  EXPECT_EQ(spansOf("c", u"a /* b\nif */ if"_s), u"c:/* b\nc:if */ k:if"_s);
  EXPECT_EQ(spansOf("py", u"x = \"\"\"a\nif 'b'\nc\"\"\" if"_s),
            u"s:\"\"\"a\ns:if 'b'\ns:c\"\"\" k:if"_s);
  EXPECT_EQ(spansOf("ts", u"`a ${b}\nc` if"_s), u"s:`a ${b}\ns:c` k:if"_s);
  EXPECT_EQ(spansOf("c", u"\"open\nif"_s), u"s:\"open\nk:if"_s) << "a string ends with its line";
  EXPECT_EQ(spansOf("c", u"'\\"_s), u"s:'\\"_s);
}

TEST(CodeHighlighter, colours_what_is_there_and_what_streams_in) {
  QTextDocument document;
  new CodeHighlighter(*codeLanguage(u"c"_s), lightTheme(), &document);
  const auto formats = [&](int block) {
    return document.findBlockByNumber(block).layout()->formats().size();
  };
  document.setPlainText(u"int a;\nret"_s);
  EXPECT_EQ(formats(0), 1);
  EXPECT_EQ(formats(1), 0);
  QTextCursor cursor(&document);
  cursor.movePosition(QTextCursor::End);
  cursor.insertText(u"urn 1; /*\nx"_s);
  EXPECT_EQ(formats(1), 3);
  EXPECT_EQ(formats(2), 1) << "inside the comment";
}

TEST(LatexText, formulas_in_a_line_are_code_and_money_is_not) {
  EXPECT_EQ(withLatexAsCode(u"So \\(a_1 * b_2\\) and $E = mc^2$, $x$."_s),
            u"So `a_1 * b_2` and `E = mc^2`, `x`."_s);
  for (const QString& text :
       {u"It costs $5 and $10, or US$ 7."_s, u"$5-$10"_s, u"`$x$` and ``\\(y\\)``"_s,
        u"a $ b $ c"_s, u"\\$x$"_s, u"\\(open"_s, u"$$x$$"_s, u"no formula"_s})
    EXPECT_EQ(withLatexAsCode(text), text);
}

TEST(LatexText, a_formula_of_its_own_is_a_part) {
  const auto parts =
      markdownParts(u"Then\n$$\na_1 * b_2\n$$\nand \\[x\\]\n\\[ y = 1 \\] so\n$$z$$"_s);
  ASSERT_EQ(parts.size(), 6);
  EXPECT_EQ(parts[0].text, u"Then"_s);
  EXPECT_EQ(parts[1], (MessagePart{MessagePart::Code, u"a_1 * b_2"_s, u"latex"_s}));
  EXPECT_EQ(parts[2].text, u"and \\[x\\]"_s) << "within a line it is none";
  EXPECT_EQ(parts[3], (MessagePart{MessagePart::Code, u" y = 1 "_s, u"latex"_s}));
  EXPECT_EQ(parts[4].text, u" so"_s);
  EXPECT_EQ(parts[5].text, u"z"_s);
}

TEST(LatexText, a_formula_that_streams_keeps_the_parts_before_it) {
  const QString whole = u"First.\n\n$$\na^2\n+ b^2\n$$\nAfter."_s;
  for (qsizetype n = 1; n < whole.size(); ++n) {
    const auto less = markdownParts(whole.left(n)), more = markdownParts(whole.left(n + 1));
    ASSERT_LE(less.size(), more.size() + 1);
    for (qsizetype i = 0; i + 1 < less.size(); ++i) EXPECT_EQ(less[i], more[i]) << n;
  }
}

}  // namespace
}  // namespace satchel::ui
