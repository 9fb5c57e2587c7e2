// Compaction: the one transaction that changes what is held of text after its prefill.
//   trigger event -> scores (of the store) -> budgets -> tiers -> rewrite, lane by lane, page by
//            page
//   memory   works when the arena is full: the cache's scratch and one page are reserved for it
//   after an error of the backend  lanes done so far stay as they became, each is whole; the span
//            keeps its state, and the next compaction goes on where this one ended
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "kvcache/compaction/compaction_report.h"
#include "kvcache/compaction/rewrite.h"
#include "kvcache/recipes/decide.h"
#include "kvcache/state/cache_state.h"

namespace satchel::kvcache {

class Compaction {
 public:
  explicit Compaction(CacheState& cache);  // lends the reserve out, takes it back at the end
  ~Compaction();
  Compaction(Compaction&&) = delete;

  // What is pending, as far as the recipe fires on this event and needs no second pass any more.
  Result<CompactionReport> settle(TriggerEvent event);
  // Everything but pinned text and the open turn competes again (TriggerEvent::steps).
  Result<CompactionReport> decide_all_text();
  // What each lane would keep of a text whose scores are there, at each share: [keeps][lanes that
  // take part], tokens. Changes nothing.
  Result<std::vector<std::vector<std::size_t>>> budgets(const TextSegment& text,
                                                        std::span<const double> keeps);
  // What is pending and exact, or pinned, goes to 8 bits.
  Result<CompactionReport> lower_held();
  // The recipe's steps for when memory is short, one after the other, each from the oldest text on,
  // until it is enough. Text that is pinned, open or pending stays as it is; with reclaim() pages
  // that other caches hold as well, too: another copy of them would free nothing.
  Result<CompactionReport> reclaim(std::size_t free_bytes);    // free beside the reserve
  Result<CompactionReport> shrink_to(std::size_t body_bytes);  // of the cache's own pages
  // Text that has been decided comes down to what the recipe would have left of it.
  Result<CompactionReport> follow_recipe();

 private:
  enum class Decision { wait, lower, lower_and_wait, decide };
  void cut_probed();
  Decision decision_of(const TextSegment& segment, TriggerEvent event) const;
  Result<void> decide_tokens(const TokenSpan& span);
  Result<CompactionReport> finished();
  // Scores of a lane's tokens of the span.
  using ScoresOf =
      std::function<Result<void>(std::size_t lane, const TokenSpan& span, std::span<float> scores)>;
  Result<void> load_scores(const TokenSpan& span, const ScoresOf& scores_of,
                           std::vector<LaneDecision>& lanes);
  Result<void> stored_scores(const TokenSpan& span, std::vector<LaneDecision>& lanes);
  void allocate(const TokenSpan& span, std::vector<LaneDecision>& lanes) const;
  void choose_tails(const TokenSpan& span, std::vector<LaneDecision>& lanes);
  Result<void> mark_missing(const TokenSpan& span, LaneDecision& lane);
  Result<void> apply(const TokenSpan& span, std::vector<LaneDecision>& lanes);
  Result<void> lower_segment(const TextSegment& segment);
  // Its pages, or the oldest n_flush tokens of its tail.
  Result<void> rewrite(std::size_t lane, const LaneRewriter::TierOf& tier_of, std::size_t n_flush,
                       const LaneRewriter::Takes& takes = {});
  using Enough = std::function<bool()>;
  Result<CompactionReport> take_steps(const Enough& enough);
  Result<void> lower_text(std::uint8_t tier, const Enough& enough);
  Result<void> thin_text(double keep, const Enough& enough);
  Result<void> thin(const TextSegment& text, double keep);
  bool stays_for_others(const Lane& lane, const PageRecord& page) const;
  Result<void> forget_weights(std::size_t lane, const TextSegment& text);

  CacheState& cache_;
  CompactionReport report_ = {};
  bool spares_shared_ = false;
  std::vector<std::size_t> tail_kept_;  // [n_lanes] as this decision wants them
  std::vector<std::size_t> changed_;    // lanes that were made anew since shrink_to() counted them
};

}  // namespace satchel::kvcache
