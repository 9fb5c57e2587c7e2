#include "runtime/session/chat_prefill.h"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "kernels/base/size_text.h"
#include "runtime/episodes/part_title.h"
#include "runtime/model/scratch.h"
#include "runtime/prefill/reclaim.h"
#include "runtime/prefill/repeat_script.h"
#include "runtime/session/first_document.h"

namespace satchel::runtime {
namespace {

using kvcache::CompactionReport;
using kvcache::SegmentKind;

constexpr std::size_t kFidelityTokensMin = 64;  // chosen: fewer lie in the tail, which is exact

bool is_full(const Error& problem) {
  return problem.kind == ErrorKind::out_of_memory;
}

// A short question is hardly compressed: its figure would stand in place of its document's.
bool is_measured(SegmentKind kind, std::size_t n_tokens) {
  return (kind == SegmentKind::document || kind == SegmentKind::message) &&
         n_tokens >= kFidelityTokensMin;
}

void add(ReadReport& sum, const ReadReport& part) {
  sum.n_tokens += part.n_tokens;
  sum.ms += part.ms;
  sum.n_evicted += part.n_evicted;
  sum.compressed = sum.compressed || part.compressed;
}

// For its first question; a second pass is waited for whatever is said.
bool document_waits(const kvcache::Cache& cache) {
  return !cache.needs_second_pass() &&
         std::ranges::any_of(cache.segments(), [](const kvcache::TextSegment& segment) {
           return segment.kind == SegmentKind::document &&
                  segment.state == kvcache::SegmentState::pending;
         });
}

}  // namespace

SegmentKind segment_kind(const SessionMessage& message) {
  if (message.role == Role::system || message.is_pinned) return SegmentKind::pinned;
  if (message.role == Role::assistant) return SegmentKind::answer;
  return message.kind == MessageKind::document ? SegmentKind::document : SegmentKind::message;
}

ChatPrefill::ChatPrefill(const ChatParts& parts, Past& past)
    : parts_(parts), past_(past), logits_(parts.engine.model->config().n_vocabulary) {}

Result<void> ChatPrefill::need_cache(std::size_t limit_bytes_max) {
  SATCHEL_TRY(parts_.engine.file.check_unchanged());
  if (!parts_.cache.is_lost()) return {};
  SATCHEL_TRY(parts_.cache.take_again(limit_bytes_max));
  return restore_saved();
}

kvcache::RestoreReport ChatPrefill::restore() {
  kvcache::RestoreReport restored = parts_.cache.restore(parts_.transcript.tokens());
  mark_again();
  return restored;
}

void ChatPrefill::mark_again() {
  for (const SessionMessage& message : parts_.transcript.messages()) mark_again(message);
}

Result<void> ChatPrefill::restore_saved() {
  const kvcache::RestoreReport restored = restore();
  if (restored.reason != kvcache::RereadReason::none)
    parts_.engine.record(LogLevel::warning, "restored after its memory was lost: " +
                                                reread_text(restored.reason, restored.detail));
  if (parts_.cache.n_tokens() == 0) parts_.meter.forget_measured();  // of a cache that is gone
  return need_script();
}

Result<void> ChatPrefill::need_script() {
  if (!script_.first.empty() || !parts_.cache->needs_second_pass()) return {};
  const EngineState& engine = parts_.engine;
  SATCHEL_TRY_ASSIGN(script_, chat_script(*engine.tokenizer, *engine.chat_template));
  return {};
}

TextPass ChatPrefill::text_pass(std::stop_token stop, const ProgressFn& progress) const {
  return {.cache = *parts_.cache,
          .text = parts_.transcript.tokens(),
          .script = script_,
          .stop = std::move(stop),
          .progress = progress};
}

Result<PrefilledText> ChatPrefill::read_noted(PrefillText text, const CacheContents& before,
                                              const std::stop_token& stop,
                                              const ProgressFn& progress) {
  ChatCache& cache = parts_.cache;
  ChatMeter& meter = parts_.meter;
  const std::size_t n_tokens = text.end - cache.n_tokens();
  const bool keeps = is_measured(text.kind, n_tokens);
  if (keeps) meter.drop_rows();  // the new ones replace them: they need not take room meanwhile
  // If the memory of a measurement is what the prefill lacks, nothing is measured.
  Result<kvcache::Arena::Lease> rows =
      cache->arena().take_scratch(kept_bytes(parts_.engine.model->config(), n_tokens));
  const auto go_on = [&] {
    text.kept = rows.ok() ? rows->data() : nullptr;
    return prefill_text(*parts_.engine.model, text_pass(stop, progress), text);
  };
  Result<PrefilledText> done = go_on();
  if (rows.ok() && !done.ok() && is_full(done.error())) {
    rows = done.error();
    done = go_on();
  }
  if (done.ok() && done->reclaimed.n_lowered + done->reclaimed.n_evicted > 0)
    meter.note(LedgerCause::limit, done->reclaimed, cache->stats().bytes + done->reclaimed_bytes);
  // What reading an answer did counts with its turn.
  if (text.kind != SegmentKind::answer) meter.note_since(LedgerCause::read, before);
  if (done.ok() && keeps && rows.ok()) SATCHEL_TRY(meter.keep_rows(done->n_last, rows->data()));
  return done;
}

Result<ReadReport> ChatPrefill::prefill(const PrefillText& text, std::stop_token stop,
                                        const ProgressFn& progress) {
  ReadReport report;
  report.n_tokens = text.end - parts_.cache.n_tokens();
  if (report.n_tokens == 0) return report;
  parts_.cache.take_head_budgets();
  const double began = parts_.clock.steady_ms();
  const CacheContents before = parts_.meter.contents();
  const std::size_t begin = parts_.cache.n_tokens();
  const Result<PrefilledText> read = read_noted(text, before, stop, progress);
  parts_.cache.rereads().read({.begin = begin, .end = parts_.cache.n_tokens()});
  SATCHEL_TRY(read);
  report.compressed = parts_.meter.was_compressed_since(before);
  report.n_evicted = read->compacted.n_evicted;
  report.ms = parts_.clock.steady_ms() - began;
  if (report.n_tokens >= kSpeedTokensMin)
    parts_.engine.read_ms_per_token = report.ms / static_cast<double>(report.n_tokens);
  return report;
}

template <class Change>
Result<void> ChatPrefill::change_reach(const Change& change) {
  const kvcache::Reach before = parts_.cache->reach();
  const CacheContents contents = parts_.meter.contents();
  SATCHEL_TRY(change());
  if (parts_.cache->reach() == before) return {};
  parts_.meter.drop_rows();
  parts_.meter.note_since(LedgerCause::turn, contents);
  return {};
}

bool ChatPrefill::has_unread_document() const {
  return std::ranges::any_of(parts_.transcript.messages(), [this](const SessionMessage& message) {
    return message.kind == MessageKind::document && message.end > parts_.cache.n_tokens();
  });
}

Result<void> ChatPrefill::read_left(const std::stop_token& stop, const ProgressFn& progress) {
  const std::optional<IndexRange> episode = past_.next_unread();
  return episode ? past_.read_unread(*episode, script_, stop, progress) : Result<void>();
}

// A document of one piece is always read, and so is what all parts said to a question.
Result<bool> ChatPrefill::leave(std::size_t index, const std::stop_token& stop) {
  const std::span<const SessionMessage> messages = parts_.transcript.messages();
  const SessionMessage& message = messages[index];
  if (message.kind != MessageKind::document || !read_part_title(message.title) ||
      message.begin != parts_.cache.n_tokens() || index + 1 == messages.size() ||
      messages[index + 1].role != Role::assistant)
    return false;
  const IndexRange document{.begin = message.begin, .end = messages[index + 1].end};
  if (!past_.may_leave(document)) return false;
  SATCHEL_TRY(change_reach([&] { return past_.leave_unread(document, script_, stop); }));
  return true;
}

Result<ReadReport> ChatPrefill::prefill_unread(std::stop_token stop, const ProgressFn& progress,
                                               bool leaves_documents) {
  const ModelConfig& config = parts_.engine.model->config();
  const Reuse from_shelf = take_first_document(parts_);
  const std::size_t n_all = parts_.transcript.tokens().size();
  if (n_all > config.context && past_.beyond() == BeyondContext::ends)
    return Error{
        ErrorKind::out_of_memory,
        "CONTEXT_FULL",
        "The chat has " + count_text(n_all) + " tokens, more than this model's context of " +
            count_text(config.context) +
            ". It is kept. Compact and Extreme go on beyond the context; or continue it with a "
            "model that has a longer one, or start a new chat.",
        {{"n_tokens", n_all}, {"n_context", config.context}}};
  SATCHEL_TRY_ASSIGN(ReadReport all, prefill_until(n_all, stop, progress, leaves_documents));
  all.n_shelf = from_shelf.n_tokens;
  all.reuse = from_shelf;
  return all;
}

Result<ReadReport> ChatPrefill::prefill_until(std::size_t end_all, const std::stop_token& stop,
                                              const ProgressFn& progress, bool leaves_documents) {
  const std::size_t n_before = parts_.cache.n_tokens();
  const std::size_t n_layers = parts_.engine.model->config().n_layers();
  ReadReport all;
  const std::span<const SessionMessage> messages = parts_.transcript.messages();
  for (std::size_t i = 0; i < messages.size(); ++i) {
    const SessionMessage& message = messages[i];
    const std::size_t at = parts_.cache.n_tokens(), end = std::min(message.end, end_all);
    if (end <= at) continue;
    if (leaves_documents) {
      SATCHEL_TRY_ASSIGN(const bool is_left, leave(i, stop));
      if (is_left) continue;
    }
    SATCHEL_TRY(prepare(message, stop));
    const ProgressFn part = [&](const Progress& now) {
      progress({now.phase, (at - n_before) * n_layers + now.done, (end_all - n_before) * n_layers});
    };
    Result<ReadReport> report =
        prefill({.end = end, .kind = segment_kind(message)}, stop, progress ? part : progress);
    if (!report.ok()) return explain(std::move(report).error());
    add(all, *report);
    if (message.is_forgotten) mark_again(message);
    if (message.role != Role::assistant || end < message.end) continue;
    // Its turn ends with the one that asks about it.
    const bool notes_document = i > 0 && messages[i - 1].kind == MessageKind::document;
    if (notes_document && document_waits(*parts_.cache)) continue;
    SATCHEL_TRY_ASSIGN(const CompactionReport ended, end_turn());
    all.n_evicted += ended.n_evicted;
    all.compressed = all.compressed || ended.n_evicted + ended.n_lowered > 0;
  }
  return all;
}

void ChatPrefill::mark_again(const SessionMessage& message) {
  const std::size_t end = std::min(message.end, parts_.cache.n_tokens());
  if (message.begin >= end || !(message.is_pinned || message.is_forgotten)) return;
  const std::size_t n = end - message.begin;
  Result<void> done;
  if (message.is_forgotten) {
    parts_.meter.drop_rows();
    done = parts_.cache->edit().forget(message.begin, n);
  } else {
    done = parts_.cache->edit().pin(message.begin, n);
  }
  if (!done.ok())
    parts_.engine.record(LogLevel::warning, "not marked again code=" + done.error().code);
}

Result<void> ChatPrefill::show_near(std::size_t n_tokens, const std::stop_token& stop) {
  return change_reach([&]() -> Result<void> {
    SATCHEL_TRY(past_.free_context(n_tokens, SegmentKind::message, script_, stop));
    return past_.show_near();
  });
}

Result<void> ChatPrefill::prepare(const SessionMessage& message, const std::stop_token& stop) {
  if (!past_.goes_on()) return {};
  const std::size_t begin = std::max(message.begin, parts_.cache.n_tokens());
  const auto text = parts_.transcript.tokens().subspan(begin, message.end - begin);
  const SegmentKind kind = segment_kind(message);
  return change_reach([&]() -> Result<void> {
    SATCHEL_TRY(past_.free_context(text.size(), kind, script_, stop));
    if (kind == SegmentKind::message) SATCHEL_TRY(past_.choose(text, script_, stop));
    // An episode can only go to rest, and a part be asked, where there is memory for a fork.
    return past_.rest_for(needs_of(text.size(), kind) + past_.fork_needs(0));
  });
}

// To read the text and to take a step behind it.
std::size_t ChatPrefill::needs_of(std::size_t n_tokens, SegmentKind kind) const {
  const kvcache::Cache& cache = *parts_.cache;
  return cache.step_needs() + cache.prefill_needs({.n_tokens = n_tokens, .kind = kind},
                                                  pass_bytes(parts_.engine.model->config(),
                                                             cache.needs_pre_rope(), false));
}

Result<void> ChatPrefill::bring_back(const IndexRange& text, const std::stop_token& stop,
                                     std::size_t free_bytes) {
  SATCHEL_TRY(need_script());
  SATCHEL_TRY(past_.bring_back(text, script_, stop));
  SATCHEL_TRY(past_.free_memory(free_bytes));
  if (!past_.rests(text)) return {};
  return Error{ErrorKind::out_of_memory, "CACHE_FULL",
               "The memory limit of " + size_text(parts_.cache->arena().bytes()) +
                   " is too low to bring that part of the chat back. Nothing has changed. Raise "
                   "the limit."};
}

Result<void> ChatPrefill::free_answer_context() {
  parts_.meter.drop_rows();
  return past_.free_answer_context();
}

Result<void> ChatPrefill::prefill_rest() {
  const auto read = [this] {
    return prefill({.end = parts_.transcript.tokens().size(), .kind = SegmentKind::answer}, {}, {});
  };
  Result<ReadReport> report = read();
  if (!report.ok() && is_full(report.error())) {
    const Result<bool> freed = reclaim({});
    if (freed.ok() && *freed) report = read();
  }
  if (!report.ok() && !is_full(report.error())) return report.error();
  const Result<CompactionReport> ended = end_turn();
  if (!ended.ok() && !is_full(ended.error())) return ended.error();
  return {};
}

Result<void> ChatPrefill::recompute_last_logits(const std::stop_token& stop) {
  const std::size_t n_read = parts_.cache.n_tokens();
  if (n_read == 0) return Error{ErrorKind::invalid, "PARAM", "There is no text to continue yet."};
  const auto look = [&] {
    return parts_.engine.model->replay({.cache = *parts_.cache,
                                        .ids = parts_.transcript.tokens().subspan(n_read - 1, 1),
                                        .first = n_read - 1,
                                        .before = parts_.transcript.tokens().first(n_read - 1),
                                        .stop = stop,
                                        .logits = logits_});
  };
  Result<void> seen = look();
  if (seen.ok() || !is_full(seen.error())) return seen;
  SATCHEL_TRY_ASSIGN(const bool freed, reclaim(stop));
  return freed ? look() : seen;
}

Result<CompactionReport> ChatPrefill::end_turn() {
  if (turn_began_) parts_.meter.note_since(LedgerCause::turn, *turn_began_);
  turn_began_.reset();
  const std::size_t bytes_before = parts_.cache->stats().bytes;
  SATCHEL_TRY_ASSIGN(const CompactionReport done, parts_.cache->compactor().end_turn());
  parts_.meter.note(LedgerCause::turn, done, bytes_before);
  return done;
}

Result<bool> ChatPrefill::compress_step(std::stop_token stop, CompactionReport& done) {
  return pack_step(*parts_.engine.model, text_pass(std::move(stop), {}), done);
}

Result<bool> ChatPrefill::reclaim(std::stop_token stop) {
  kvcache::Cache& cache = *parts_.cache;
  const std::size_t used_before = cache.arena().used_bytes();
  parts_.meter.drop_rows();
  SATCHEL_TRY(need_script());
  const std::size_t bytes_before = cache.stats().bytes;
  const auto needed = [&cache] { return cache.step_needs(); };
  SATCHEL_TRY(past_.rest_for(needed()));
  if (cache.arena().free_bytes() >= needed() && cache.arena().used_bytes() < used_before)
    return true;
  SATCHEL_TRY_ASSIGN(
      Reclaimed made,
      runtime::reclaim(*parts_.engine.model, text_pass(std::move(stop), {}),
                       {.is_reached = [&] { return cache.arena().free_bytes() >= needed(); },
                        .needed_bytes = needed}));
  parts_.meter.note(LedgerCause::limit, made.packed += made.lowered, bytes_before);
  return cache.arena().used_bytes() < used_before;
}

Error ChatPrefill::explain(Error problem) const {
  if (problem.code != "CACHE_FULL") return problem;
  problem.message = "The memory limit of " + size_text(parts_.cache->arena().bytes()) +
                    " is reached: " + count_text(parts_.cache.n_tokens()) +
                    " tokens have been read, " + count_text(n_unread()) + " more do not fit. " +
                    parts_.transcript.kept_text() +
                    "Raise the limit, choose a smaller preset or start a new chat.";
  return problem;
}

Result<ReadReport> ChatPrefill::reread(std::stop_token stop, const ProgressFn& progress) {
  Result<ReadReport> read = prefill_unread(std::move(stop), progress);
  if (read.ok() || read.error().kind != ErrorKind::cancelled) return read;
  Error problem = std::move(read).error();
  const kvcache::Recipe& recipe = parts_.cache.recipe();
  char share[32] = "";
  if (recipe.keep() < 1)
    std::snprintf(share, sizeof share, " (keeps %.1f %%)", recipe.keep() * 100);
  problem.message = "Stopped. The chat now has recipe \"" + recipe.name() + "\"" + share +
                    " and a memory limit of " + size_text(parts_.cache->arena().bytes()) + ". " +
                    count_text(parts_.cache.n_tokens()) + " of its " +
                    count_text(parts_.transcript.tokens().size()) +
                    " tokens have been reread; the rest is reread before the next answer.";
  return problem;
}

}  // namespace satchel::runtime
