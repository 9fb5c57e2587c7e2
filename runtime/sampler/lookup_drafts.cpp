#include "runtime/sampler/lookup_drafts.h"

#include <algorithm>

namespace satchel::runtime {
namespace {

constexpr std::size_t kShortMatch = 6;  // chosen

struct Match {
  std::size_t n_tokens = 0, end = 0;  // the text goes on at `end`
};

// Tokens before `end` that are those before the text's end, at most kMatchMost.
std::size_t n_same(std::span<const std::int32_t> text, std::size_t end) {
  const std::size_t n_most = std::min(end, LookupDrafts::kMatchMost);
  std::size_t n = 0;
  while (n < n_most && text[end - 1 - n] == text[text.size() - 1 - n]) ++n;
  return n;
}

Match longest_match(std::span<const std::int32_t> text) {
  Match best{.n_tokens = LookupDrafts::kMatchLeast - 1};  // to be beaten
  for (std::size_t end = text.size() - 1; end >= LookupDrafts::kMatchLeast; --end) {
    if (text[end - 1] != text.back()) continue;
    const std::size_t n = n_same(text, end);
    if (n > best.n_tokens) best = {.n_tokens = n, .end = end};
    if (n == LookupDrafts::kMatchMost) break;
  }
  return best;
}

Match close_match(std::span<const std::int32_t> text, std::size_t source) {
  const std::size_t n = source == 0 ? 0 : LookupDrafts::kClose;
  for (std::size_t i = source; i < std::min(source + n, text.size() - 1); ++i)
    if (text[i] == text.back()) return {.n_tokens = 1, .end = i + 1};
  return {};
}

}  // namespace

std::span<const std::int32_t> LookupDrafts::after(std::span<const std::int32_t> text,
                                                  std::size_t n_most) {
  if (n_most == 0 || text.size() <= kMatchLeast) return {};
  Match match = longest_match(text);
  if (match.end == 0) match = close_match(text, source_);
  if (match.end == 0) return {};
  which_ = match.n_tokens == 1 ? 0 : match.n_tokens <= kShortMatch ? 1 : 2;
  const std::size_t n = pace_.n_to_try(which_, std::min(n_most, text.size() - match.end));
  if (n > 0) source_ = match.end;
  return text.subspan(match.end, n);
}

void LookupDrafts::took(double ms, const DraftCounts& step) {
  pace_.took(ms, step, which_);
  source_ += step.n_accepted;
}

}  // namespace satchel::runtime
