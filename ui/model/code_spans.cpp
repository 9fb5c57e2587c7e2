#include "ui/model/code_spans.h"

#include <QHash>
#include <QSet>
#include <QStringList>
#include <algorithm>
#include <utility>

namespace satchel::ui {

struct CodeLanguage {
  QSet<QString> keywords;
  QString lineComment = {};                    // empty: none
  QString commentBegin = {}, commentEnd = {};  // empty: none
  QString quotes = QStringLiteral("\"'");
  QString longQuotes = {};  // characters that open a string over lines: as one or, in Python, three
  bool areTripled = false;
  bool isCaseSensitive = true;
};

namespace {

constexpr int kInComment = 1, kInString = 2;  // kInString + index in longQuotes

QSet<QString> wordsOf(const char* text) {
  const QStringList words = QString::fromLatin1(text).split(u' ');
  return {words.begin(), words.end()};
}

CodeLanguage cLike(const char* keywords) {
  return {.keywords = wordsOf(keywords),
          .lineComment = QStringLiteral("//"),
          .commentBegin = QStringLiteral("/*"),
          .commentEnd = QStringLiteral("*/")};
}

CodeLanguage hashed(const char* keywords) {
  return {.keywords = wordsOf(keywords), .lineComment = QStringLiteral("#")};
}

CodeLanguage python() {
  CodeLanguage language = hashed(
      "and as assert async await break class continue def del elif else except False finally for "
      "from global if import in is lambda match None nonlocal not or pass raise return True try "
      "while with yield");
  language.longQuotes = QStringLiteral("\"'");
  language.areTripled = true;
  return language;
}

CodeLanguage javaScript() {
  CodeLanguage language = cLike(
      "abstract as async await break case catch class const continue debugger default delete do "
      "else enum export extends false finally for from function get if implements import in "
      "instanceof interface let new null of private protected public readonly return set static "
      "super switch this throw true try type typeof undefined var void while with yield");
  language.longQuotes = QStringLiteral("`");
  return language;
}

CodeLanguage sql() {
  CodeLanguage language = cLike(
      "add all alter and as asc begin between by case check commit constraint create default "
      "delete "
      "desc distinct drop else end exists foreign from full group having if in index inner insert "
      "into is join key left like limit not null offset on or order outer primary references right "
      "rollback select set table then union unique update using values view when where with");
  language.lineComment = QStringLiteral("--");
  language.isCaseSensitive = false;
  return language;
}

// Each language under all of its names.
QHash<QString, CodeLanguage> makeLanguages() {
  QHash<QString, CodeLanguage> all;
  const auto add = [&all](const char* names, const CodeLanguage& language) {
    for (const QString& name : QString::fromLatin1(names).split(u' ')) all.insert(name, language);
  };
  add("c cpp c++ cc cxx h hpp cuda cu objc glsl",
      cLike("alignas auto bool break case catch char class concept const consteval constexpr "
            "constinit continue co_await co_return co_yield default delete do double else enum "
            "explicit export extern false final float for friend goto if inline int long mutable "
            "namespace new noexcept nullptr NULL operator override private protected public "
            "register requires return short signed sizeof static static_assert static_cast struct "
            "switch template this throw true try typedef typename union unsigned using virtual "
            "void volatile while"));
  add("java kotlin kt scala",
      cLike("abstract boolean break byte case catch char class const continue data default do "
            "double else enum extends false final finally float for fun if implements import "
            "instanceof int interface is long native new null object open override package private "
            "protected public return sealed short static super switch this throw throws true try "
            "val var void volatile when while"));
  add("cs csharp c# swift dart",
      cLike("abstract as async await base bool break case catch class const continue default do "
            "double else enum event extension false finally float for foreach func get guard if in "
            "init int interface internal is let long namespace new nil null object out override "
            "private protected public readonly ref return sealed self set static string struct "
            "switch this throw true try using var virtual void where while yield"));
  add("rust rs",
      cLike(
          "as async await break const continue crate dyn else enum extern false fn for if impl in "
          "let loop match mod move mut pub ref return self Self static struct super trait true "
          "type unsafe use where while"));
  add("go golang",
      cLike("break case chan const continue default defer else fallthrough false for func go goto "
            "if import interface map nil package range return select struct switch true type var"));
  add("js javascript jsx ts typescript tsx mjs node", javaScript());
  add("py python python3", python());
  add("sh bash shell zsh console fish",
      hashed("break case continue do done elif else esac exit export fi for function if in local "
             "return select set shift then trap until while"));
  add("rb ruby perl pl r make makefile cmake dockerfile",
      hashed("begin break case class def do else elsif end ensure false for foreach function if in "
             "last local module my next nil not or our package redo rescue return self sub super "
             "then true undef unless until use when while yield"));
  add("yaml yml toml ini conf properties", hashed("false no null off on true yes"));
  add("json jsonc json5",
      {.keywords = wordsOf("false null true"), .lineComment = QStringLiteral("//")});
  add("sql sqlite postgres mysql", sql());
  add("lua haskell hs",
      {.keywords = wordsOf("and break case class data deriving do else elseif end "
                           "false for function goto if import in instance let "
                           "local module newtype nil not of or repeat return "
                           "then true type until where while"),
       .lineComment = QStringLiteral("--")});
  add("css scss less", {.keywords = wordsOf("important inherit initial none auto"),
                        .commentBegin = QStringLiteral("/*"),
                        .commentEnd = QStringLiteral("*/")});
  add("html xml svg", {.keywords = {},
                       .commentBegin = QStringLiteral("<!--"),
                       .commentEnd = QStringLiteral("-->")});
  return all;
}

class LineReader {
 public:
  LineReader(const CodeLanguage& language, QStringView line) : m_language(language), m_line(line) {}

  QList<CodeSpan> read(int& state) {
    if (state == kInComment) state = takeComment(0);
    if (state >= kInString) state = takeLong(state, 0);
    while (state == 0 && m_at < m_line.size()) state = takeNext();
    return std::move(m_spans);
  }

 private:
  bool has(const QString& text) const {
    return !text.isEmpty() && m_line.sliced(m_at).startsWith(text);
  }
  void add(qsizetype begin, CodeKind kind) {
    if (m_at > begin) m_spans.append({begin, m_at - begin, kind});
  }

  int takeNext() {
    const QChar c = m_line[m_at];
    if (has(m_language.commentBegin)) return takeComment(m_language.commentBegin.size());
    if (has(m_language.lineComment)) {
      const qsizetype begin = std::exchange(m_at, m_line.size());
      add(begin, CodeKind::Comment);
      return 0;
    }
    if (const qsizetype quote = m_language.longQuotes.indexOf(c); quote >= 0) {
      const QString mark = markOf(quote);
      if (has(mark)) return takeLong(kInString + int(quote), mark.size());
    }
    if (m_language.quotes.contains(c)) return takeString(c), 0;
    if (c.isDigit()) return takeNumber(), 0;
    if (c.isLetter() || c == u'_') return takeWord(), 0;
    ++m_at;
    return 0;
  }

  QString markOf(qsizetype quote) const {
    return QString(m_language.areTripled ? 3 : 1, m_language.longQuotes[quote]);
  }

  // From here, behind so many characters, to its end; what is left open.
  int takeComment(qsizetype behind) {
    const qsizetype begin = m_at;
    const qsizetype end = m_line.indexOf(m_language.commentEnd, m_at + behind);
    m_at = end < 0 ? m_line.size() : end + m_language.commentEnd.size();
    add(begin, CodeKind::Comment);
    return end < 0 ? kInComment : 0;
  }
  int takeLong(int state, qsizetype behind) {
    const qsizetype begin = m_at;
    const QString mark = markOf(state - kInString);
    const qsizetype end = m_line.indexOf(mark, m_at + behind);
    m_at = end < 0 ? m_line.size() : end + mark.size();
    add(begin, CodeKind::String);
    return end < 0 ? state : 0;
  }
  void takeString(QChar quote) {
    const qsizetype begin = m_at++;
    while (m_at < m_line.size() && m_line[m_at] != quote) m_at += m_line[m_at] == u'\\' ? 2 : 1;
    m_at = std::min(m_at + 1, m_line.size());
    add(begin, CodeKind::String);
  }
  void takeNumber() {
    const qsizetype begin = m_at;
    while (m_at < m_line.size() && (m_line[m_at].isLetterOrNumber() || m_line[m_at] == u'.'))
      ++m_at;
    add(begin, CodeKind::Number);
  }
  void takeWord() {
    const qsizetype begin = m_at;
    while (m_at < m_line.size() && (m_line[m_at].isLetterOrNumber() || m_line[m_at] == u'_'))
      ++m_at;
    QString word = m_line.sliced(begin, m_at - begin).toString();
    if (!m_language.isCaseSensitive) word = word.toLower();
    if (m_language.keywords.contains(word)) add(begin, CodeKind::Keyword);
  }

  const CodeLanguage& m_language;
  QStringView m_line;
  qsizetype m_at = 0;
  QList<CodeSpan> m_spans;
};

}  // namespace

const CodeLanguage* codeLanguage(const QString& name) {
  static const QHash<QString, CodeLanguage> languages = makeLanguages();
  const auto found = languages.constFind(name.section(u' ', 0, 0).toLower());
  return found == languages.constEnd() ? nullptr : &*found;
}

QList<CodeSpan> codeSpans(const CodeLanguage& language, QStringView line, int& state) {
  return LineReader(language, line).read(state);
}

}  // namespace satchel::ui
