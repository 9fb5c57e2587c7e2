#include "runtime/fidelity/recall_probe.h"

#include <algorithm>
#include <map>

namespace satchel::runtime {
namespace {

constexpr std::size_t kPartTokensMin = 64;  // chosen: shorter ones have hardly a fact each

constexpr std::size_t kFar = 1u << 20;

// Which of all tokens may be asked.
std::vector<bool> find_facts(std::span<const std::int32_t> tokens,
                             std::span<const IndexRange> parts,
                             const std::function<TokenLook(std::int32_t)>& look_of) {
  std::map<std::int32_t, std::size_t> counts;
  for (const IndexRange& part : parts)
    for (std::size_t i = part.begin; i < part.end; ++i) ++counts[tokens[i]];
  std::vector<bool> may_ask(tokens.size());
  for (const IndexRange& part : parts) {
    std::size_t since = kFar;  // the last rare token of this sentence
    for (std::size_t i = part.begin; i < part.end; ++i) {
      const TokenLook look = look_of(tokens[i]);
      const bool is_rare = look == TokenLook::number ||
                           (look == TokenLook::word && counts[tokens[i]] <= kRareTokens);
      may_ask[i] = is_rare && since <= kRecallHookTokens;
      since = look == TokenLook::end ? kFar : is_rare ? 1 : since + 1;
    }
  }
  return may_ask;
}

Passage passage_at(std::size_t first, const std::vector<bool>& may_ask) {
  Passage out{.first = first, .n_tokens = kPassageTokens, .facts = {}};
  for (std::size_t i = first; i < first + kPassageTokens; ++i)
    if (may_ask[i]) out.facts.push_back(i);
  return out;
}

// Where passages can begin, side by side over all parts.
std::vector<std::size_t> beginnings(std::span<const IndexRange> parts) {
  std::vector<std::size_t> out;
  for (const IndexRange& part : parts)
    for (std::size_t i = part.begin + kRecallHookTokens; i + kPassageTokens <= part.end; ++i)
      out.push_back(i);
  return out;
}

}  // namespace

std::vector<Passage> choose_passages(std::span<const std::int32_t> tokens,
                                     std::span<const IndexRange> parts,
                                     const std::function<TokenLook(std::int32_t)>& look_of) {
  const std::vector<bool> may_ask = find_facts(tokens, parts, look_of);
  const std::vector<std::size_t> firsts = beginnings(parts);
  const std::size_t n = std::clamp<std::size_t>(firsts.size() / kPartTokensMin, 1, kPassages);
  std::vector<Passage> chosen;
  for (std::size_t p = 0; p < n; ++p) {
    Passage best;
    for (std::size_t i = p * firsts.size() / n; i < (p + 1) * firsts.size() / n; ++i) {
      const bool overlaps =
          !chosen.empty() && firsts[i] < chosen.back().first + chosen.back().n_tokens;
      if (overlaps) continue;
      Passage passage = passage_at(firsts[i], may_ask);
      if (passage.facts.size() > best.facts.size()) best = std::move(passage);
    }
    if (!best.facts.empty()) chosen.push_back(std::move(best));
  }
  return chosen;
}

}  // namespace satchel::runtime
