// Selects tokens in one layer for the layers after it: what a query attends to most there, they
// read. A second layer selects anew.
//   note    none: the layers that select read all keys, for attention and once more for the scores
//   formula layers before `select` read all, and so do the first layer from `select` on and the
//           first from `again` on; these two keep, in each lane, the `tokens` positions with the
//           largest share of a query head's attention. Every other layer reads what the lane of the
//           same number kept last
//   params  tokens  live tokens of the pages that are read (512); sinks and tail come on top
//           select  the layer that selects first (2)
//           again   the layer that selects anew (13)
//   source  arXiv:2410.05076 (TidalDecode); layers: the authors' code for a model of 32 layers
//   differs one list for the query heads of a lane, by their largest share, where the paper has one
//           for each head by its logits; positions, as lanes may hold other tokens: those that a
//           lane lacks are made up for by its newest; layers with a window, which hold little, read
//           all and never select
#include <algorithm>

#include "kvcache/stages/stage.h"

namespace satchel::kvcache {
namespace {

class TidalReader final : public Reader {
 public:
  Result<void> read(Params& params) {
    SATCHEL_TRY_ASSIGN(tokens_,
                       params.count("tokens", {.fallback = 512, .min = 1, .max = 1u << 20}));
    SATCHEL_TRY_ASSIGN(select_, params.count("select", {.fallback = 2, .min = 0, .max = 1000}));
    SATCHEL_TRY_ASSIGN(again_, params.count("again", {.fallback = 13, .min = 0, .max = 1000}));
    return {};
  }
  bool reads_all() const override { return false; }
  std::size_t n_carried() const override { return tokens_; }
  bool needs_attention(std::size_t layer, const Carried& carried) const override {
    if (layer < select_) return false;
    return !carried.is_set || (carried.layer < again_ && layer >= again_);
  }

  void choose(const Step& step, std::vector<std::size_t>& chosen) const override {
    SATCHEL_ASSERT(step.carried != nullptr && step.read.size() == step.pages.size());
    Carried& carried = *step.carried;
    const bool selects = step.window == 0 && needs_attention(step.layer, carried);
    if (selects) select(step, carried);
    const bool reads_all =
        selects || step.window != 0 || !carried.is_set || n_live(step) <= tokens_;
    if (!reads_all) keep_newest(step, tokens_ - keep_carried(step));
    for (std::size_t page = 0; page < step.pages.size(); ++page)
      if (step.read[page].count() > 0) chosen.push_back(page);
  }

 private:
  static std::size_t n_live(const Step& step) {
    std::size_t n = 0;
    for (const kernels::PageView& page : step.pages) n += page.live.count();
    return n;
  }

  // A heap of slots, the least on top, becomes their positions.
  void select(const Step& step, Carried& carried) const {
    SATCHEL_ASSERT(step.attention.size() == step.positions.size());
    std::vector<std::int32_t>& best = carried.positions;
    const auto is_better = [&](std::int32_t a, std::int32_t b) {
      const float left = step.attention[static_cast<std::size_t>(a)];
      const float right = step.attention[static_cast<std::size_t>(b)];
      return left != right ? left > right : a < b;
    };
    best.clear();
    std::int32_t slot = 0;
    for (const kernels::PageView& page : step.pages)
      for (std::size_t t = 0; t < page.n_tokens; ++t, ++slot) {
        if (!page.live.has(t)) continue;
        if (best.size() == tokens_) {
          if (!is_better(slot, best.front())) continue;
          std::pop_heap(best.begin(), best.end(), is_better);
          best.pop_back();
        }
        best.push_back(slot);
        std::push_heap(best.begin(), best.end(), is_better);
      }
    for (std::int32_t& of : best) of = step.positions[static_cast<std::size_t>(of)];
    std::sort(best.begin(), best.end());
    carried.is_set = true;
    carried.layer = step.layer;
  }

  // How many of them the lane's pages hold; all others are not read.
  static std::size_t keep_carried(const Step& step) {
    const std::vector<std::int32_t>& wanted = step.carried->positions;
    std::span<const std::int32_t> positions = step.positions;
    std::size_t n = 0;
    for (std::size_t i = 0; i < step.pages.size(); ++i) {
      const kernels::PageView& page = step.pages[i];
      step.read[i] = {};
      auto next = std::lower_bound(wanted.begin(), wanted.end(), positions.front());
      for (std::size_t t = 0; t < page.n_tokens && next != wanted.end(); ++t) {
        if (!page.live.has(t)) continue;
        while (next != wanted.end() && *next < positions[t]) ++next;
        if (next == wanted.end() || *next != positions[t]) continue;
        step.read[i].set(t);
        ++n;
      }
      positions = positions.subspan(page.n_tokens);
    }
    return n;
  }

  static void keep_newest(const Step& step, std::size_t n) {
    for (std::size_t i = step.pages.size(); i-- > 0 && n > 0;)
      for (std::size_t t = step.pages[i].n_tokens; t-- > 0 && n > 0;) {
        if (!step.pages[i].live.has(t) || step.read[i].has(t)) continue;
        step.read[i].set(t);
        --n;
      }
  }

  std::size_t tokens_ = 512, select_ = 2, again_ = 13;
};
}  // namespace

extern const StageMaker readers_tidal = stage_of<TidalReader>("arXiv:2410.05076");
}  // namespace satchel::kvcache
