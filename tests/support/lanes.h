// Lanes with random contents for tests of the cache operations, and reading of golden files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "kernels/contract/backend.h"
#include "support/rope.h"

namespace satchel::test {

// Tokens of one lane: exact ones in up to two runs, packed ones in pages, positions rising with
// holes from page to page to run.
class LaneFixture {
 public:
  struct Shape {
    std::size_t head_dim = 64;
    std::size_t n_first = 0;  // exact tokens before the pages (sinks)
    std::size_t n_pages = 0;
    std::size_t n_last = 0;        // exact tokens after them (tail)
    kernels::PageShape page = {};  // its head_dim is filled in
    std::size_t page_tokens = 0;   // of each page; 0: full
    std::size_t dead_every = 0;    // every so many slots one is dead; 0: none
    std::int32_t shift = 0;        // of all pages but the first; where tokens stand stays the same
    std::int32_t first_position = 0;
    bool is_latent = false;  // runs and pages
    std::uint64_t seed = 1;
    double loud = 1;  // factor of one channel in 32: 10 and more in real keys
  };
  explicit LaneFixture(const Shape& shape);

  kernels::LaneView view() const { return {.runs = runs_, .pages = pages_}; }
  std::int32_t end_position() const { return next_position_; }
  std::vector<Half>& v() { return v_; }  // of the exact tokens

 private:
  void add_page(const Shape& shape, std::size_t index);
  void add_run(std::size_t first, std::size_t n);

  std::size_t head_dim_;
  bool is_latent_;
  std::int32_t next_position_ = 0;
  std::vector<Half> k_, v_;
  std::vector<std::int32_t> positions_;
  std::vector<std::vector<std::byte>> bytes_;
  std::unique_ptr<kernels::PageLayout> layout_;  // pages point to it
  std::vector<kernels::ExactRun> runs_;
  std::vector<kernels::PageView> pages_;
};

// K and V affine, in groups of `group`; bits 16: exact.
kernels::PageShape affine_pages(std::size_t bits, std::size_t group = 16);
kernels::OperandShape affine_operand(std::size_t bits, std::size_t group);

// One page of the tokens of `run`, all live; what it points to must outlive the view.
kernels::PageView encode_page(const kernels::PageLayout& layout, const kernels::ExactRun& run,
                              std::vector<std::byte>& bytes, const float* log_counts = nullptr);

// A table with these views, which must outlive it.
std::unique_ptr<kernels::LaneTable> table_of(kernels::Backend& backend,
                                             const std::vector<kernels::LaneView>& lanes);

// About normal, standard deviation 1, as fp16; channels 5, 37, 69 … `loud` times as large.
std::vector<Half> random_halves(std::size_t n, std::size_t head_dim, std::uint64_t seed,
                                double loud = 1);

// A codec with loops of its own: fp16 rows from the last channel to the first.
class BackwardsCode final : public kernels::OperandCode {
 public:
  BackwardsCode(std::size_t capacity, std::size_t head_dim)
      : plane_{.kind = kernels::PlaneKind::token_factors,
               .bytes = static_cast<std::uint32_t>(capacity * head_dim * sizeof(Half))} {}
  // What points to this object, which must outlive it.
  kernels::OperandShape operand() const {
    return {.form = kernels::OperandShape::Form::coded, .code = this, .planes = {&plane_, 1}};
  }
  std::string_view name() const override { return "backwards"; }
  void encode(const kernels::OperandLayout& layout, const float* x, std::size_t n_tokens,
              std::size_t head_dim, std::byte* page) const override;
  void decode(const kernels::OperandLayout& layout, const std::byte* page, std::size_t n_tokens,
              std::size_t head_dim, float* x) const override;

 private:
  kernels::Plane plane_;
};

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
