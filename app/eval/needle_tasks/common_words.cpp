// A long list of words, ten of them six times as often as the others: which? (RULER's common words
// extraction.) Nothing in it can be left out without loss.
#include "app/eval/needle_tasks/haystack.h"
#include "app/eval/needle_tasks/words.h"

namespace satchel::eval {

NeedleContext make_common_words(Rng& rng, std::size_t size) {
  constexpr std::size_t kCommon = 10, kOthers = 120, kAtLeast = 60;
  const auto words = draw(rng, kListWords, kCommon + kOthers);
  std::vector<std::string_view> list;
  // A third of the list are the ten: twice each in the shortest, where the others come once at
  // most.
  for (std::size_t i = 0; i < kAtLeast + size; ++i)
    list.push_back(i % 3 == 0 ? words[i / 3 % kCommon]
                              : words[kCommon + (i - i / 3 - 1) % kOthers]);
  shuffle(rng, list);
  NeedleContext out;
  std::string& text = out.parts.emplace_back("A list of words:");
  for (const std::string_view word : list) text.append(" ").append(word).append(",");
  text.back() = '.';
  out.needles.push_back({.ask = "\n\nThe ten words that come most often in the list:",
                         .values = {words.begin(), words.begin() + kCommon}});
  return out;
}

}  // namespace satchel::eval
