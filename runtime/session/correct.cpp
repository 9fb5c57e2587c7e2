// Other words for a message in the middle of a chat, at once: what follows is placed, not read.
#include <algorithm>
#include <memory>

#include "runtime/session/memory_change_planner.h"
#include "runtime/session/placed_text.h"
#include "runtime/session/session_state.h"

namespace satchel::runtime {
namespace {

// A second cache that holds the text, to place it from; null where there is no text, or `why`.
std::unique_ptr<kvcache::Cache> kept_text(kvcache::Cache& cache, const IndexRange& text,
                                          NotPlaced& why) {
  if (text.size() == 0) return nullptr;
  why = why_not_placed(cache);
  if (why == NotPlaced::none && !is_decided(cache, text)) why = NotPlaced::pending;
  if (why != NotPlaced::none) return nullptr;
  Result<std::unique_ptr<kvcache::Cache>> fork = cache.fork();
  if (!fork.ok()) why = NotPlaced::no_memory;
  return fork.ok() ? std::move(*fork) : nullptr;
}

std::size_t first_placed(const kvcache::Cache& cache) {
  const auto found = std::ranges::find_if(cache.segments(), &kvcache::TextSegment::is_placed);
  return found == cache.segments().end() ? cache.n_tokens() : found->first;
}

// Of the newest text, what one cache makes of it against the other; nothing where that could not be
// measured.
Fidelity compared(Session::State& s, kvcache::Cache& other, const std::stop_token& stop) {
  const MemoryChangePlanner planner(s.parts);
  const Result<kvcache::Arena::Lease> exact = planner.last_rows(*s.cache, stop);
  if (!exact.ok()) return {};
  const Result<Fidelity> fidelity = planner.cost_since(*exact, other, stop);
  return fidelity.ok() ? *fidelity : Fidelity();
}

}  // namespace

Result<CorrectReport> Session::correct(MessageId id, std::string_view text, std::stop_token stop,
                                       const ProgressFn& progress) {
  State& s = *state_;
  const double began = s.clock.steady_ms();
  const double ms_per_token = s.engine.read_ms_per_token;  // before the few that are read now
  SATCHEL_TRY(s.prefill.need_cache());
  SATCHEL_TRY(s.prefill.need_script());
  SATCHEL_TRY_ASSIGN(const SessionMessage before, s.transcript.find(id));
  const std::size_t n_before = s.cache.n_tokens(), n_text = tokens().size();
  const std::size_t bytes_before = s.cache->stats().bytes;
  PlacedText placed;
  placed.part = placed_part({.begin = std::min(before.end, n_before), .end = n_before});
  NotPlaced not_placed = NotPlaced::none;
  placed.from = kept_text(*s.cache, placed.part, not_placed);
  SATCHEL_TRY_ASSIGN(const std::vector<MessageId> ids,
                     s.transcript.replace_message(id, text, s.past.beyond()));
  s.meter.drop_rows();
  cut_cache(s, before.begin);
  SATCHEL_TRY_ASSIGN(const SessionMessage now, s.transcript.find(ids.front()));
  // Where a token behind the message stands now.
  const auto moved = [&](std::size_t position) { return position + tokens().size() - n_text; };
  CorrectReport report{.message = now.id, .not_placed = not_placed};
  const std::size_t end = n_before <= before.begin ? n_before
                          : n_before <= before.end ? now.end
                                                   : moved(n_before);
  const std::size_t n_kept = s.cache.n_tokens();
  if (n_before > before.end)
    s.cache.rereads().lost({.begin = now.end, .end = end}, kvcache::RereadReason::edited);
  placed.first = moved(placed.part.begin);
  const auto read = [&]() -> Result<void> {
    SATCHEL_TRY_ASSIGN(report.n_placed,
                       prefill_and_place(s.prefill, *s.cache, placed, stop, progress));
    return prefill_until(s.prefill, end, placed.from, stop, progress);
  };
  const Result<void> done = read();
  // The words stand: what hinders reading now, the next answer tells.
  if (!done.ok())
    s.engine.record(LogLevel::warning, "corrected, not all read code=" + done.error().code);
  const std::size_t n_now = s.cache.n_tokens();
  report.n_unread = tokens().size() - n_now;
  report.n_read = n_now - std::min(n_now, n_kept + report.n_placed);
  report.reread = s.cache.take_rereads();
  report.ms = s.clock.steady_ms() - began;
  report.reading_ms = ms_per_token * static_cast<double>(report.n_read + report.n_placed);
  if (report.n_read + report.n_placed > 0)
    s.meter.note_moved(LedgerCause::corrected,
                       {.n_tokens = report.n_placed,
                        .n_read = report.n_read,
                        .ms = report.ms,
                        .reading_ms = report.n_placed > 0 ? report.reading_ms : 0},
                       bytes_before);
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
  // What rests goes from the store with the cut.
  const bool can_come_back = is_decided(*s.cache, {.begin = begin, .end = end});
  cut_cache(s, begin);
  s.cache.rereads().lost({.begin = begin, .end = end}, kvcache::RereadReason::placed);
  const Result<void> read = prefill_until(s.prefill, end, kept, stop, progress);
  if (!read.ok()) {
    if (kept != nullptr && can_come_back) {
      s.cache.replace(std::move(kept), s.cache.recipe());
      s.cache.rereads().cut(begin);
    }
    return read.error();
  }
  report.read.n_tokens = end - begin;
  report.read.ms = s.clock.steady_ms() - began;
  report.read.reread = s.cache.take_rereads();
  if (kept != nullptr) report.placed = compared(s, *kept, stop);
  if (report.placed.n_tokens > 0) s.meter.note_moved_cost(report.placed);
  return report;
}

}  // namespace satchel::runtime
