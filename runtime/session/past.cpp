#include "runtime/session/past.h"

#include <algorithm>
#include <utility>

#include "kvcache/recipes/pipeline.h"
#include "runtime/episodes/answer_words.h"
#include "runtime/episodes/document_parts.h"
#include "runtime/model/scratch.h"
#include "runtime/prefill/prefill_text.h"

namespace satchel::runtime {
namespace {

using kvcache::Reach;
using kvcache::RereadReason;
using kvcache::SegmentKind;
using kvcache::SegmentState;
using kvcache::TextSegment;

// Kept free for an answer. Chosen: longer ones make their own room.
constexpr std::size_t kAnswerTokens = 64;

// Tokens that a template puts around a document and its answer, about.
constexpr std::size_t kPartFrame = 48;

// Of a document's part, where four that are seen together do not fill half of the context. Chosen:
// the first part of a long text can soon be asked.
constexpr std::size_t kPartTokens = 1024;

bool is_turn(const TextSegment& segment) {
  return (segment.kind == SegmentKind::message || segment.kind == SegmentKind::answer) &&
         segment.state == SegmentState::done;
}

// A user's turn, or a document, begins here.
bool begins_turn(const TextSegment& segment) {
  return segment.kind != SegmentKind::answer;
}

}  // namespace

std::size_t Past::head_end() const {
  const std::span<const SessionMessage> messages = parts_.transcript.messages();
  const bool has_system = !messages.empty() && messages.front().role == Role::system;
  return std::max(has_system ? messages.front().end : 0, kvcache::kSinkTokens);
}

std::size_t Past::near_first() const {
  return std::max(parts_.cache->reach().near_first, head_end());
}

std::size_t Past::answer_room() const {
  return std::min(kAnswerTokens, parts_.engine.model->config().context / 16);
}

std::size_t Past::n_seen() const {
  return parts_.cache.is_lost() ? 0 : parts_.cache->n_seen();
}

std::string_view beyond_name(BeyondContext beyond) {
  return beyond == BeyondContext::episodes ? "episodes" : "ends";
}

BeyondContext Past::beyond() const {
  if (chosen_) return *chosen_;
  return parts_.cache.recipe().keep() < 1 ? BeyondContext::episodes : BeyondContext::ends;
}

std::size_t Past::n_left() const {
  if (!goes_on()) return parts_.transcript.n_context_left(BeyondContext::ends);
  const std::size_t n_unread = parts_.transcript.tokens().size() - parts_.cache.n_tokens();
  const std::size_t n_context = parts_.engine.model->config().context;
  return n_context - std::min(n_context, n_seen() + n_unread);
}

std::vector<IndexRange> Past::episodes() const {
  std::vector<IndexRange> out;
  const std::size_t near = parts_.cache->reach().near_first;
  for (const TextSegment& segment : parts_.cache->segments())
    if (segment.end() > head_end() && segment.end() <= near)  // the first may begin with the head
      out.push_back({.begin = std::max(segment.first, head_end()), .end = segment.end()});
  return out;
}

SeenEpisodes Past::seen_episodes() const {
  SeenEpisodes out;
  for (const IndexRange& episode : episodes()) {
    if (parts_.cache->reach().moved(episode.begin)) out.seen.push_back(out.n_all);
    if (is_unread(episode)) ++out.n_unread;
    ++out.n_all;
  }
  out.by_words = is_chosen_by_words_;
  out.were_named = were_named_;
  out.missing = missing_;
  return out;
}

std::string Past::text_of(const IndexRange& range) const {
  return parts_.engine.tokenizer->text(
      parts_.transcript.tokens().subspan(range.begin, range.size()));
}

std::vector<std::size_t> Past::quoted(std::string_view answer,
                                      const std::vector<std::size_t>& seen) const {
  const std::span<const SessionMessage> messages = parts_.transcript.messages();
  if (seen.empty() || messages.size() < 2) return {};
  const SessionMessage& question = messages[messages.size() - 2];
  const std::vector<IndexRange> all = episodes();
  std::vector<std::string> texts;
  for (const std::size_t i : seen) texts.push_back(text_of(all[i]));
  const std::size_t near = near_first();
  texts.push_back(near < question.begin ? text_of({.begin = near, .end = question.begin}) : "");
  std::vector<std::size_t> out;
  std::string asked;
  for (const std::string& word : question_words(
           parts_.transcript.tokens().subspan(question.begin, question.end - question.begin)))
    asked += word + ' ';
  for (const std::size_t i :
       texts_quoted({.question = asked, .answer = answer}, texts, *parts_.engine.tokenizer))
    if (i < seen.size()) out.push_back(seen[i]);
  return out;
}

// The first token of the last turns.
std::size_t Past::recent_first() const {
  const std::span<const TextSegment> segments = parts_.cache->segments();
  std::size_t n = 0;
  for (std::size_t i = segments.size(); i > 0; --i)
    if (begins_turn(segments[i - 1]) && ++n == kRecentTurns) return segments[i - 1].first;
  return 0;
}

std::optional<IndexRange> Past::next_aged(std::size_t end, std::size_t least) const {
  const std::span<const TextSegment> segments = parts_.cache->segments();
  IndexRange run{.begin = near_first(), .end = near_first()};
  for (std::size_t i = 0; i < segments.size() && segments[i].end() <= end; ++i) {
    if (segments[i].first < run.begin) continue;
    if (!is_turn(segments[i])) {
      if (run.size() > 0 && run.size() >= least) return run;
      run = {.begin = segments[i].end(), .end = segments[i].end()};
      continue;
    }
    run.end = segments[i].end();
    const bool ends_turn = i + 1 == segments.size() || begins_turn(segments[i + 1]);
    if (ends_turn && run.size() >= kEpisodeTokens) return run;
  }
  if (run.size() > 0 && run.size() >= least) return run;
  return std::nullopt;
}

bool Past::is_due() const {
  if (parts_.cache.is_lost() || !parts_.cache.recipe().pipeline().decides()) return false;
  return parts_.cache.n_tokens() != n_given_up_ &&
         next_aged(recent_first(), kEpisodeTokens).has_value();
}

Result<void> Past::gather_aged(const RepeatScript& script, const std::stop_token& stop) {
  const std::optional<IndexRange> range = next_aged(recent_first(), kEpisodeTokens);
  if (!range) return {};
  SATCHEL_TRY_ASSIGN(const bool read, read_again(*range, RereadReason::gathered, script, stop));
  if (!read) n_given_up_ = parts_.cache.n_tokens();
  return {};
}

Result<bool> Past::read_again(const IndexRange& range, RereadReason reason,
                              const RepeatScript& script, const std::stop_token& stop,
                              const ProgressFn& progress) {
  SATCHEL_TRY(free_memory(fork_needs(range.size())));
  const Result<bool> read = read_in_fork(range, script, stop, progress);
  if (!read.ok() && read.error().kind == ErrorKind::out_of_memory) return false;
  Rereads& rereads = parts_.cache.rereads();
  if (read.ok() && *read)
    reason == RereadReason::none ? rereads.read(range) : rereads.add({reason, range.size()});
  return read;
}

Result<bool> Past::read_in_fork(const IndexRange& range, const RepeatScript& script,
                                const std::stop_token& stop, const ProgressFn& progress) {
  kvcache::Cache& cache = *parts_.cache;
  Model& model = *parts_.engine.model;
  SATCHEL_TRY_ASSIGN(const std::unique_ptr<kvcache::Cache> reader, cache.fork());
  if (reader->edit().truncation_point(range.begin) != range.begin) return false;
  SATCHEL_TRY(reader->edit().truncate(range.begin));
  if (is_unread(range)) SATCHEL_TRY(reader->edit().set_reach(reach_of(range.begin, {}, 0)));
  const kvcache::PrefillRequest whole{.n_tokens = range.size(), .kind = SegmentKind::document};
  const kvcache::PassBytes bytes = pass_bytes(model.config(), reader->needs_pre_rope(), false);
  // What is held stays as it is held. What is not can only be seen if it is read: in short spans,
  // where there is no memory for more.
  const bool fits = rests(range)
                        ? reader->largest_fit(whole, bytes).n_tokens() >=
                              std::min(range.size(), kvcache::kSpanLeast)
                        : reader->prefill_needs(whole, bytes) <= cache.arena().free_bytes();
  if (!fits) return false;
  const TextPass pass{.cache = *reader,
                      .text = parts_.transcript.tokens(),
                      .script = script,
                      .stop = stop,
                      .progress = progress};
  SATCHEL_TRY(prefill_text(model, pass, {.end = range.end, .kind = SegmentKind::document}));
  SATCHEL_TRY(pack_all(model, pass));
  SATCHEL_TRY(forget_marked(*reader, range));
  SATCHEL_TRY(cache.edit().gather(range.begin, range.size(), reader->state()));
  return true;
}

// What is forgotten stays so where it is read once more, or comes back from before it was.
Result<void> Past::forget_marked(kvcache::Cache& cache, const IndexRange& range) const {
  for (const SessionMessage& message : parts_.transcript.messages()) {
    const std::size_t begin = std::max(message.begin, range.begin);
    const std::size_t end = std::min(message.end, range.end);
    if (message.is_forgotten && begin < end) SATCHEL_TRY(cache.edit().forget(begin, end - begin));
  }
  return {};
}

std::size_t Past::fork_needs(std::size_t n_tokens) const {
  const kvcache::CacheStats stats = parts_.cache.stats();
  const kvcache::PassBytes pass =
      pass_bytes(parts_.engine.model->config(), parts_.cache->needs_pre_rope(), false);
  return stats.bytes - stats.body_bytes + parts_.cache->prefill_needs({.n_tokens = n_tokens}, pass);
}

// Where memory is short and nothing may rest, the oldest text is thinned, so that what has aged
// since can be compressed.
Result<void> Past::free_memory(std::size_t bytes) {
  SATCHEL_TRY(rest_for(bytes));
  if (parts_.cache->arena().free_bytes() >= bytes) return {};
  SATCHEL_TRY(parts_.cache->compactor().reclaim(bytes));
  return {};
}

std::vector<IndexRange> Past::may_rest() const {
  const kvcache::Cache& cache = *parts_.cache;
  std::vector<IndexRange> out;
  for (const TextSegment& segment : cache.segments())
    if (segment.kind == SegmentKind::episode && segment.state == SegmentState::done &&
        !cache.reach().sees(segment.first, segment.end()))
      out.push_back({.begin = segment.first, .end = segment.end()});
  const auto seen_at = [this](const IndexRange& episode) {
    const auto seen = seen_at_.find(episode.begin);
    return seen == seen_at_.end() ? 0 : seen->second;
  };
  std::ranges::stable_sort(out, {}, seen_at);
  return out;
}

// A store that fails costs sharpness, not the chat.
Result<void> Past::rest_for(std::size_t bytes) {
  if (!resting_.has_store() || parts_.cache->reach().is_all()) return {};
  for (const IndexRange& episode : may_rest()) {
    if (parts_.cache->arena().free_bytes() >= bytes) return {};
    const Result<void> rested = resting_.rest(episode, head_end());
    if (rested.ok()) continue;
    const ErrorKind kind = rested.error().kind;
    if (kind == ErrorKind::device_lost || kind == ErrorKind::internal) return rested.error();
    parts_.engine.record(LogLevel::warning, "no episode could rest: " + rested.error().message);
    return {};
  }
  return {};
}

Result<void> Past::rest_under(std::size_t cache_bytes) {
  const std::size_t now = parts_.cache->stats().bytes;
  return rest_for(parts_.cache->arena().free_bytes() + now - std::min(now, cache_bytes));
}

bool Past::rests(const IndexRange& episode) const {
  return std::ranges::any_of(parts_.cache->segments(), [&](const TextSegment& segment) {
    return segment.state == SegmentState::resting && segment.first < episode.end &&
           segment.end() > episode.begin;
  });
}

Result<void> Past::come_back(const IndexRange& episode, const RepeatScript& script,
                             const std::stop_token& stop) {
  const bool is_first = is_unread(episode);
  if (!is_first) {
    seen_at_[episode.begin] = parts_.cache.n_tokens();  // the others rest before it
    SATCHEL_TRY(rest_for(resting_.needs(episode)));
    SATCHEL_TRY_ASSIGN(const bool is_back, resting_.come_back(episode, head_end()));
    if (is_back) return forget_marked(*parts_.cache, episode);
  }
  SATCHEL_TRY(read_again(episode, is_first ? RereadReason::none : RereadReason::episode_lost,
                         script, stop));
  return {};
}

Result<void> Past::bring_back(const IndexRange& text, const RepeatScript& script,
                              const std::stop_token& stop) {
  for (const IndexRange& episode : episodes())
    if (episode.begin < text.end && episode.end > text.begin && rests(episode))
      SATCHEL_TRY(come_back(episode, script, stop));
  return {};
}

// A record that stays is of other text than the chat then has, and is refused.
void Past::forget_from(std::size_t first) {
  words_.truncate(0);
  indexed_.clear();
  named_.clear();
  missing_.clear();
  if (parts_.cache.is_lost()) return;
  std::vector<IndexRange> gone = episodes();
  std::erase_if(gone, [&](const IndexRange& episode) { return episode.end <= first; });
  const Result<void> dropped = resting_.drop(gone);
  if (!dropped.ok())
    parts_.engine.record(LogLevel::warning, "what rested stays saved: " + dropped.error().message);
}

Result<void> Past::gather(const IndexRange& range, const RepeatScript& script,
                          const std::stop_token& stop) {
  if (parts_.cache.recipe().pipeline().decides() && range.size() >= kEpisodeTokens / 2) {
    SATCHEL_TRY_ASSIGN(const bool read, read_again(range, RereadReason::gathered, script, stop));
    if (read) return {};
  }
  return parts_.cache->edit().gather(range.begin, range.size());
}

// What is pending is decided first: only what is in reach can be looked at again.
Result<void> Past::gather_until(std::size_t end, const RepeatScript& script,
                                const std::stop_token& stop) {
  SATCHEL_TRY(parts_.cache->compactor().end_turn());
  SATCHEL_TRY(pack_all(*parts_.engine.model, {.cache = *parts_.cache,
                                              .text = parts_.transcript.tokens(),
                                              .script = script,
                                              .stop = stop,
                                              .progress = {}}));
  SATCHEL_TRY(gather_documents(end));
  while (const std::optional<IndexRange> range = next_aged(end, 0))
    SATCHEL_TRY(gather(*range, script, stop));
  return {};
}

// They are compressed already.
Result<void> Past::gather_documents(std::size_t end) {
  while (const std::optional<IndexRange> range = next_document(end))
    SATCHEL_TRY(parts_.cache->edit().gather(range->begin, range->size()));
  return {};
}

// With the answer that notes it. What was read in several spans is one document: an answer stands
// between two.
std::optional<IndexRange> Past::next_document(std::size_t end) const {
  const std::span<const TextSegment> segments = parts_.cache->segments();
  for (std::size_t i = 0; i < segments.size() && segments[i].end() <= end; ++i) {
    IndexRange document{.begin = std::max(segments[i].first, near_first()),
                        .end = segments[i].end()};
    if (segments[i].kind != SegmentKind::document || document.begin >= document.end) continue;
    while (i + 1 < segments.size() && segments[i + 1].kind == SegmentKind::document &&
           segments[i + 1].end() <= end)
      document.end = segments[++i].end();
    const bool has_answer = i + 1 < segments.size() && segments[i + 1].end() <= end &&
                            segments[i + 1].kind == SegmentKind::answer;
    return IndexRange{.begin = document.begin, .end = segments[has_answer ? i + 1 : i].end()};
  }
  return std::nullopt;
}

// A message's episodes are chosen when there is room for it.
bool Past::has_room(std::size_t n_tokens, SegmentKind kind) const {
  const bool fits = n_seen() + n_tokens + answer_room() <= parts_.engine.model->config().context;
  if (parts_.cache->reach().is_all() || kind == SegmentKind::answer) return fits;
  return has_near_room(n_tokens) && (fits || kind == SegmentKind::message);
}

// While some of the text is out of reach, half of the context stays free for episodes.
bool Past::has_near_room(std::size_t n_tokens) const {
  const Reach& reach = parts_.cache->reach();
  if (reach.is_all()) return false;
  const std::size_t n_near = parts_.cache->n_tokens() - reach.near_first;
  return head_end() + n_near + n_tokens + answer_room() <=
         parts_.engine.model->config().context / 2;
}

std::size_t Past::near_for(std::size_t n_tokens, SegmentKind kind) const {
  const std::size_t n_read = parts_.cache.n_tokens();
  const std::size_t n_context = parts_.engine.model->config().context;
  const std::size_t taken = head_end() + n_tokens + answer_room();
  const std::size_t n_near =
      std::min(n_context / 4, n_context / 2 - std::min(n_context / 2, taken));
  if (kind == SegmentKind::document) return n_read;
  for (const TextSegment& segment : parts_.cache->segments())
    if (segment.first > near_first() && begins_turn(segment) && n_read - segment.first <= n_near)
      return segment.first;
  return n_read;
}

Result<void> Past::free_context(std::size_t n_tokens, SegmentKind kind, const RepeatScript& script,
                                const std::stop_token& stop) {
  if (!goes_on()) return {};
  if (has_room(n_tokens, kind)) return {};
  if (parts_.cache.n_tokens() <= head_end()) return {};
  if (kind == SegmentKind::document && has_near_room(n_tokens))  // only the episodes are in the way
    return parts_.cache->edit().set_reach(reach_of(parts_.cache->reach().near_first, {}, 0));
  const std::size_t near = near_for(n_tokens, kind);
  SATCHEL_TRY(gather_until(near, script, stop));
  return parts_.cache->edit().set_reach(reach_of(near, {}, 0));
}

// Nothing is read again now, and nothing decided: that would keep the reader waiting. First the
// older turns of the near text go, then the episodes.
Result<void> Past::free_answer_context() {
  if (!goes_on()) return {};
  const std::span<const TextSegment> segments = parts_.cache->segments();
  std::size_t first = 0;  // of the turn that is being answered
  for (const TextSegment& segment : segments)
    if (begins_turn(segment)) first = segment.first;
  std::size_t end = near_first();
  for (const TextSegment& segment : segments)  // the first may begin with the head
    if (segment.first <= end && end < segment.end() && segment.end() <= first &&
        segment.state == SegmentState::done)
      end = segment.end();
  const bool moves = end > near_first();
  if (!moves && parts_.cache->reach().parts.size() <= 1) return {};
  SATCHEL_TRY(gather_documents(end));
  while (const std::optional<IndexRange> range = next_aged(end, 0))  // as it is held
    SATCHEL_TRY(parts_.cache->edit().gather(range->begin, range->size()));
  return parts_.cache->edit().set_reach(reach_of(moves ? end : near_first(), {}, 0));
}

// A document that does not fit beside what is seen is read in parts, each by itself.
Result<std::vector<std::string_view>> Past::parts_of(std::string_view document,
                                                     const std::stop_token& stop) const {
  std::vector<std::string_view> out;
  const Tokenizer& tokenizer = *parts_.engine.tokenizer;
  const std::size_t n_context = parts_.engine.model->config().context;
  const std::size_t taken = head_end() + kPartFrame;
  const std::size_t n_half = n_context / 2 - std::min(n_context / 2, taken);
  const std::size_t n_most =
      std::min(n_half, std::max(kPartTokens, n_context / (2 * kEpisodesSeen)));
  const std::size_t n_beside = n_left() - std::min(n_left(), kPartFrame + answer_room());
  if (goes_on() && n_most >= kPartTokensLeast) {
    SATCHEL_TRY_ASSIGN(std::vector<DocumentPart> parts,
                       split_document(document, tokenizer, std::max(n_most, n_beside), stop));
    if (parts.size() > 1) {
      SATCHEL_TRY_ASSIGN(parts, split_document(document, tokenizer, n_most, stop));
    }
    for (const DocumentPart& part : parts) out.push_back(part.text);
  }
  if (out.empty()) out.push_back(document);
  return out;
}

// In text order behind the system prompt, one after the other; where the zone ends, from its
// beginning again, side by side with those before. The near text follows.
Reach Past::reach_of(std::size_t near, std::span<const IndexRange> seen, std::size_t zone) const {
  struct Placed {
    IndexRange range;
    std::size_t at = 0;  // in the zone
  };
  std::vector<Placed> placed;
  std::size_t at = 0, widest = 0;
  for (IndexRange range : seen) {
    if (at > 0 && at + range.size() > zone) at = 0;
    while (range.size() > 0) {
      const std::size_t n = std::min(range.size(), zone - at);
      placed.push_back({.range = {.begin = range.begin, .end = range.begin + n}, .at = at});
      widest = std::max(widest, at + n);
      at = (at + n) % zone;
      range.begin += n;
    }
  }
  Reach reach{.parts = {}, .near_first = near};
  const auto add = [&](const IndexRange& range, std::size_t place) {
    reach.parts.push_back({.first = range.begin,
                           .n_tokens = range.size(),
                           .moved = static_cast<std::int32_t>(place - range.begin)});
  };
  add({.begin = 0, .end = head_end()}, near - widest - head_end());
  for (const Placed& part : placed) add(part.range, near - widest + part.at);
  return reach;
}

// Positions between the system prompt and the near text that the chosen may take.
std::size_t Past::zone(std::size_t n_question) const {
  const std::size_t n_near = parts_.cache->n_tokens() - parts_.cache->reach().near_first;
  const std::size_t taken = head_end() + n_near + n_question + answer_room();
  const std::size_t n_context = parts_.engine.model->config().context;
  return n_context - std::min(n_context, taken);
}

Result<void> Past::show_near() {
  const Reach& now = parts_.cache->reach();
  if (now.is_all()) return {};
  return parts_.cache->edit().set_reach(reach_of(now.near_first, {}, 0));
}

Result<void> Past::show_alone(kvcache::Cache& fork, const IndexRange& part,
                              std::size_t n_tokens) const {
  const std::size_t near = fork.reach().near_first, end = fork.n_tokens();
  if (part.begin >= near) return fork.edit().set_reach(reach_of(near, {}, 0));
  const std::size_t n_context = parts_.engine.model->config().context;
  const std::size_t n_zone = n_context - std::min(n_context, head_end() + n_tokens);
  if (n_zone == 0)
    return Error{ErrorKind::out_of_memory, "CONTEXT_FULL",
                 "The system prompt and the question leave no room for a part of the chat."};
  return fork.edit().set_reach(reach_of(end, {&part, 1}, n_zone));
}

}  // namespace satchel::runtime
