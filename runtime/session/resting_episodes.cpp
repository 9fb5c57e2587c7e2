#include "runtime/session/resting_episodes.h"

#include <utility>

#include "runtime/contract/cache_key.h"

namespace satchel::runtime {

std::vector<std::int32_t> RestingEpisodes::text_of(const IndexRange& episode,
                                                   std::size_t n_head) const {
  const std::span<const std::int32_t> all = parts_.transcript.tokens();
  std::vector<std::int32_t> text(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(n_head));
  text.insert(text.end(), all.begin() + static_cast<std::ptrdiff_t>(episode.begin),
              all.begin() + static_cast<std::ptrdiff_t>(episode.end));
  return text;
}

kvcache::CacheKey RestingEpisodes::key(const IndexRange& episode) const {
  return episode_key(parts_.cache.key(), episode.begin);
}

Result<void> RestingEpisodes::rest(const IndexRange& episode, std::size_t n_head) {
  kvcache::Cache& cache = *parts_.cache;
  const std::size_t n = episode.end - episode.begin;
  const std::uint64_t stamp = cache.inspector().stamp(episode.begin, n);
  const auto same = stamps_.find(episode.begin);
  bool is_stored = same != stamps_.end() && same->second == stamp;
  if (is_stored) {  // unless the quota, or damage, has taken it since
    SATCHEL_TRY_ASSIGN(const auto saved, parts_.cache.store().newest_manifest(key(episode)));
    is_stored = saved.has_value();
  }
  if (!is_stored) {
    SATCHEL_TRY_ASSIGN(const OpenCache one, cache.fork());
    SATCHEL_TRY(one->edit().keep_only(n_head, episode.begin, n));
    stamps_.erase(episode.begin);
    const std::vector<std::int32_t> text = text_of(episode, n_head);
    kvcache::Snapshot snapshot(*one, parts_.cache.store(), key(episode));
    SATCHEL_TRY(parts_.cache.save(snapshot, text));
    stamps_[episode.begin] = stamp;
  }
  return cache.edit().rest(episode.begin, n);
}

Result<RestingEpisodes::OpenCache> RestingEpisodes::stored(const IndexRange& episode,
                                                           std::size_t n_head) const {
  if (!has_store()) return OpenCache();  // the chat came from one that had
  SATCHEL_TRY_ASSIGN(OpenCache one, parts_.cache->twin());
  const std::vector<std::int32_t> text = text_of(episode, n_head);
  kvcache::Snapshot snapshot(*one, parts_.cache.store(), key(episode));
  const Result<kvcache::RestoreReport> restored = snapshot.restore(parts_.cache.identity(text));
  if (restored.ok() && restored->reason == kvcache::RereadReason::none) return one;
  parts_.engine.record(LogLevel::warning,
                       "an episode did not come back: " +
                           (restored.ok() ? reread_text(restored->reason, restored->detail)
                                          : restored.error().message));
  return OpenCache();
}

Result<bool> RestingEpisodes::come_back(const IndexRange& episode, std::size_t n_head) {
  kvcache::Cache& cache = *parts_.cache;
  Result<OpenCache> one = stored(episode, n_head);
  if (!one.ok() && one.error().kind == ErrorKind::out_of_memory) return false;
  SATCHEL_TRY(one);
  if (*one == nullptr) return false;
  const auto by = static_cast<std::int32_t>(episode.begin - n_head);
  const std::size_t n = episode.end - episode.begin;
  Result<void> moved = (*one)->edit().move_text(n_head, by);
  if (moved.ok()) moved = cache.edit().gather(episode.begin, n, (*one)->state());
  if (!moved.ok() && moved.error().kind == ErrorKind::out_of_memory) return false;
  SATCHEL_TRY(moved);
  stamps_[episode.begin] = cache.inspector().stamp(episode.begin, n);
  return true;
}

std::size_t RestingEpisodes::needs(const IndexRange& episode) const {
  const kvcache::CacheStats stats = parts_.cache.stats();
  std::size_t n_rests = 0, n_held = 1;
  for (const kvcache::TextSegment& segment : parts_.cache->segments())
    if (segment.first == episode.begin) n_rests = segment.n_resting;
  for (const kvcache::TierStats& tier : stats.tiers) n_held += tier.n_tokens;
  const std::size_t lane_token = stats.body_bytes / n_held + 1;
  return stats.bytes - stats.body_bytes + n_rests * (lane_token + lane_token / 4);
}

void RestingEpisodes::copy(const kvcache::SavedPlace& from, const kvcache::SavedPlace& to) const {
  for (const kvcache::TextSegment& segment : parts_.cache->segments()) {
    if (segment.state != kvcache::SegmentState::resting) continue;
    const kvcache::CacheKey source = episode_key(from.key, segment.first);
    const kvcache::CacheKey target = episode_key(to.key, segment.first);
    (void)kvcache::copy_saved({from.store, source}, {to.store, target});
  }
}

Result<void> RestingEpisodes::drop(std::span<const IndexRange> episodes) {
  if (!has_store()) return {};
  for (const IndexRange& episode : episodes) {
    stamps_.erase(episode.begin);
    SATCHEL_TRY(parts_.cache.store().drop(key(episode)));
  }
  return {};
}

}  // namespace satchel::runtime
