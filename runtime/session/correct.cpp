// Other words for a message in the middle of a chat, at once: what follows is placed, not read.
//   source  keys are rotated to where they stand now and kept otherwise (PIE, arXiv:2407.03157);
//           the first tokens behind the new words are read again, since text that begins a placed
//           stretch draws the attention that belongs to a text's first tokens (EPIC,
//           arXiv:2410.15332)
#include <algorithm>
#include <memory>

#include "kernels/base/index_range.h"
#include "runtime/session/memory_change_planner.h"
#include "runtime/session/session_state.h"

namespace satchel::runtime {
namespace {

constexpr std::size_t kHeadTokens = 32;   // read again behind the new words, as EPIC does
constexpr std::size_t kPlacedLeast = 64;  // chosen: fewer are as soon read

bool is_short_of_memory(const Error& problem) {
  return problem.kind == ErrorKind::out_of_memory;
}

// Of text that was read behind other words: what is placed. Empty: all of it is read again.
IndexRange placed_part(const IndexRange& follows) {
  if (follows.size() < kHeadTokens + kvcache::kTailTokens + kPlacedLeast) return {};
  return {.begin = follows.begin + kHeadTokens, .end = follows.end - kvcache::kTailTokens};
}

// A second cache that holds the text; null where it can't be placed, or there is no memory.
std::unique_ptr<kvcache::Cache> kept_text(Session::State& s, const IndexRange& text) {
  kvcache::Cache& cache = *s.cache;
  const auto is_missing = [&](const kvcache::TextSegment& segment) {
    return segment.end() > text.begin &&
           (segment.waits() || segment.state == kvcache::SegmentState::resting);
  };
  // Scores of the steps go with the text's places.
  if (text.size() == 0 || cache.needs_step() || !cache.reach().is_all() ||
      cache.shape().reads_in_order() || std::ranges::any_of(cache.segments(), is_missing))
    return nullptr;
  Result<std::unique_ptr<kvcache::Cache>> fork = cache.fork();
  return fork.ok() ? std::move(*fork) : nullptr;
}

// Reads up to token `end`; where memory is full, again without `kept`.
Result<void> read_until(Session::State& s, std::size_t end, std::unique_ptr<kvcache::Cache>& kept,
                        const std::stop_token& stop, const ProgressFn& progress) {
  Result<ReadReport> read = s.prefill.prefill_until(end, stop, progress);
  if (!read.ok() && is_short_of_memory(read.error()) && kept != nullptr) {
    kept = nullptr;
    read = s.prefill.prefill_until(end, stop, progress);
  }
  return read.ok() ? Result<void>() : read.error();
}

std::size_t first_placed(const kvcache::Cache& cache) {
  const auto found = std::ranges::find_if(cache.segments(), &kvcache::TextSegment::is_placed);
  return found == cache.segments().end() ? cache.n_tokens() : found->first;
}

// Of the newest text, what one cache makes of it against the other; nothing where memory is full.
Result<Fidelity> compared(Session::State& s, kvcache::Cache& other, const std::stop_token& stop) {
  const MemoryChangePlanner planner(s.parts);
  const auto measured = [&]() -> Result<Fidelity> {
    SATCHEL_TRY_ASSIGN(const kvcache::Arena::Lease exact, planner.last_rows(*s.cache, stop));
    return planner.cost_since(exact, other, stop);
  };
  const Result<Fidelity> fidelity = measured();
  if (!fidelity.ok() && is_short_of_memory(fidelity.error())) return Fidelity();
  return fidelity;
}

}  // namespace

Result<CorrectReport> Session::correct(MessageId id, std::string_view text, std::stop_token stop,
                                       const ProgressFn& progress) {
  State& s = *state_;
  const double began = s.clock.steady_ms();
  SATCHEL_TRY(s.prefill.need_cache());
  SATCHEL_TRY(s.prefill.need_script());
  SATCHEL_TRY_ASSIGN(const SessionMessage before, s.transcript.find(id));
  const std::size_t n_before = s.cache.n_tokens(), n_text = tokens().size();
  const IndexRange placed = placed_part({.begin = std::min(before.end, n_before), .end = n_before});
  std::unique_ptr<kvcache::Cache> kept = kept_text(s, placed);
  SATCHEL_TRY_ASSIGN(const std::vector<MessageId> ids,
                     s.transcript.say_otherwise(id, text, s.past.beyond()));
  s.meter.drop_rows();
  cut_cache(s, before.begin);
  SATCHEL_TRY_ASSIGN(const SessionMessage now, s.transcript.find(ids.front()));
  // Where a token behind the message stands now.
  const auto moved = [&](std::size_t position) { return position + tokens().size() - n_text; };
  CorrectReport report{.message = now.id};
  const std::size_t end = n_before <= before.begin ? n_before : std::max(now.end, moved(n_before));
  if (n_before > before.end)
    s.cache.rereads().lost({.begin = now.end, .end = end}, kvcache::RereadReason::edited);
  const auto read = [&]() -> Result<void> {
    if (kept != nullptr) SATCHEL_TRY(read_until(s, moved(placed.begin), kept, stop, progress));
    if (kept != nullptr) {
      const Result<void> done =
          s.cache->edit().place(placed.begin, placed.size(), kept->state());
      if (done.ok()) report.n_placed = placed.size();
      kept = nullptr;
    }
    return read_until(s, end, kept, stop, progress);
  };
  const Result<void> done = read();
  const bool is_left = !done.ok() && (is_short_of_memory(done.error()) || stop.stop_requested());
  if (!done.ok() && !is_left) return done.error();
  const std::size_t n_now = s.cache.n_tokens();
  report.n_unread = tokens().size() - n_now;
  report.n_read = n_now - std::min(n_now, before.begin + report.n_placed);
  report.reread = s.cache.take_rereads();
  report.ms = s.clock.steady_ms() - began;
  return report;
}

std::size_t Session::n_placed() const {
  if (state_->cache.is_lost()) return 0;
  std::size_t n = 0;
  for (const kvcache::TextSegment& segment : state_->cache->segments())
    n += segment.is_placed ? segment.n_tokens : 0;
  return n;
}

Result<ExactReport> Session::read_exactly(std::stop_token stop, const ProgressFn& progress) {
  State& s = *state_;
  SATCHEL_TRY(s.prefill.need_cache());
  SATCHEL_TRY(s.prefill.need_script());
  ExactReport report;
  const double began = s.clock.steady_ms();
  const std::size_t begin = first_placed(*s.cache), end = s.cache.n_tokens();
  if (begin == end) return report;
  s.meter.drop_rows();
  Result<std::unique_ptr<kvcache::Cache>> fork = s.cache->fork();
  std::unique_ptr<kvcache::Cache> kept = fork.ok() ? std::move(*fork) : nullptr;
  cut_cache(s, begin);
  s.cache.rereads().lost({.begin = begin, .end = end}, kvcache::RereadReason::edited);
  const Result<void> read = read_until(s, end, kept, stop, progress);
  if (!read.ok()) {
    if (kept != nullptr) {
      s.cache.replace(std::move(kept), s.cache.recipe());
      s.cache.rereads().cut(begin);
    }
    return read.error();
  }
  report.read.n_tokens = end - begin;
  report.read.ms = s.clock.steady_ms() - began;
  report.read.reread = s.cache.take_rereads();
  if (kept != nullptr) {
    SATCHEL_TRY_ASSIGN(report.placed, compared(s, *kept, stop));
  }
  return report;
}

}  // namespace satchel::runtime
