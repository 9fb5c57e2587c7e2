#include "support/lanes.h"

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <iterator>

#include "kernels/base/rng.h"
#include "support/backends.h"
#include "support/source_dir.h"

namespace satchel::test {
namespace {

// Rises by one, by two at every fifth token: holes, as eviction leaves them.
std::int32_t advance(std::int32_t& next) {
  const std::int32_t position = next;
  next += position % 5 == 4 ? 2 : 1;
  return position;
}

[[noreturn]] void fail(const std::string& why) {
  std::cerr << why << "\n";
  std::abort();
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

LaneFixture::LaneFixture(const Shape& shape)
    : head_dim_(shape.head_dim), is_latent_(shape.is_latent) {
  const std::size_t n_exact = shape.n_first + shape.n_last;
  k_ = random_halves(n_exact * head_dim_, head_dim_, shape.seed, shape.loud);
  v_ = random_halves(n_exact * head_dim_, head_dim_, shape.seed + 1);
  next_position_ = shape.first_position;
  for (std::size_t t = 0; t < shape.n_first; ++t) positions_.push_back(advance(next_position_));
  if (shape.n_pages > 0) {
    kernels::PageShape page = shape.page;
    page.head_dim = head_dim_;
    page.is_latent = is_latent_;
    auto layout = kernels::page_layout(page);
    if (!layout.ok()) fail(layout.error().message);
    layout_ = std::make_unique<kernels::PageLayout>(layout.value());
  }
  for (std::size_t p = 0; p < shape.n_pages; ++p) add_page(shape, p);
  for (std::size_t t = 0; t < shape.n_last; ++t) positions_.push_back(advance(next_position_));
  if (shape.n_first > 0) add_run(0, shape.n_first);
  add_run(shape.n_first, shape.n_last);  // may be empty: a run of 0 tokens is legal
}

void LaneFixture::add_run(std::size_t first, std::size_t n) {
  runs_.push_back({.k = k_.data() + first * head_dim_,
                   .v = (is_latent_ ? k_ : v_).data() + first * head_dim_,
                   .positions = positions_.data() + first,
                   .n_tokens = n});
}

void LaneFixture::add_page(const Shape& shape, std::size_t index) {
  const std::size_t n = shape.page_tokens == 0 ? layout_->capacity : shape.page_tokens;
  const std::uint64_t seed = shape.seed + 10 * index;
  const auto k = random_halves(n * head_dim_, head_dim_, seed + 2, shape.loud);
  const auto v = random_halves(n * head_dim_, head_dim_, seed + 3);
  const std::int32_t shift = index == 0 ? 0 : shape.shift;
  std::vector<std::int32_t> positions;
  std::vector<float> log_counts;
  for (std::size_t t = 0; t < n; ++t) {
    positions.push_back(advance(next_position_) - shift);
    log_counts.push_back(std::log(static_cast<float>(t % 4 + 1)));
  }
  const kernels::ExactRun run{k.data(), (is_latent_ ? k : v).data(), positions.data(), n};
  kernels::PageView page = encode_page(*layout_, run, bytes_.emplace_back(),
                                       layout_->log_counts_at == 0 ? nullptr : log_counts.data());
  for (std::size_t t = 0; t < n && shape.dead_every > 0; t += shape.dead_every) page.live.clear(t);
  std::size_t first = 0, last = n - 1;
  while (first < last && !page.live.has(first)) ++first;
  while (last > first && !page.live.has(last)) --last;
  page.shift = shift;
  page.first_position = positions[first] + shift;
  page.last_position = positions[last] + shift;
  pages_.push_back(page);
}

kernels::OperandShape affine_operand(std::size_t bits, std::size_t group) {
  if (bits == 16) return {};
  return {.form = kernels::OperandShape::Form::affine, .bits = bits, .group = group};
}

kernels::PageShape affine_pages(std::size_t bits, std::size_t group) {
  return {.k = affine_operand(bits, group), .v = affine_operand(bits, group)};
}

kernels::PageView encode_page(const kernels::PageLayout& layout, const kernels::ExactRun& run,
                              std::vector<std::byte>& bytes, const float* log_counts) {
  bytes.resize(layout.bytes);
  const kernels::EncodeArgs args{
      .layout = &layout, .exact = run, .log_counts = log_counts, .page = bytes.data()};
  const auto encoded = open_reference()->encode_pages({&args, 1});
  if (!encoded.ok()) fail(encoded.error().message);
  return {.bytes = bytes.data(),
          .layout = &layout,
          .n_tokens = static_cast<std::uint32_t>(run.n_tokens),
          .live = kernels::LiveMask::first(run.n_tokens),
          .first_position = run.positions[0],
          .last_position = run.positions[run.n_tokens - 1]};
}

std::unique_ptr<kernels::LaneTable> table_of(kernels::Backend& backend,
                                             const std::vector<kernels::LaneView>& lanes) {
  auto table = backend.make_lane_table(lanes.size());
  if (!table.ok()) fail(table.error().message);
  for (std::size_t i = 0; i < lanes.size(); ++i) {
    const auto runs = (*table)->set_runs(i, lanes[i].runs);
    const auto pages = (*table)->set_pages(i, lanes[i].pages);
    if (!runs.ok() || !pages.ok()) fail("a lane was refused");
  }
  return std::move(table).value();
}

void BackwardsCode::encode(const kernels::OperandLayout& layout, const float* x,
                           std::size_t n_tokens, std::size_t head_dim, std::byte* page) const {
  auto* rows = reinterpret_cast<Half*>(page + layout.planes[0].at);
  for (std::size_t i = 0; i < n_tokens * head_dim; ++i)
    rows[i] = float_to_half(x[i / head_dim * head_dim + head_dim - 1 - i % head_dim]);
}

void BackwardsCode::decode(const kernels::OperandLayout& layout, const std::byte* page,
                           std::size_t n_tokens, std::size_t head_dim, float* x) const {
  const auto* rows = reinterpret_cast<const Half*>(page + layout.planes[0].at);
  for (std::size_t i = 0; i < n_tokens * head_dim; ++i)
    x[i] = half_to_float(rows[i / head_dim * head_dim + head_dim - 1 - i % head_dim]);
}

GoldenFile::GoldenFile(const std::string& path) {
  std::ifstream in(test::source_dir() + "/tests/golden/" + path, std::ios::binary);
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
