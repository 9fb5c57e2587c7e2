#include "runtime/sampler/draft_pace.h"

#include <algorithm>

namespace satchel::runtime {
namespace {

constexpr double kNewest = 0.15;        // weight of the newest draft in an average; chosen
constexpr double kFirstShare = 0.7;     // chosen: a first try is worth it
constexpr std::size_t kTried = 2;       // drafts where nothing is known; chosen
constexpr std::size_t kStepsKnown = 2;  // with drafts: the first may be a slow one

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

DraftPace::DraftPace(std::size_t retry_steps, std::size_t n_kinds)
    : retry_steps_(retry_steps), shares_(n_kinds, kFirstShare) {}

std::size_t DraftPace::n_to_try(std::size_t kind, std::size_t n_most) {
  const std::size_t n = std::min(n_most, n_that_pay(kind));
  if (n == 0) ++n_since_try_;
  return n;
}

std::size_t DraftPace::n_that_pay(std::size_t kind) const {
  if (plain_.n() == 0) return 0;  // first one step without any, to compare with
  if (added_.n() < kStepsKnown) return kTried;
  const double plain_ms = plain_.median(), draft_ms = added_.median();
  double best = 1 / plain_ms, tokens = 1, power = 1;
  std::size_t n_best = 0;
  for (std::size_t n = 1; n <= kMost; ++n) {
    power *= shares_[kind];
    tokens += power;
    const double rate = tokens / (plain_ms + static_cast<double>(n) * draft_ms);
    if (rate <= best) continue;
    best = rate;
    n_best = n;
  }
  return n_best == 0 && retries() ? kTried : n_best;
}

void DraftPace::took(double ms, const DraftCounts& step, std::size_t kind) {
  if (step.n_drafted == 0) {
    plain_.add(std::max(ms, 1e-6));
    return;
  }
  const double plain_ms = plain_.n() == 0 ? 0 : plain_.median();
  const double added_ms = std::max((ms - plain_ms) / static_cast<double>(step.n_drafted), 1e-6);
  if (retries()) {  // what was before no longer counts: it may have been a busy machine
    added_ = {};
    for (std::size_t i = 1; i < kStepsKnown; ++i) added_.add(added_ms);
  }
  added_.add(added_ms);
  n_since_try_ = 0;
  counts_.n_drafted += step.n_drafted;
  counts_.n_accepted += step.n_accepted;
  double& accepted = shares_[kind];
  for (std::size_t i = 0; i < step.n_accepted; ++i) accepted += kNewest * (1 - accepted);
  if (step.n_accepted < step.n_drafted) accepted -= kNewest * accepted;
}

}  // namespace satchel::runtime
