#include "runtime/chat/held_text.h"

#include <algorithm>
#include <string>
#include <utility>

namespace satchel::runtime {
namespace {

using kvcache::HeldToken;

void add(std::vector<HeldWords>& words, const IndexRange& place, const HeldToken& held) {
  if (place.size() == 0) return;
  if (!words.empty() && words.back().words.end == place.begin && words.back().held == held)
    words.back().words.end = place.end;
  else
    words.push_back({place, held});
}

HeldToken mean_of(std::span<const HeldToken> held) {
  HeldToken mean;
  for (const HeldToken& token : held) {
    mean.share += token.share;
    mean.bits += token.bits * token.share;
    mean.is_resting = mean.is_resting || token.is_resting;
  }
  if (mean.share > 0) mean.bits /= mean.share;
  mean.share /= static_cast<float>(held.size());
  return mean;
}

}  // namespace

std::vector<IndexRange> token_places(std::string_view text, std::span<const TokenId> tokens,
                                     const Tokenizer& tokenizer) {
  std::string said;
  std::vector<std::size_t> ends;  // in `said`, of each token
  for (const TokenId token : tokens) {
    tokenizer.append_piece(token, said);
    ends.push_back(said.size());
  }
  // Behind the text a template writes little; before it, it may write the text's own first words.
  const std::size_t begin = said.rfind(text);
  std::vector<IndexRange> places;
  if (begin == std::string::npos) return places;
  const auto in_text = [&](std::size_t at) {
    return std::clamp(at, begin, begin + text.size()) - begin;
  };
  std::size_t at = 0;
  for (const std::size_t end : ends)
    places.push_back({in_text(std::exchange(at, end)), in_text(end)});
  return places;
}

std::vector<HeldWords> held_words(std::string_view text, std::span<const TokenId> tokens,
                                  std::span<const HeldToken> held, const Tokenizer& tokenizer) {
  std::vector<HeldWords> words;
  held = held.first(std::min(held.size(), tokens.size()));
  if (held.empty() || text.empty()) return words;
  const std::vector<IndexRange> places = token_places(text, tokens, tokenizer);
  if (places.empty()) add(words, {0, text.size()}, mean_of(held));
  for (std::size_t i = 0; i < std::min(places.size(), held.size()); ++i)
    add(words, places[i], held[i]);
  return words;
}

}  // namespace satchel::runtime
