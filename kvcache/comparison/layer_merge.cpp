#include "kvcache/comparison/layer_merge.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <string>

#include "kernels/base/assert.h"
#include "kernels/base/half.h"
#include "kvcache/base/transfer.h"
#include "kvcache/cache/cache.h"
#include "kvcache/state/cache_state.h"

namespace satchel::kvcache {
namespace {

// Nearer to 0 or half a turn than this, the formula divides by nothing; chosen, and the rows are
// then averaged.
constexpr double kSineLeast = 1e-4;

double as_half(double x) {
  return static_cast<double>(half_to_float(float_to_half(static_cast<float>(x))));
}

double norm_of(std::span<const float> row) {
  double squares = 0;
  for (const float x : row) squares += static_cast<double>(x) * static_cast<double>(x);
  return std::sqrt(squares);
}

double angle_between(std::span<const float> a, std::span<const float> b) {
  const double sizes = norm_of(a) * norm_of(b);
  if (!(sizes > 0)) return 0;
  double dot = 0;
  for (std::size_t i = 0; i < a.size(); ++i)
    dot += static_cast<double>(a[i]) * static_cast<double>(b[i]);
  return std::acos(std::clamp(dot / sizes, -1.0, 1.0));
}

// Weights of the two unit vectors. A row of zeros has no direction: the other's is taken.
struct Weights {
  double first = 0, deeper = 0;
};
Weights weights(double t, double angle, double norm_first, double norm_deeper) {
  if (!(norm_first > 0)) return {.deeper = 1};
  if (!(norm_deeper > 0)) return {.first = 1};
  const double sine = std::sin(angle);
  if (sine < kSineLeast) return {.first = 1 - t, .deeper = t};
  return {.first = std::sin((1 - t) * angle) / sine, .deeper = std::sin(t * angle) / sine};
}

void merge_row(double t, double angle, std::span<float> first, std::span<float> deeper) {
  const double norm_first = norm_of(first), norm_deeper = norm_of(deeper);
  const Weights w = weights(t, angle, norm_first, norm_deeper);
  for (std::size_t i = 0; i < first.size(); ++i) {
    double e = 0;
    if (norm_first > 0) e += w.first * static_cast<double>(first[i]) / norm_first;
    if (norm_deeper > 0) e += w.deeper * static_cast<double>(deeper[i]) / norm_deeper;
    first[i] = static_cast<float>(as_half(norm_first) * as_half(e));
    deeper[i] = static_cast<float>(as_half(norm_deeper) * as_half(e));
  }
}

bool is_pair(const LayerShape& a, const LayerShape& b) {
  return a.token() == b.token() && a.n_kv_heads == b.n_kv_heads && a.window == 0 && b.window == 0 &&
         !a.is_latent;
}

Error refused(const std::string& why) {
  return {ErrorKind::unsupported, "LAYER_MERGE", "Layers cannot be merged here: " + why};
}

// Rows of an exact operand of a page.
class PageRows {
 public:
  PageRows(CacheState& cache, const PageRecord& page, const kernels::OperandLayout& operand)
      : cache_(cache),
        rows_(reinterpret_cast<Half*>(cache.arena.at(page.extent) + operand.planes[0].at)),
        halves_(page.n_tokens * page.layout->head_dim) {}

  Result<std::vector<float>> read() {
    SATCHEL_TRY(download(cache_.backend, halves_, rows_));
    std::vector<float> values;
    for (const Half x : halves_) values.push_back(half_to_float(x));
    return values;
  }
  Result<void> write(std::span<const float> values) {
    std::ranges::transform(values, halves_.begin(), [](float x) { return float_to_half(x); });
    return upload(cache_.backend, rows_, halves_);
  }

 private:
  CacheState& cache_;
  Half* rows_;
  std::vector<Half> halves_;
};

}  // namespace

std::size_t merge_rows(const LayerMergeSettings& settings, std::size_t head_dim,
                       std::span<float> first, std::span<float> deeper) {
  SATCHEL_ASSERT(first.size() == deeper.size() && first.size() % head_dim == 0);
  const std::size_t n = first.size() / head_dim;
  const auto row = [&](std::span<float> rows, std::size_t t) {
    return rows.subspan(t * head_dim, head_dim);
  };
  std::vector<double> angles;
  for (std::size_t t = 0; t < n; ++t)
    angles.push_back(angle_between(row(first, t), row(deeper, t)));
  std::vector<std::size_t> order(n);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, std::greater<>(), [&](std::size_t t) { return angles[t]; });
  const auto n_retained =
      static_cast<std::size_t>(std::llround(settings.retained_share * static_cast<double>(n)));
  for (std::size_t i = n_retained; i < n; ++i)
    merge_row(settings.towards_deeper, angles[order[i]], row(first, order[i]),
              row(deeper, order[i]));
  return n_retained;
}

Result<void> LayerMerge::merge_new_pages(Cache& of) {
  CacheState& cache = of.state();
  const std::vector<LayerShape>& layers = cache.layout.shape.layers;
  n_merged_.resize(cache.lanes.size());
  bool has_pair = false;
  for (std::size_t layer = layers.size() / 2; layer + 1 < layers.size(); layer += 2) {
    if (!is_pair(layers[layer], layers[layer + 1])) continue;
    has_pair = true;
    for (std::size_t head = 0; head < layers[layer].n_kv_heads; ++head)
      SATCHEL_TRY(merge_lanes(cache, cache.layout.shape.lane(layer, head),
                              cache.layout.shape.lane(layer + 1, head)));
  }
  if (!has_pair) return refused("no two neighbours in the deeper half of this model are alike.");
  return {};
}

Result<void> LayerMerge::merge_lanes(CacheState& cache, std::size_t first, std::size_t deeper) {
  const std::span<const PageRecord> pages = cache.lanes[first].pages(),
                                    others = cache.lanes[deeper].pages();
  if (pages.size() != others.size()) return refused("they do not hold the same tokens.");
  for (std::size_t& i = n_merged_[first]; i < pages.size(); ++i) {
    const PageRecord &page = pages[i], &other = others[i];
    if (!page.layout->is_exact() || !other.layout->is_exact())
      return refused("their pages are not exact. Use the recipe \"full\".");
    if (page.n_tokens != other.n_tokens || page.first_position != other.first_position)
      return refused("they do not hold the same tokens.");
    const std::size_t d = page.layout->head_dim;
    for (const auto which : {kernels::Operand::k, kernels::Operand::v}) {
      PageRows of_first(cache, page, page.layout->of(which));
      PageRows of_deeper(cache, other, other.layout->of(which));
      SATCHEL_TRY_ASSIGN(std::vector<float> x, of_first.read());
      SATCHEL_TRY_ASSIGN(std::vector<float> y, of_deeper.read());
      const std::size_t n_retained = merge_rows(settings_, d, x, y);
      SATCHEL_TRY(of_first.write(x));
      SATCHEL_TRY(of_deeper.write(y));
      const std::size_t n_shared = page.n_tokens - n_retained;
      saved_bytes_ += n_shared * (d - 2) * sizeof(Half) - n_retained * sizeof(std::uint16_t);
    }
  }
  return {};
}

}  // namespace satchel::kvcache
