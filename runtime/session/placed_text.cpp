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

bool can_place(const kvcache::Cache& cache) {
  return !cache.needs_step() && cache.reach().is_all() && !cache.shape().reads_in_order();
}

bool is_decided(const kvcache::Cache& cache, const IndexRange& text) {
  return std::ranges::none_of(cache.segments(), [&](const kvcache::TextSegment& segment) {
    return segment.first < text.end && segment.end() > text.begin &&
           (segment.waits() || segment.state == kvcache::SegmentState::resting);
  });
}

Result<void> read_until(ChatPrefill& prefill, std::size_t end,
                        std::unique_ptr<kvcache::Cache>& kept, const std::stop_token& stop,
                        const ProgressFn& progress) {
  Result<ReadReport> read = prefill.prefill_until(end, stop, progress);
  if (!read.ok() && read.error().kind == ErrorKind::out_of_memory && kept != nullptr) {
    kept = nullptr;
    read = prefill.prefill_until(end, stop, progress);
  }
  return read.ok() ? Result<void>() : read.error();
}

Result<std::size_t> read_and_place(ChatPrefill& prefill, kvcache::Cache& cache, PlacedText& text,
                                   const std::stop_token& stop, const ProgressFn& progress) {
  if (text.from == nullptr || text.part.size() == 0) return std::size_t{0};
  SATCHEL_TRY(read_until(prefill, text.first, text.from, stop, progress));
  if (text.from == nullptr) return std::size_t{0};
  const Result<void> placed =
      cache.edit().place(text.part.begin, text.part.size(), text.from->state());
  text.from = nullptr;
  return placed.ok() ? text.part.size() : 0;
}

}  // namespace satchel::runtime
