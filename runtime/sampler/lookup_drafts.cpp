#include "runtime/sampler/lookup_drafts.h"

#include <algorithm>

namespace satchel::runtime {
namespace {

constexpr double kNewest = 0.15;        // weight of the newest draft in an average; chosen
constexpr std::size_t kTried = 2;       // drafts where nothing is known; chosen
constexpr std::size_t kStepsKnown = 2;  // with drafts: the first may be a slow one
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

void NewestTimes::add(double ms) {
  ms_[next_] = ms;
  next_ = (next_ + 1) % kMost;
  n_ = std::min(n_ + 1, kMost);
}

double NewestTimes::median() const {
  std::array<double, kMost> ms = ms_;
  const auto middle = ms.begin() + static_cast<std::ptrdiff_t>((n_ - 1) / 2);
  std::nth_element(ms.begin(), middle, ms.begin() + static_cast<std::ptrdiff_t>(n_));
  return *middle;
}

std::span<const std::int32_t> LookupDrafts::after(std::span<const std::int32_t> text,
                                                  std::size_t n_most) {
  if (n_most == 0 || text.size() <= kMatchLeast) return {};
  Match match = longest_match(text);
  if (match.end == 0) match = close_match(text, source_);
  if (match.end == 0) return {};
  which_ = match.n_tokens == 1 ? 0 : match.n_tokens <= kShortMatch ? 1 : 2;
  const std::size_t n = std::min({n_most, n_that_pay(), text.size() - match.end});
  if (n == 0) ++n_since_try_;
  if (n > 0) source_ = match.end;
  return text.subspan(match.end, n);
}

// A step of n drafts gives 1 + p + p² + … + pⁿ tokens and takes plain_ms + n · draft_ms.
std::size_t LookupDrafts::n_that_pay() const {
  if (plain_.n() == 0) return 0;  // first one step without any, to compare with
  if (added_.n() < kStepsKnown) return kTried;
  const double plain_ms = plain_.median(), draft_ms = added_.median();
  double best = 1 / plain_ms, tokens = 1, power = 1;
  std::size_t n_best = 0;
  for (std::size_t n = 1; n <= kMost; ++n) {
    power *= shares_[which_];
    tokens += power;
    const double rate = tokens / (plain_ms + static_cast<double>(n) * draft_ms);
    if (rate <= best) continue;
    best = rate;
    n_best = n;
  }
  return n_best == 0 && retries() ? kTried : n_best;
}

void LookupDrafts::took(double ms, const DraftCounts& step) {
  if (step.n_drafted == 0) {
    plain_.add(std::max(ms, 1e-6));
    return;
  }
  const double added_ms =
      std::max((ms - plain_.median()) / static_cast<double>(step.n_drafted), 1e-6);
  if (retries()) {  // what was before no longer counts: it may have been a busy machine
    added_ = {};
    for (std::size_t i = 1; i < kStepsKnown; ++i) added_.add(added_ms);
  }
  added_.add(added_ms);
  n_since_try_ = 0;
  counts_.n_drafted += step.n_drafted;
  counts_.n_accepted += step.n_accepted;
  source_ += step.n_accepted;
  double& accepted = shares_[which_];
  for (std::size_t i = 0; i < step.n_accepted; ++i) accepted += kNewest * (1 - accepted);
  if (step.n_accepted < step.n_drafted) accepted -= kNewest * accepted;
}

}  // namespace satchel::runtime
