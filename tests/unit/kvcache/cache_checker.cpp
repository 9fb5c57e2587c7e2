#include "cache_checker.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include <gtest/gtest.h>

#include "kvcache/recipes/pipeline.h"

namespace satchel::kvcache {
namespace {

// Made-up values lie in -3.4 … 3.4. Affine codes: half a step of the range at each tier that a
// token passed, twice where a page is made anew at its tier; codecs of other kinds: by their
// length.
double bound_of(std::size_t bits) {
  if (bits == 16) return 0;
  const double eight = 6.8 / 255 + 0.01;
  return bits == 8 ? eight : eight + 6.8 / static_cast<double>((1 << bits) - 1) + 0.05;
}

bool is_plain_affine(const DecodedToken& token) {
  return token.layout != nullptr && token.layout->k.is_affine() &&
         token.layout->k.transform == kernels::Transform::none;
}

bool is_protected(const Cache& cache, std::size_t position) {
  for (const TextSegment& segment : cache.segments())
    if (position >= segment.first && position < segment.end())
      return position < kSinkTokens || segment.kind == SegmentKind::pinned ||
             segment.state == SegmentState::open;
  return false;
}

void check_segments(const Cache& cache, const std::string& after) {
  std::size_t end = 0;
  for (const TextSegment& segment : cache.segments()) {
    EXPECT_EQ(segment.first, end) << after;
    EXPECT_GT(segment.n_tokens, 0u) << after;
    EXPECT_LE(segment.n_probed, segment.n_tokens) << after;
    end = segment.end();
  }
  EXPECT_EQ(end, cache.n_tokens()) << after;
}

// Of a token's length: what codes of 2 bits may miss. A token in another's place misses by 1.4.
constexpr double kCoarseMost = 0.9;

double distance(const std::vector<float>& a, const std::vector<float>& b) {
  double worst = 0;
  for (std::size_t i = 0; i < a.size(); ++i)
    worst = std::max(worst, std::abs(double{a[i]} - double{b[i]}));
  return worst;
}

double length_of_difference(const std::vector<float>& a, const std::vector<float>& b) {
  double sum = 0, all = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    sum += (double{a[i]} - double{b[i]}) * (double{a[i]} - double{b[i]});
    all += double{b[i]} * double{b[i]};
  }
  return std::sqrt(sum / all);
}

}  // namespace

void CacheChecker::check_values(CacheDriver& driver, std::size_t layer, std::size_t head,
                                const DecodedLane& lane, const std::string& after) {
  std::vector<std::int32_t> positions;
  for (const auto& [position, token] : lane) positions.push_back(position);
  const DecodedLane exact = driver.masked(layer, head, positions);
  for (const auto& [position, token] : lane) {
    const DecodedToken& was = exact.at(position);
    ASSERT_EQ(token.shift, token.layout == nullptr ? 0 : was.shift) << after << " at " << position;
    if (token.layout == nullptr || token.layout->k.is_exact() || is_plain_affine(token)) {
      const double bound = bound_of(token.bits());
      ASSERT_LE(distance(token.k, was.k), bound) << after << " at " << position;
      ASSERT_LE(distance(token.v, was.v), bound) << after << " at " << position;
    } else {
      const double bound = token.layout->k.is_affine() ? 0.3 : kCoarseMost;
      ASSERT_LE(length_of_difference(token.k, was.k), bound) << after << " at " << position;
      ASSERT_LE(length_of_difference(token.v, was.v), bound) << after << " at " << position;
    }
  }
}

void CacheChecker::check(CacheDriver& driver, const Edit& edit, const std::string& after) {
  Cache& cache = driver.cache();
  check_segments(cache, after);
  check_stats(driver, after);
  std::vector<std::map<std::int32_t, Held>> now(driver.n_lanes());
  before_.resize(driver.n_lanes());
  for (std::size_t layer = 0, lane = 0; layer < driver.shape().n_layers(); ++layer)
    for (std::size_t head = 0; head < driver.shape().layers[layer].n_kv_heads; ++head, ++lane) {
      const auto values =
          checks_values ? CacheDriver::Values::decoded : CacheDriver::Values::left_out;
      const DecodedLane decoded = driver.held(layer, head, values);
      check_seen(driver, layer, head, decoded, after);
      if (!decoded.empty()) {
        ASSERT_GE(decoded.begin()->first, 0) << after;
        ASSERT_LT(static_cast<std::size_t>(decoded.rbegin()->first), cache.n_tokens()) << after;
      }
      if (checks_values) check_values(driver, layer, head, decoded, after);
      for (const auto& [position, token] : decoded)
        now[lane][position] = {
            .bits = token.bits(),
            .is_protected = is_protected(cache, static_cast<std::size_t>(position))};
      const std::string what = after + ": lane " + std::to_string(lane);
      check_complete(
          driver, {.layer = layer, .edit = edit, .before = before_[lane], .now = now[lane]}, what);
      check_tiers(cache, {.layer = layer, .edit = edit, .before = before_[lane], .now = now[lane]},
                  what);
      if (testing::Test::HasFailure()) return;
    }
  before_ = std::move(now);
  n_before_ = cache.n_tokens();
}

// Attention sees what is in reach, where it was moved; where that is all, every page as it is.
void CacheChecker::check_seen(CacheDriver& driver, std::size_t layer, std::size_t head,
                              const DecodedLane& held, const std::string& after) const {
  const Reach& reach = driver.cache().reach();
  if (!reach.is_all()) {
    const auto values =
        checks_values ? CacheDriver::Values::decoded : CacheDriver::Values::left_out;
    const SeenLane seen = driver.see(layer, head, values);
    ASSERT_EQ(difference(seen, in_reach(held, reach, driver.shape().layers[layer])), "")
        << after << ": what is seen of layer " << layer;
    return;
  }
  const std::span<const kernels::PageView> views = driver.view(layer, head).pages;
  const std::span<const PageRecord> pages = driver.lane(layer, head).pages();
  ASSERT_EQ(views.size(), pages.size()) << after;
  for (std::size_t i = 0; i < pages.size(); ++i) {
    ASSERT_EQ(views[i].bytes, driver.arena().at(pages[i].extent)) << after;
    ASSERT_TRUE(views[i].live == pages[i].live) << after;
    ASSERT_EQ(views[i].shift, pages[i].shift) << after;
    ASSERT_EQ(views[i].first_position, pages[i].first_position) << after;
    ASSERT_EQ(views[i].last_position, pages[i].last_position) << after;
  }
}

// Protected text and the shortest tail that a recipe may leave are held in full: what came since,
// and of what was there before all that was held then.
void CacheChecker::check_complete(CacheDriver& driver, const LaneChange& lane,
                                  const std::string& what) const {
  const Cache& cache = driver.cache();
  const std::size_t n = cache.n_tokens(), window = driver.shape().layers[lane.layer].window;
  const std::size_t tail = driver.recipe().pipeline().short_tail();
  for (std::size_t at = 0; at < n; ++at) {
    const bool is_newest = at + tail >= n;
    const bool must_stay = is_newest || at < kSinkTokens || is_protected(cache, at);
    const auto position = static_cast<std::int32_t>(at);
    const bool was_missing = at < n_before_ && !lane.before.contains(position);
    const bool behind_window = window > 0 && at + window <= n;
    if (!must_stay || was_missing || behind_window || lane.edit.touches(at)) continue;
    const auto held = lane.now.find(position);
    ASSERT_NE(held, lane.now.end()) << what << " lost " << at << " of " << n;
    if (at < kSinkTokens) {
      ASSERT_EQ(held->second.bits, 16u) << what << " compressed a sink";
    }
  }
}

// A tier only falls; of protected text not below 8 bits. What is gone stays gone.
void CacheChecker::check_tiers(const Cache& cache, const LaneChange& lane,
                               const std::string& what) const {
  for (const auto& [position, held] : lane.now) {
    const auto at = static_cast<std::size_t>(position);
    if (at >= n_before_ || lane.edit.touches(at)) continue;
    const auto was = lane.before.find(position);
    ASSERT_NE(was, lane.before.end()) << what << " holds again what was gone, at " << at;
    ASSERT_LE(held.bits, was->second.bits) << what << ": a tier rose at " << at;
    if (was->second.is_protected && is_protected(cache, at)) {
      ASSERT_GE(held.bits, std::min<std::size_t>(8, was->second.bits))
          << what << " compressed " << at;
    }
  }
}

// What the cache says of its lanes is what they hold.
void CacheChecker::check_stats(CacheDriver& driver, const std::string& after) const {
  const CacheStats stats = driver.cache().stats();
  std::size_t n_kept = 0, n_in_tiers = 0, n_in_pages = 0;
  for (const TierStats& tier : stats.tiers) n_in_tiers += tier.n_tokens;
  for (std::size_t layer = 0; layer < driver.shape().n_layers(); ++layer) {
    std::size_t most = 0, least = std::numeric_limits<std::size_t>::max(), n_pages = 0;
    for (std::size_t head = 0; head < driver.shape().layers[layer].n_kv_heads; ++head) {
      const Lane& lane = driver.lane(layer, head);
      std::size_t n = lane.n_sinks() + lane.n_tail();
      for (const PageRecord& page : lane.pages()) {
        n += page.live.count();
        n_in_pages += page.live.count();
      }
      n_pages += lane.pages().size();
      most = std::max(most, n);
      least = std::min(least, n);
      n_kept += n;
    }
    ASSERT_EQ(stats.layers[layer].n_kept_max, most) << after << ", layer " << layer;
    ASSERT_EQ(stats.layers[layer].n_kept_min, least) << after << ", layer " << layer;
    ASSERT_EQ(stats.layers[layer].n_pages, n_pages) << after << ", layer " << layer;
  }
  EXPECT_EQ(stats.n_kept, n_kept) << after;
  EXPECT_EQ(n_in_tiers, n_in_pages) << after;
}

void CacheChecker::check_arena(const std::vector<CacheDriver*>& drivers, const std::string& after) {
  ASSERT_FALSE(drivers.empty());
  drivers.front()->arena().check_invariants();
  std::size_t used = 0;
  std::set<ExtentId> pages;
  for (CacheDriver* driver : drivers) {
    const CacheStats stats = driver->cache().stats();
    used += stats.bytes - stats.body_bytes;
    for (std::size_t layer = 0; layer < driver->shape().n_layers(); ++layer) {
      const LayerShape& shape = driver->shape().layers[layer];
      const std::size_t note = driver->recipe().pipeline().reader().note_bytes(shape.head_dim);
      for (std::size_t head = 0; head < shape.n_kv_heads; ++head)
        for (const PageRecord& page : driver->lane(layer, head).pages())
          if (pages.insert(page.extent).second)
            used += Arena::rounded_up(page.layout->bytes + note);
    }
  }
  ASSERT_EQ(drivers.front()->arena().used_bytes(), used) << after;
}

}  // namespace satchel::kvcache
