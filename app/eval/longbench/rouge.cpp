#include "app/eval/longbench/text.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>

namespace satchel::eval::longbench {
namespace {

constexpr double kNoZero = 1e-8;  // as the package: keeps 0/0 from the F

// Adds the words of one longest common subsequence: of several, the one that is found from the end
// and leaves out words of b first.
void add_common(const std::vector<Word>& a, const std::vector<Word>& b, std::set<Word>& words) {
  // Lengths of the longest common subsequences of all beginnings: [a + 1, b + 1].
  const std::size_t columns = b.size() + 1;
  std::vector<std::uint32_t> lengths((a.size() + 1) * columns);
  const auto at = [&](std::size_t i, std::size_t j) -> auto& {
    return lengths[i * columns + j];
  };
  for (std::size_t i = 1; i <= a.size(); ++i)
    for (std::size_t j = 1; j <= b.size(); ++j)
      at(i, j) = a[i - 1] == b[j - 1] ? at(i - 1, j - 1) + 1 : std::max(at(i - 1, j), at(i, j - 1));
  std::size_t i = a.size(), j = b.size();
  while (i > 0 && j > 0) {
    if (a[i - 1] == b[j - 1]) {
      words.insert(a[i - 1]);
      --i, --j;
    } else if (at(i - 1, j) > at(i, j - 1)) {
      --i;
    } else {
      --j;
    }
  }
}

std::size_t n_distinct(const Sentences& sentences) {
  std::set<Word> words;
  for (const auto& sentence : sentences) words.insert(sentence.begin(), sentence.end());
  return words.size();
}

}  // namespace

Sentences sentences_of(std::u32string_view text) {
  Sentences out;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(U'.', at), text.size());
    if (end > at) {
      out.push_back(words_of(text.substr(at, end - at)));
      if (out.back().empty()) out.back().emplace_back();
    }
    at = end + 1;
  }
  return out;
}

double rouge_l_f(const Sentences& said, const Sentences& truth) {
  if (said.empty() || truth.empty()) return 0;
  std::set<Word> common;
  for (const auto& right : truth)
    for (const auto& sentence : said) add_common(right, sentence, common);
  const auto n = static_cast<double>(common.size());
  const double recall = n / static_cast<double>(n_distinct(truth));
  const double precision = n / static_cast<double>(n_distinct(said));
  return 2 * (precision * recall / (precision + recall + kNoZero));
}

}  // namespace satchel::eval::longbench
