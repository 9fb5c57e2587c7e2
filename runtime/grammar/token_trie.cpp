#include "runtime/grammar/token_trie.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

namespace satchel::runtime {

// 64 at a time: most sets have nearly all tokens or nearly none.
bool TokenSet::keep_only(std::span<float> logits) const {
  constexpr float kNever = -std::numeric_limits<float>::infinity();
  bool is_any = false;
  for (std::size_t from = 0; from < logits.size(); from += 64) {
    const std::span<float> some =
        logits.subspan(from, std::min<std::size_t>(64, logits.size() - from));
    std::uint64_t word = from < n_ ? words_[from / 64] : 0;
    if (some.size() < 64) word &= (std::uint64_t{1} << some.size()) - 1;
    is_any = is_any || word != 0;
    if (word == 0)
      std::ranges::fill(some, kNever);
    else if (word != ~std::uint64_t{0})
      for (std::size_t i = 0; i < some.size(); ++i)
        if ((word >> i & 1) == 0) some[i] = kNever;
  }
  return is_any;
}

TokenTrie::TokenTrie(std::span<const std::string> texts, std::vector<std::int32_t> ends)
    : ends_(std::move(ends)), same_(texts.size(), -1) {
  std::ranges::sort(ends_);
  begins_.push_back(0);
  for (const std::string& text : texts) {
    bytes_ += text;
    begins_.push_back(static_cast<std::uint32_t>(bytes_.size()));
  }
  std::vector<std::int32_t> order(texts.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, {}, [this](std::int32_t token) { return text(token); });

  std::vector<std::uint32_t> path;  // nodes from the root to the last text's end
  std::string_view last;
  for (const std::int32_t token : order) {
    const std::string_view now = text(token);
    if (now.empty() || now.size() > std::numeric_limits<std::uint16_t>::max()) continue;
    if (now == last) {
      same_[static_cast<std::size_t>(token)] = std::exchange(nodes_.back().token, token);
      continue;
    }
    const auto common =
        static_cast<std::size_t>(std::ranges::mismatch(now, last).in1 - now.begin());
    const auto n = static_cast<std::uint32_t>(nodes_.size());
    for (; path.size() > common; path.pop_back()) nodes_[path.back()].behind = n;
    for (std::size_t i = common; i < now.size(); ++i) {
      path.push_back(static_cast<std::uint32_t>(nodes_.size()));
      nodes_.push_back({.behind = 0,
                        .token = -1,
                        .depth = static_cast<std::uint16_t>(i),
                        .byte = static_cast<std::uint8_t>(now[i])});
    }
    nodes_.back().token = token;
    depth_max_ = std::max(depth_max_, now.size());
    last = now;
  }
  for (const std::uint32_t node : path)
    nodes_[node].behind = static_cast<std::uint32_t>(nodes_.size());
}

std::string_view TokenTrie::text(std::int32_t token) const {
  if (token < 0 || static_cast<std::size_t>(token) + 1 >= begins_.size()) return {};
  const auto i = static_cast<std::size_t>(token);
  return std::string_view(bytes_).substr(begins_[i], begins_[i + 1] - begins_[i]);
}

bool TokenTrie::is_end(std::int32_t token) const {
  return std::ranges::binary_search(ends_, token);
}

TokenSet TokenTrie::allowed(GrammarMatcher& matcher, GrammarMatcher::State state) const {
  TokenSet out(n_tokens());
  std::vector<GrammarMatcher::State> states(depth_max_ + 1);  // after so many bytes
  states[0] = state;
  for (std::size_t i = 0; i < nodes_.size();) {
    const Node& node = nodes_[i];
    const GrammarMatcher::State now = matcher.after(states[node.depth], node.byte);
    if (now == GrammarMatcher::kRefused) {
      i = node.behind;
      continue;
    }
    states[node.depth + 1u] = now;
    for (std::int32_t token = node.token; token >= 0;
         token = same_[static_cast<std::size_t>(token)])
      out.add(static_cast<std::size_t>(token));
    ++i;
  }
  return out;
}

}  // namespace satchel::runtime
