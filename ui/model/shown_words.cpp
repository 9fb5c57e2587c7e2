#include "ui/model/shown_words.h"

#include <algorithm>
#include <string>
#include <vector>

#include "runtime/tokenizer/words.h"

namespace satchel::ui {
namespace {

constexpr std::size_t kAheadMax = 64;  // words of Markdown that are not shown; chosen

struct Word {
  std::string word;
  qsizetype begin = 0, end = 0;
};

// In order, so that each byte is looked at once.
std::vector<Word> wordsOf(const QString& text) {
  const QByteArray bytes = text.toUtf8();
  std::vector<Word> words;
  std::size_t at = 0;
  qsizetype character = 0;
  const auto character_at = [&](std::size_t byte) {
    character += QString::fromUtf8(bytes.constData() + at, qsizetype(byte - at)).size();
    at = byte;
    return character;
  };
  runtime::for_each_placed_word(
      {bytes.constData(), std::size_t(bytes.size())}, [&](std::string_view word, IndexRange place) {
        const qsizetype begin = character_at(place.begin);
        words.push_back({std::string(word), begin, character_at(place.end)});
        return true;
      });
  return words;
}

}  // namespace

QList<ShownWord> shownWords(const QString& markdown, const QString& shown) {
  QList<ShownWord> found;
  const std::vector<Word> written = wordsOf(markdown);
  auto next = written.begin();
  for (const Word& word : wordsOf(shown)) {
    const auto end =
        next + std::ptrdiff_t(std::min<std::size_t>(kAheadMax, std::size_t(written.end() - next)));
    const auto same =
        std::find_if(next, end, [&](const Word& one) { return one.word == word.word; });
    if (same == end) continue;
    next = same + 1;
    found.append({same->begin, int(word.begin), int(word.end)});
  }
  return found;
}

}  // namespace satchel::ui
