#include "runtime/session/placed_text.h"

#include <algorithm>

namespace satchel::runtime {
namespace {

constexpr std::size_t kHeadTokens = 32;   // read behind the other text, as EPIC does
constexpr std::size_t kPlacedLeast = 64;  // chosen: fewer are as soon read

}  // namespace

IndexRange placed_part(const IndexRange& read) {
  if (read.size() < kHeadTokens + kvcache::kTailTokens + kPlacedLeast) return {};
  return {.begin = read.begin + kHeadTokens, .end = read.end - kvcache::kTailTokens};
}

NotPlaced why_not_placed(const kvcache::Cache& cache) {
  if (cache.shape().reads_in_order()) return NotPlaced::in_order;
  if (cache.needs_step()) return NotPlaced::each_step;
  return cache.reach().is_all() ? NotPlaced::none : NotPlaced::out_of_reach;
}

bool holds_placed(const kvcache::Cache& cache) {
  return std::ranges::any_of(cache.segments(), &kvcache::TextSegment::is_placed);
}

bool is_decided(const kvcache::Cache& cache, const IndexRange& text) {
  return std::ranges::none_of(cache.segments(), [&](const kvcache::TextSegment& segment) {
    return segment.first < text.end && segment.end() > text.begin &&
           (segment.waits() || segment.state == kvcache::SegmentState::resting);
  });
}

Result<void> prefill_until(ChatPrefill& prefill, std::size_t end,
                           std::unique_ptr<kvcache::Cache>& kept, const std::stop_token& stop,
                           const ProgressFn& progress) {
  Result<ReadReport> read = prefill.prefill_until(end, stop, progress);
  if (!read.ok() && read.error().kind == ErrorKind::out_of_memory && kept != nullptr) {
    kept = nullptr;
    read = prefill.prefill_until(end, stop, progress);
  }
  return read.ok() ? Result<void>() : read.error();
}

Result<std::size_t> prefill_and_place(ChatPrefill& prefill, kvcache::Cache& cache, PlacedText& text,
                                      const std::stop_token& stop, const ProgressFn& progress) {
  if (text.from == nullptr || text.part.size() == 0) return std::size_t{0};
  SATCHEL_TRY(prefill_until(prefill, text.first, text.from, stop, progress));
  if (text.from == nullptr) return std::size_t{0};
  const Result<void> placed =
      cache.edit().place(text.part.begin, text.part.size(), text.from->state());
  text.from = nullptr;
  if (placed.ok()) return text.part.size();
  const ErrorKind kind = placed.error().kind;
  if (kind == ErrorKind::out_of_memory || kind == ErrorKind::invalid) return std::size_t{0};
  return placed.error();
}

}  // namespace satchel::runtime
