// PageReader: base of page selectors that weigh each page by its note and read the heaviest. A
// stage gives the weights; what is read by them is one rule for all.
//   formula a page's weight for a query head is the logarithm of an estimate or a bound of its
//           exp(scale · q·k). Its share: weight - ln sum exp(weights) over the lane's pages; a page
//           of the lane has the largest share of its heads
//   params  tokens  live tokens that are read, at least (1024); sinks and tail come on top
//           pages   pages that are read, at least (3)
//           dense_layers  first layers that read everything (2)
//   moved   pages that have been moved in the text are always read: their notes are of keys where
//           they stood before
#pragma once

#include <cmath>
#include <cstddef>
#include <cstring>
#include <limits>
#include <span>
#include <vector>

#include "kernels/base/half.h"
#include "kernels/base/load_number.h"
#include "kvcache/stages/stage.h"

namespace satchel::kvcache {

// What a page's note says to one query head.
struct NotedPage {
  std::span<const std::byte> note;
  std::size_t n_tokens = 0;  // at most kPageTokens
  const kernels::LiveMask& live;
};

class PageReader : public Reader {
 public:
  bool reads_all() const override { return false; }
  void choose(const Step& step, std::vector<std::size_t>& chosen) const override;

 protected:
  Result<void> read_budget(Params& params);

 private:
  // Of a page with live tokens, for q [head_dim]. Notes can be any bytes; NaN counts as least.
  virtual double weight(const NotedPage& page, std::span<const float> q, float scale) const = 0;

  std::size_t n_enough(const Step& step, std::span<const float> shares,
                       std::span<const std::size_t> order) const;
  void raise_shares(const Step& step, std::span<const float> q,
                    std::span<const std::size_t> pages) const;

  std::size_t tokens_ = 1024, pages_ = 3, dense_layers_ = 2;
};

// ln sum exp of what is added. NaN is passed over, and so is infinity: only damaged notes have it.
class LogSum {
 public:
  void add(double x) {
    if (!std::isfinite(x)) return;
    if (x <= most_) {
      sum_ += std::exp(x - most_);
      return;
    }
    sum_ = sum_ * std::exp(most_ - x) + 1;
    most_ = x;
  }
  double value() const { return most_ + std::log(sum_); }  // -infinity: of nothing

 private:
  double most_ = -std::numeric_limits<double>::infinity(), sum_ = 0;
};

// Notes are fp16 numbers first.
inline float half_at(std::span<const std::byte> halves, std::size_t i) {
  return half_to_float(load_number<Half>(halves.data() + i * sizeof(Half)));
}
inline void put_half(std::span<std::byte> halves, std::size_t i, Half value) {
  std::memcpy(halves.data() + i * sizeof(Half), &value, sizeof value);
}
// q · row, of fp16 rows [head_dim] one behind the other.
double product(std::span<const float> q, std::span<const std::byte> rows, std::size_t row);

}  // namespace satchel::kvcache
