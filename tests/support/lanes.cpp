#include "support/lanes.h"

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <iterator>

#include "kernels/base/rng.h"
#include "support/backends.h"

namespace satchel::test {
namespace {

// Rises by one, by two at every fifth token: holes, as eviction leaves them.
std::int32_t advance(std::int32_t& next) {
  const std::int32_t position = next;
  next += position % 5 == 4 ? 2 : 1;
  return position;
}

}  // namespace

std::vector<Half> random_halves(std::size_t n, std::size_t head_dim, std::uint64_t seed,
                                double loud) {
  Rng rng(seed);
  std::vector<Half> out(n);
  for (std::size_t i = 0; i < n; ++i) {
    double sum = -2;
    for (int k = 0; k < 4; ++k) sum += rng.uniform();
    out[i] = float_to_half(static_cast<float>(sum * 1.73 * (i % head_dim % 32 == 5 ? loud : 1)));
  }
  return out;
}

LaneFixture::LaneFixture(const Shape& shape) : head_dim_(shape.head_dim), layout_(shape.layout) {
  const std::size_t n_exact = shape.n_first + shape.n_last;
  k_ = random_halves(n_exact * head_dim_, head_dim_, shape.seed, shape.loud);
  v_ = random_halves(n_exact * head_dim_, head_dim_, shape.seed + 1);
  for (std::size_t t = 0; t < shape.n_first; ++t) positions_.push_back(advance(next_position_));
  const auto reference = open_reference();
  const std::size_t values = kernels::kPageTokens * head_dim_;
  for (std::size_t p = 0; p < shape.n_pages; ++p) {
    const auto k = random_halves(values, head_dim_, shape.seed + 10 * p + 2, shape.loud);
    const auto v = random_halves(values, head_dim_, shape.seed + 10 * p + 3);
    std::vector<std::int32_t> positions;
    for (std::size_t t = 0; t < kernels::kPageTokens; ++t)
      positions.push_back(advance(next_position_));
    bytes_.emplace_back(layout_.bytes);
    const auto encoded = reference->encode_page(layout_,
                                                {.k = k.data(),
                                                 .v = v.data(),
                                                 .positions = positions.data(),
                                                 .n_tokens = kernels::kPageTokens},
                                                bytes_.back().data());
    if (!encoded.ok()) std::abort();
    pages_.push_back({.bytes = bytes_.back().data(),
                      .layout = &layout_,
                      .first_position = positions.front(),
                      .last_position = positions.back()});
  }
  for (std::size_t t = 0; t < shape.n_last; ++t) positions_.push_back(advance(next_position_));
  const auto run = [&](std::size_t first, std::size_t n) {
    runs_.push_back({.k = k_.data() + first * head_dim_,
                     .v = v_.data() + first * head_dim_,
                     .positions = positions_.data() + first,
                     .n_tokens = n});
  };
  if (shape.n_first > 0) run(0, shape.n_first);
  run(shape.n_first, shape.n_last);  // may be empty: a run of 0 tokens is legal
}

GoldenFile::GoldenFile(const std::string& path) {
  std::ifstream in(std::string(SATCHEL_SOURCE_DIR) + "/tests/golden/" + path, std::ios::binary);
  if (!in) std::cerr << "missing golden file " << path << "\n";
  const std::vector<char> all((std::istreambuf_iterator<char>(in)), {});
  bytes_.resize(all.size());
  if (!all.empty()) std::memcpy(bytes_.data(), all.data(), all.size());
}

void GoldenFile::copy(std::byte* to, std::size_t n) {
  if (n > n_left()) {
    std::cerr << "golden file ends early\n";
    std::abort();
  }
  if (n > 0) std::memcpy(to, bytes_.data() + at_, n);
  at_ += n;
}

double distance(const std::vector<float>& got, const std::vector<float>& want) {
  double error = 0, size = 0;
  for (std::size_t i = 0; i < want.size(); ++i) {
    const double g = static_cast<double>(got[i]), w = static_cast<double>(want[i]);
    error += (g - w) * (g - w);
    size += w * w;
  }
  return std::sqrt(error) / std::max(std::sqrt(size), 1e-30);
}

}  // namespace satchel::test
