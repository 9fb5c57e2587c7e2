// Smooths scores over neighbours in the text, so that contiguous runs are retained rather than
// single tokens. Protected and evicted tokens are not neighbours: a window ends at them as at the
// ends of the span, and their scores neither change nor spread.
//   params  kernel  width of the window, odd (5)
//           max     the largest score in the window instead of the mean (false)
//           from    texts of which less than this share stays are left as they are (0)
//   formula mean: sum over the window / kernel, also where the window is cut short, so that edges
//           are lowered, as the authors' code does
//   source  arXiv:2404.14469 (SnapKV) section 4.2; max: the authors' settings for LongBench,
//           arXiv:2407.11550 (Ada-KV)
#include <algorithm>
#include <cmath>
#include <vector>

#include "kvcache/stages/stage.h"

namespace satchel::kvcache {
namespace {
class PoolFilter final : public Filter {
 public:
  Result<void> read(Params& params) {
    SATCHEL_TRY_ASSIGN(kernel_,
                       params.one_of("kernel", 5, {1, 3, 5, 7, 9, 11, 13, 15, 21, 31, 63}));
    SATCHEL_TRY_ASSIGN(max_, params.flag("max", false));
    SATCHEL_TRY_ASSIGN(from_, params.number("from", {.fallback = 0, .min = 0, .max = 1}));
    return {};
  }

  void apply(const TokenSpan& span, std::span<float> scores) const override {
    if (span.keep < from_) return;
    const std::vector<float> before(scores.begin(), scores.end());
    for (std::size_t t = 0; t < scores.size(); ++t)
      if (std::isfinite(before[t])) scores[t] = pooled(before, t);
  }

 private:
  float pooled(std::span<const float> scores, std::size_t t) const {
    const std::size_t reach = kernel_ / 2;
    std::size_t first = t, end = t + 1;
    while (first > 0 && t - first < reach && std::isfinite(scores[first - 1])) --first;
    while (end < scores.size() && end - t <= reach && std::isfinite(scores[end])) ++end;
    const std::span<const float> window = scores.subspan(first, end - first);
    if (max_) return *std::max_element(window.begin(), window.end());
    double sum = 0;
    for (const float score : window) sum += static_cast<double>(score);
    return static_cast<float>(sum / static_cast<double>(kernel_));
  }

  std::size_t kernel_ = 5;
  bool max_ = false;
  double from_ = 0;
};
}  // namespace

extern const StageMaker filters_pool = stage_of<PoolFilter>("arXiv:2404.14469");
}  // namespace satchel::kvcache
