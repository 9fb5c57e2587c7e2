// Lanes with random contents for tests of the cache operations, and reading of golden files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "kernels/contract/backend.h"

namespace satchel::test {

// Tokens of one lane: exact ones in up to two runs, packed ones in pages, positions rising with
// holes from page to page to run.
class LaneFixture {
 public:
  struct Shape {
    std::size_t head_dim = 64;
    std::size_t n_first = 0;  // exact tokens before the pages (sinks)
    std::size_t n_pages = 0;
    std::size_t n_last = 0;  // exact tokens after them (tail)
    kernels::PageLayout layout = {};
    std::uint64_t seed = 1;
    double loud = 1;  // factor of one channel in 32: 10 and more in real keys
  };
  explicit LaneFixture(const Shape& shape);

  kernels::LaneView view() const { return {.runs = runs_, .pages = pages_}; }
  std::int32_t end_position() const { return next_position_; }
  std::vector<Half>& v() { return v_; }  // of the exact tokens

 private:
  std::size_t head_dim_;
  std::int32_t next_position_ = 0;
  std::vector<Half> k_, v_;
  std::vector<std::int32_t> positions_;
  std::vector<std::vector<std::byte>> bytes_;
  kernels::PageLayout layout_;
  std::vector<kernels::ExactRun> runs_;
  std::vector<kernels::PageView> pages_;
};

// About normal, standard deviation 1, as fp16; channels 5, 37, 69 … `loud` times as large.
std::vector<Half> random_halves(std::size_t n, std::size_t head_dim, std::uint64_t seed,
                                double loud = 1);

// One file below tests/golden, read from front to back. A file that ends early fails the test.
class GoldenFile {
 public:
  explicit GoldenFile(const std::string& path);
  template <class T>
  std::vector<T> take(std::size_t n) {
    std::vector<T> out(n);
    copy(reinterpret_cast<std::byte*>(out.data()), n * sizeof(T));
    return out;
  }
  std::size_t n_left() const { return bytes_.size() - at_; }

 private:
  void copy(std::byte* to, std::size_t n);
  std::vector<std::byte> bytes_;
  std::size_t at_ = 0;
};

// ‖got − want‖ / ‖want‖
double distance(const std::vector<float>& got, const std::vector<float>& want);

}  // namespace satchel::test
