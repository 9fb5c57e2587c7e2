// HostMirroredArray: an array in main memory with a copy on the card. It records changed ranges and
// sends them on request; the copy's capacity doubles.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "kernels/base/index_range.h"
#include "kernels/cuda/device/arguments.h"
#include "kernels/cuda/device/device.h"

namespace satchel::kernels::cuda {

template <class T>
class HostMirroredArray {
 public:
  std::size_t size() const { return values_.size(); }
  const T& operator[](std::size_t i) const { return values_[i]; }
  std::span<const T> span(std::size_t first, std::size_t n) const {
    return std::span(values_).subspan(first, n);
  }
  const T* there() const { return reinterpret_cast<const T*>(copy_.data()); }

  void set(std::size_t i, const T& value) {
    if (values_[i] == value) return;
    values_[i] = value;
    changed(i, i + 1);
  }
  void push_back(const T& value) {
    values_.push_back(value);
    changed(size() - 1, size());
  }
  // From [n_rows][from] to [n_rows][to]; to is not less.
  void widen(std::size_t n_rows, std::size_t from, std::size_t to) {
    std::vector<T> wide(n_rows * to);
    for (std::size_t row = 0; row < n_rows; ++row)
      std::copy_n(values_.begin() + static_cast<std::ptrdiff_t>(row * from), from,
                  wide.begin() + static_cast<std::ptrdiff_t>(row * to));
    values_ = std::move(wide);
    stretches_.clear();
    changed(0, size());
  }

  // Queues the changed ranges; main memory has been read when it returns. They go through
  // `arguments`, if any, so that the queue can hold them back with their step (queue.h).
  Result<void> send(Device& device, Arguments* arguments) {
    if (copy_.size() < size() * sizeof(T)) {
      const std::size_t bytes = std::max(2 * copy_.size(), size() * sizeof(T));
      stretches_.assign(1, {0, size()});
      copy_ = {};
      SATCHEL_TRY_ASSIGN(copy_, device.allocate(bytes));
    }
    for (const IndexRange& each : stretches_) {
      std::byte* const to = copy_.data() + each.begin * sizeof(T);
      const auto bytes = std::as_bytes(span(each.begin, each.end - each.begin));
      SATCHEL_TRY(arguments != nullptr ? arguments->send(to, bytes) : device.upload(to, bytes));
    }
    stretches_.clear();
    return {};
  }

 private:
  // Chosen: sending as many bytes again costs less than another transfer.
  static constexpr std::size_t kGapBytes = 4096;

  void changed(std::size_t first, std::size_t end) {
    if (!stretches_.empty()) {
      IndexRange& last = stretches_.back();
      if (first >= last.begin && first <= last.end + kGapBytes / sizeof(T)) {
        last.end = std::max(last.end, end);
        return;
      }
    }
    stretches_.push_back({first, end});
  }

  std::vector<T> values_;
  std::vector<IndexRange> stretches_;
  Buffer copy_;
};

}  // namespace satchel::kernels::cuda
