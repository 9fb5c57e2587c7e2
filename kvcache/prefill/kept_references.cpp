#include "kvcache/prefill/kept_references.h"

#include <algorithm>

#include "kernels/base/rng.h"

namespace satchel::kvcache {

// One of every stretch of equal length, tokens in order and of each token its heads.
void KeptReferences::draw() {
  const LayerShape& shape = scratch_.cache.layout.shape.layers[scratch_.layer];
  const std::size_t n_queries = scratch_.plan.n_tokens() * shape.n_group();
  const std::size_t n = std::min(scratch_.plan.n_references, n_queries);
  drawn_.assign(shape.n_kv_heads, {});
  positions_.assign(shape.n_kv_heads, {});
  for (std::size_t head = 0; head < shape.n_kv_heads; ++head) {
    Rng rng(scratch_.lane_index(head));
    for (std::size_t i = 0; i < n; ++i) {
      const std::size_t first = i * n_queries / n, end = (i + 1) * n_queries / n;
      const std::size_t at = first + rng.next() % (end - first);
      drawn_[head].push_back({.token = at / shape.n_group(), .head = at % shape.n_group()});
      positions_[head].push_back(scratch_.positions[at / shape.n_group()]);
    }
  }
}

Result<void> KeptReferences::take(const float* q, const float* lse, std::size_t first,
                                  std::size_t n_tokens) {
  if (first == 0) draw();
  const LayerShape& shape = scratch_.cache.layout.shape.layers[scratch_.layer];
  std::vector<kernels::GatherArgs> gathers;
  for (std::size_t head = 0; head < shape.n_kv_heads; ++head) {
    const auto before = [](const Drawn& each, std::size_t token) { return each.token < token; };
    const auto begin = std::lower_bound(drawn_[head].begin(), drawn_[head].end(), first, before);
    const auto end = std::lower_bound(begin, drawn_[head].end(), first + n_tokens, before);
    std::vector<std::int32_t> rows;
    for (auto each = begin; each != end; ++each)
      rows.push_back(static_cast<std::int32_t>((each->token - first) * shape.n_heads +
                                               head * shape.n_group() + each->head));
    if (rows.empty()) continue;
    const auto at = static_cast<std::size_t>(begin - drawn_[head].begin());
    // The workspace of the merger, which comes later.
    auto* indices = reinterpret_cast<std::int32_t*>(scratch_.at(scratch_.plan.merge_work_at)) +
                    head * scratch_.plan.n_references;
    SATCHEL_TRY(scratch_.cache.backend.upload(reinterpret_cast<std::byte*>(indices),
                                              std::as_bytes(std::span(rows))));
    const auto gather = [&](const float* from, std::size_t width, float* to) {
      gathers.push_back({.from = reinterpret_cast<const std::byte*>(from),
                         .indices = indices,
                         .n_rows = rows.size(),
                         .row_bytes = width * sizeof(float),
                         .to = reinterpret_cast<std::byte*>(to + at * width)});
    };
    gather(q, shape.head_dim, q_of(head));
    gather(lse, 1, lse_of(head));
  }
  return scratch_.cache.backend.gather(gathers);
}

ReferenceQueries KeptReferences::of(std::size_t head) const {
  if (drawn_.empty()) return {};
  return {.q = q_of(head),
          .positions = positions_[head],
          .lse = lse_of(head),
          .work = reinterpret_cast<float*>(scratch_.at(scratch_.plan.merge_work_at))};
}

float* KeptReferences::q_of(std::size_t head) const {
  const PrefillPlan& plan = scratch_.plan;
  return reinterpret_cast<float*>(scratch_.at(plan.references_at + head * plan.reference_bytes));
}

float* KeptReferences::lse_of(std::size_t head) const {
  return q_of(head) + scratch_.plan.n_references * scratch_.head_dim();
}

}  // namespace satchel::kvcache
