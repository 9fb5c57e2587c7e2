#include "runtime/chat/attended_text.h"

#include <algorithm>
#include <numeric>

#include "runtime/chat/held_text.h"

namespace satchel::runtime {

std::vector<AttendedWords> attended_words(std::string_view text, std::span<const TokenId> tokens,
                                          std::span<const float> shares,
                                          const Tokenizer& tokenizer) {
  std::vector<AttendedWords> words;
  shares = shares.first(std::min(shares.size(), tokens.size()));
  if (shares.empty() || text.empty()) return words;
  const std::vector<IndexRange> places = token_places(text, tokens, tokenizer);
  if (places.empty())
    words.push_back({.words = {0, text.size()},
                     .n_tokens = shares.size(),
                     .share = std::accumulate(shares.begin(), shares.end(), 0.0f)});
  for (std::size_t i = 0; i < std::min(places.size(), shares.size()); ++i)
    if (places[i].size() > 0) words.push_back({.words = places[i], .share = shares[i]});
  return words;
}

}  // namespace satchel::runtime
