// Selects the pages whose keys may match the query best. For each box of tokens, the smallest and
// largest value of each channel bound the dot product with any of its keys.
//   note    boxes of up to `box` tokens, each min [head_dim] then max [head_dim], fp16 rounded
//           outward
//   bytes   (128 / box) · 4 · head_dim a page: 1 KiB at head_dim 64, 3 % of an exact page
//   formula U = sum over channels of max(q·min, q·max), a page's weight is scale · the largest U of
//           its boxes; weights become shares (PageReader)
//   params  tokens, pages, dense_layers  as ../stages/page_reader.h has them
//           box     tokens in a box (32)
//   source  arXiv:2406.10774 (Quest) section 3; 3 pages and 2 layers: the authors' code
//   differs pages of up to 128 tokens with boxes of 32, where the paper's pages have 16; one list
//           for the query heads of a lane; pages that have been moved in the text are always read,
//           as their keys are not where the box says
#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "kvcache/stages/page_reader.h"

namespace satchel::kvcache {
namespace {

// Without branches. What is no finite half becomes a large number: notes have none.
float finite_half_to_float(std::uint32_t half) {
  const float size = std::bit_cast<float>((half & 0x7fffu) << 13) * 0x1p112f;
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(size) | (half & 0x8000u) << 16);
}

// Of max(q·min, q·max) the sign of q says which. Sums side by side, so that compilers make vectors
// of them: this is most of what a step takes behind a long text (2026-11-speed.md).
double bound(std::span<const float> q, std::span<const std::byte> box) {
  constexpr std::size_t kSums = 8;
  std::array<float, kSums> sums = {};
  std::size_t c = 0;
  for (; c + kSums <= q.size(); c += kSums) {
    std::array<Half, kSums> low, high;
    std::array<float, kSums> at;
    std::memcpy(low.data(), box.data() + c * sizeof(Half), sizeof low);
    std::memcpy(high.data(), box.data() + (q.size() + c) * sizeof(Half), sizeof high);
    std::memcpy(at.data(), q.data() + c, sizeof at);
    for (std::size_t i = 0; i < kSums; ++i) {
      const auto negative = static_cast<std::uint32_t>(std::bit_cast<std::int32_t>(at[i]) >> 31);
      sums[i] += at[i] * finite_half_to_float((low[i] & negative) | (high[i] & ~negative));
    }
  }
  double sum = 0;
  for (const float x : sums) sum += static_cast<double>(x);
  for (; c < q.size(); ++c)
    sum += static_cast<double>(q[c] * half_at(box, q[c] < 0 ? c : q.size() + c));
  return sum;
}

class QuestReader final : public PageReader {
 public:
  Result<void> read(Params& params) {
    SATCHEL_TRY(read_budget(params));
    SATCHEL_TRY_ASSIGN(box_, params.one_of("box", 32, {16, 32, 64, 128}));
    return {};
  }
  std::size_t note_bytes(std::size_t head_dim) const override {
    return kernels::kPageTokens / box_ * box_bytes(head_dim);
  }

  void note(std::span<const float> k, std::size_t head_dim,
            std::span<std::byte> note) const override {
    const std::size_t n_tokens = k.size() / head_dim;
    SATCHEL_ASSERT(note.size() == note_bytes(head_dim) && n_tokens <= kernels::kPageTokens);
    std::fill(note.begin(), note.end(), std::byte{0});
    for (std::size_t first = 0; first < n_tokens; first += box_) {
      const std::size_t end = std::min(n_tokens, first + box_);
      const std::span<std::byte> box = note.subspan(first / box_ * box_bytes(head_dim));
      for (std::size_t c = 0; c < head_dim; ++c) {
        float least = k[first * head_dim + c], most = least;
        for (std::size_t t = first + 1; t < end; ++t) {
          least = std::min(least, k[t * head_dim + c]);
          most = std::max(most, k[t * head_dim + c]);
        }
        put_half(box, c, float_to_half_down(least));
        put_half(box, head_dim + c, float_to_half_up(most));
      }
    }
  }

 private:
  static std::size_t box_bytes(std::size_t head_dim) { return 2 * head_dim * sizeof(Half); }

  double weight(const NotedPage& page, std::span<const float> q, float scale) const override {
    double most = static_cast<double>(kNotThere);
    for (std::size_t box = 0; box * box_ < page.n_tokens; ++box)
      most = std::max(most, bound(q, page.note.subspan(box * box_bytes(q.size()))));
    return static_cast<double>(scale) * most;
  }

  std::size_t box_ = 32;
};
}  // namespace

extern const StageMaker readers_quest = stage_of<QuestReader>("arXiv:2406.10774");
}  // namespace satchel::kvcache
