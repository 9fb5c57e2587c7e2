// Selects the pages whose keys may match the query best. For each box of tokens, the smallest and
// largest value of each channel bound the dot product with any of its keys.
//   note    boxes of up to `box` tokens, each min [head_dim] then max [head_dim], fp16 rounded
//           outward
//   bytes   (128 / box) · 4 · head_dim a page: 1 KiB at head_dim 64, 3 % of an exact page
//   formula U = sum over channels of max(q·min, q·max), a page has the largest of its boxes; a
//           query head's bounds become shares: U·scale - ln sum exp(U·scale); a page of the lane
//           has the largest share of its heads
//   params  tokens  live tokens that are read, at least (1024); sinks and tail come on top
//           pages   pages that are read, at least (3)
//           box     tokens in a box (32)
//           dense_layers  first layers that read everything (2)
//   source  arXiv:2406.10774 (Quest) section 3; 3 pages and 2 layers: the authors' code
//   differs pages of up to 128 tokens with boxes of 32, where the paper's pages have 16; one list
//           for the query heads of a lane; pages that have been moved in the text are always read,
//           as their keys are not where the box says
#include <algorithm>
#include <cmath>
#include <cstring>

#include "kernels/base/load_number.h"
#include "kvcache/stages/stage.h"

namespace satchel::kvcache {
namespace {

float half_at(const std::byte* halves, std::size_t i) {
  return half_to_float(load_number<Half>(halves + i * sizeof(Half)));
}

double bound(std::span<const float> q, const std::byte* box) {
  double sum = 0;
  for (std::size_t c = 0; c < q.size(); ++c) {
    const float low = half_at(box, c), high = half_at(box, q.size() + c);
    sum += static_cast<double>(std::max(q[c] * low, q[c] * high));
  }
  return sum;
}

class QuestReader final : public Reader {
 public:
  Result<void> read(Params& params) {
    SATCHEL_TRY_ASSIGN(tokens_,
                       params.count("tokens", {.fallback = 1024, .min = 1, .max = 1u << 30}));
    SATCHEL_TRY_ASSIGN(pages_, params.count("pages", {.fallback = 3, .min = 1, .max = 1u << 20}));
    SATCHEL_TRY_ASSIGN(box_, params.one_of("box", 32, {16, 32, 64, 128}));
    SATCHEL_TRY_ASSIGN(dense_layers_,
                       params.count("dense_layers", {.fallback = 2, .min = 0, .max = 1000}));
    return {};
  }
  bool reads_all() const override { return false; }
  std::size_t note_bytes(std::size_t head_dim) const override {
    return kernels::kPageTokens / box_ * 2 * head_dim * sizeof(Half);
  }

  void note(std::span<const float> k, std::size_t head_dim,
            std::span<std::byte> note) const override {
    const std::size_t n_tokens = k.size() / head_dim;
    SATCHEL_ASSERT(note.size() == note_bytes(head_dim) && n_tokens <= kernels::kPageTokens);
    std::fill(note.begin(), note.end(), std::byte{0});
    for (std::size_t first = 0; first < n_tokens; first += box_) {
      const std::size_t end = std::min(n_tokens, first + box_);
      std::byte* low = note.data() + first / box_ * 2 * head_dim * sizeof(Half);
      for (std::size_t c = 0; c < head_dim; ++c) {
        float least = k[first * head_dim + c], most = least;
        for (std::size_t t = first + 1; t < end; ++t) {
          least = std::min(least, k[t * head_dim + c]);
          most = std::max(most, k[t * head_dim + c]);
        }
        const Half down = float_to_half_down(least), up = float_to_half_up(most);
        std::memcpy(low + c * sizeof(Half), &down, sizeof down);
        std::memcpy(low + (head_dim + c) * sizeof(Half), &up, sizeof up);
      }
    }
  }

  void choose(const Step& step, std::vector<std::size_t>& chosen) const override {
    const std::size_t n_pages = step.pages.size();
    SATCHEL_ASSERT(step.scale > 0 && step.work.size() == 2 * n_pages);
    for (std::size_t page = 0; page < n_pages; ++page)
      if (step.pages[page].live.count() > 0) chosen.push_back(page);
    if (step.layer < dense_layers_ || chosen.size() <= pages_) return;
    const std::span<float> shares = step.work.first(n_pages);
    std::fill(shares.begin(), shares.end(), kNotThere);
    for (std::size_t first = 0; first < step.q.size(); first += step.head_dim)
      raise_shares(step, step.q.subspan(first, step.head_dim), chosen);
    for (const std::size_t page : chosen)
      if (step.pages[page].shift != 0) shares[page] = kNeverEvict;
    std::sort(chosen.begin(), chosen.end(), [&](std::size_t a, std::size_t b) {
      return shares[a] != shares[b] ? shares[a] > shares[b] : a < b;
    });
    chosen.resize(n_enough(step, shares, chosen));
    std::sort(chosen.begin(), chosen.end());
  }

 private:
  // How many of the pages, best first, are read.
  std::size_t n_enough(const Step& step, std::span<const float> shares,
                       std::span<const std::size_t> order) const {
    std::size_t n_tokens = 0;
    for (std::size_t i = 0; i < order.size(); ++i) {
      const bool is_enough = i >= pages_ && n_tokens >= tokens_;
      if (is_enough && shares[order[i]] != kNeverEvict) return i;
      n_tokens += step.pages[order[i]].live.count();
    }
    return order.size();
  }

  // One query head's shares of the pages, kept where larger than those of the heads before.
  void raise_shares(const Step& step, std::span<const float> q,
                    std::span<const std::size_t> pages) const {
    const std::span<float> shares = step.work.first(step.pages.size());
    const std::span<float> bounds = step.work.last(step.pages.size());
    float most = kNotThere;
    for (const std::size_t page : pages) {
      bounds[page] = static_cast<float>(page_bound(step, q, page));
      most = std::max(most, bounds[page]);
    }
    double sum = 0;
    for (const std::size_t page : pages) sum += std::exp(static_cast<double>(bounds[page] - most));
    const auto logsumexp = static_cast<float>(std::log(sum));
    for (const std::size_t page : pages)
      shares[page] = std::max(shares[page], bounds[page] - most - logsumexp);
  }

  double page_bound(const Step& step, std::span<const float> q, std::size_t page) const {
    double most = static_cast<double>(kNotThere);
    const std::span<const std::byte> note = step.notes[page];
    SATCHEL_ASSERT(note.size() == note_bytes(step.head_dim));
    for (std::size_t box = 0; box * box_ < step.pages[page].n_tokens; ++box)
      most = std::max(most, bound(q, note.data() + box * 2 * step.head_dim * sizeof(Half)));
    return static_cast<double>(step.scale) * most;
  }

  std::size_t tokens_ = 1024, pages_ = 3, box_ = 32, dense_layers_ = 2;
};
}  // namespace

extern const StageMaker readers_quest = stage_of<QuestReader>("arXiv:2406.10774");
}  // namespace satchel::kvcache
