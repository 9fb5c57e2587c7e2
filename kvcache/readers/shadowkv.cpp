// Selects the pages whose landmarks the query asks for. A group's landmark is the mean of its keys;
// the tokens that are least like theirs are no part of it, and the note has their keys.
//   note    landmarks of up to `group` tokens each, fp16 [128 / group, head_dim]; the outliers'
//           keys, fp16 [outliers, head_dim]; their slots, a byte each
//   bytes   2 · head_dim · (128 / group + outliers) + outliers a page: 1 KiB at head_dim 64, 3 % of
//           an exact page
//   formula a page's weight is ln sum exp(scale · q·key) over its outliers and, n times each, over
//           the landmarks of n other live tokens; weights become shares (PageReader). Outliers have
//           the least cosine with the mean of their group; ties go to the earlier
//   params  tokens, pages, dense_layers  as ../stages/page_reader.h has them
//           group     tokens of a landmark (32: 8 and 16 find no more attention, measured)
//           outliers  of a page (4)
//   source  arXiv:2410.21465 (ShadowKV), landmarks and outliers; its code (bytedance/ShadowKV)
//   differs pages of up to 128 tokens are chosen, by the sum of their landmarks' shares, where the
//           paper chooses chunks of 8, each by its own; outliers are tokens, so many of each page,
//           and say what it holds, where the paper's are chunks, so many of a prompt, that are
//           always read; text written later has landmarks too; keys are not factorised here (codec
//           `shadowkv`), and V stays where K is
#include <algorithm>
#include <array>
#include <numeric>

#include "kvcache/stages/page_reader.h"

namespace satchel::kvcache {
namespace {

// A page's keys [n, head_dim] while they are noted, without taking memory.
struct NewPage {
  std::span<const float> k;
  std::size_t head_dim, group;

  std::size_t n_tokens() const { return k.size() / head_dim; }
  double key(std::size_t t, std::size_t c) const {
    return static_cast<double>(k[t * head_dim + c]);
  }
  // One channel of the landmark of tokens first … end - 1, but those that `left_out` has.
  double mean(std::size_t first, std::size_t end, std::size_t c,
              const kernels::LiveMask& left_out) const {
    double sum = 0;
    std::size_t n = 0;
    for (std::size_t t = first; t < end; ++t) {
      if (left_out.has(t)) continue;
      sum += key(t, c);
      ++n;
    }
    return n > 0 ? sum / static_cast<double>(n) : 0;
  }
};

using PerToken = std::array<double, kernels::kPageTokens>;

// Cosines of tokens first … end - 1 with their mean; 0 where either has no length.
void put_cosines(const NewPage& page, std::size_t first, std::size_t end, PerToken& out) {
  PerToken along = {}, squares = {};
  double squares_of_mean = 0;
  for (std::size_t c = 0; c < page.head_dim; ++c) {
    const double mean = page.mean(first, end, c, {});
    squares_of_mean += mean * mean;
    for (std::size_t t = first; t < end; ++t) {
      along[t] += page.key(t, c) * mean;
      squares[t] += page.key(t, c) * page.key(t, c);
    }
  }
  for (std::size_t t = first; t < end; ++t) {
    const double lengths = std::sqrt(squares[t] * squares_of_mean);
    out[t] = lengths > 0 ? along[t] / lengths : 0;
  }
}

// All slots, those of the page by how little they are like their landmark.
std::array<std::uint8_t, kernels::kPageTokens> least_alike(const NewPage& page) {
  PerToken cosines = {};
  const std::size_t n = page.n_tokens();
  for (std::size_t first = 0; first < n; first += page.group)
    put_cosines(page, first, std::min(n, first + page.group), cosines);
  std::array<std::uint8_t, kernels::kPageTokens> slots;
  std::iota(slots.begin(), slots.end(), std::uint8_t{0});
  std::sort(slots.begin(), slots.begin() + static_cast<std::ptrdiff_t>(n),
            [&](std::uint8_t a, std::uint8_t b) {
              return cosines[a] != cosines[b] ? cosines[a] < cosines[b] : a < b;
            });
  return slots;
}

class ShadowKvReader final : public PageReader {
 public:
  Result<void> read(Params& params) {
    SATCHEL_TRY(read_budget(params));
    SATCHEL_TRY_ASSIGN(group_, params.one_of("group", 32, {8, 16, 32, 64}));
    SATCHEL_TRY_ASSIGN(outliers_, params.count("outliers", {.fallback = 4, .min = 0, .max = 32}));
    return {};
  }
  std::size_t note_bytes(std::size_t head_dim) const override {
    return slots_at(head_dim) + outliers_;
  }

  void note(std::span<const float> k, std::size_t head_dim,
            std::span<std::byte> note) const override {
    const NewPage page{.k = k, .head_dim = head_dim, .group = group_};
    const std::size_t n = page.n_tokens(), n_outliers = std::min(n, outliers_);
    SATCHEL_ASSERT(note.size() == note_bytes(head_dim) && n <= kernels::kPageTokens);
    std::fill(note.begin(), note.end(), std::byte{0});
    const auto slots = least_alike(page);
    kernels::LiveMask left_out;
    for (std::size_t o = 0; o < n_outliers; ++o) {
      left_out.set(slots[o]);
      for (std::size_t c = 0; c < head_dim; ++c)
        put_half(note, (n_groups() + o) * head_dim + c, float_to_half(k[slots[o] * head_dim + c]));
    }
    for (std::size_t o = 0; o < outliers_; ++o)
      note[slots_at(head_dim) + o] = o < n_outliers ? std::byte{slots[o]} : kNoSlot;
    for (std::size_t first = 0; first < n; first += group_)
      for (std::size_t c = 0; c < head_dim; ++c)
        put_half(note, first / group_ * head_dim + c,
                 float_to_half(static_cast<float>(
                     page.mean(first, std::min(n, first + group_), c, left_out))));
  }

 private:
  static constexpr auto kNoSlot = std::byte{0xff};

  std::size_t n_groups() const { return kernels::kPageTokens / group_; }
  std::size_t slots_at(std::size_t head_dim) const {
    return (n_groups() + outliers_) * head_dim * sizeof(Half);
  }

  double weight(const NotedPage& page, std::span<const float> q, float scale) const override {
    LogSum sum;
    kernels::LiveMask others = page.live;
    for (std::size_t o = 0; o < outliers_; ++o) {
      const auto slot = static_cast<std::size_t>(page.note[slots_at(q.size()) + o]);
      if (slot >= page.n_tokens || !others.has(slot)) continue;
      others.clear(slot);
      sum.add(static_cast<double>(scale) * product(q, page.note, n_groups() + o));
    }
    for (std::size_t g = 0; g < n_groups(); ++g) {
      const std::size_t first = g * group_;
      const std::uint64_t of_group = ~std::uint64_t{0} >> (64 - group_);
      const std::uint64_t live = (others.words[first / 64] >> (first % 64)) & of_group;
      if (live == 0) continue;
      sum.add(static_cast<double>(scale) * product(q, page.note, g) +
              std::log(static_cast<double>(__builtin_popcountll(live))));
    }
    return sum.value();
  }

  std::size_t group_ = 32, outliers_ = 4;
};
}  // namespace

extern const StageMaker readers_shadowkv = stage_of<ShadowKvReader>("arXiv:2410.21465");
}  // namespace satchel::kvcache
