#include "runtime/session/turn.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "kernels/base/size_text.h"
#include "runtime/grammar/model_tokens.h"

namespace satchel::runtime {

namespace {

// Kept free for the end of an answer. Chosen: the end-of-turn token and what follows it are two
// tokens in every template known.
constexpr std::size_t kTailTokensMax = 4;

// Of an answer that may yet begin with thoughts, where its limit is lower. Chosen: a mark of a
// token a byte and some white space before it; a model that never says more is ended all the same.
constexpr std::size_t kUndecidedTokensMax = 16;

constexpr const char* kRepeatsText =
    "The answer began to repeat itself and was stopped. Rephrase the question, raise the "
    "repetition penalty, or use a larger model.";

}  // namespace

Turn::Turn(const ChatParts& parts, ChatPrefill& prefill, const TurnRequest& request)
    : parts_(parts),
      prefill_(prefill),
      request_(request),
      sampler_(request.sampling),
      drafts_({.lookup = request.sampling.drafts, .self_pages = request.sampling.self_draft_pages},
              parts.clock),
      reader_(parts.transcript.answer_reader()),
      stops_(request.sampling.stops) {}

void Turn::begin() {
  went_ = read_prompt();
  if (!went_.ok()) return;
  prefill_.begin_turn();
  began_ms_ = parts_.clock.steady_ms();
  went_ = begin_answer();
}

Result<void> Turn::read_prompt() {
  SATCHEL_TRY(check(request_.sampling));
  if (parts_.transcript.empty())
    return Error{ErrorKind::invalid, "PARAM", "There is no message to answer yet."};
  SATCHEL_TRY(prefill_.need_cache());
  SATCHEL_TRY(prefill_.need_script());
  report_.n_prompt = parts_.transcript.tokens().size();
  SATCHEL_TRY_ASSIGN(report_.read, prefill_.prefill_unread(request_.stop, request_.progress, true));
  report_.episodes = prefill_.past().seen_episodes();
  return {};
}

Result<void> Turn::begin_answer() {
  SATCHEL_TRY_ASSIGN(const std::vector<TokenId> head, parts_.transcript.answer_head());
  if (request_.stop.stop_requested()) {
    report_.finish = Finish::stopped;
    return {};
  }
  if (prefill_.past().n_left() < kLeastAnswerTokens) {
    report_.finish = Finish::context_full;
    report_.message = context_full_text();
    return {};
  }
  SATCHEL_TRY(parts_.transcript.begin_answer(head));
  is_open_ = true;
  report_.answer = parts_.transcript.messages().back().id;
  const Result<void> seen = read_head();
  if (!seen.ok()) return end_or_fail(seen.error());
  if (request_.sampling.grammar != nullptr) {
    const AnswerOpening opening = opening_of(*parts_.engine.tokenizer, *parts_.engine.chat_template,
                                             parts_.transcript.thinking());
    constraint_ = std::make_unique<TokenConstraint>(request_.sampling.grammar->behind(opening),
                                                    parts_.engine.tokens_for_grammars());
  }
  goes_on_ = true;
  return {};
}

Result<void> Turn::read_head() {
  const std::size_t end = parts_.transcript.tokens().size();
  if (parts_.cache.n_tokens() == end) return prefill_.recompute_last_logits(request_.stop);
  SATCHEL_TRY(prefill_.prefill(
      {.end = end, .kind = kvcache::SegmentKind::answer, .logits = logits()}, request_.stop, {}));
  return {};
}

std::optional<TokenId> Turn::choose() {
  if (!goes_on_) return std::nullopt;
  if (drawn_ahead_) return std::exchange(drawn_ahead_, std::nullopt);
  const Result<std::optional<TokenId>> drawn = draw();
  if (!drawn.ok()) went_ = drawn.error();
  goes_on_ = drawn.ok() && drawn->has_value();
  return goes_on_ ? *drawn : std::nullopt;
}

Result<TokenId> Turn::next_token() {
  const std::span<const TokenId> before = parts_.transcript.tokens();
  if (constraint_ == nullptr) return sampler_.choose(logits(), before);
  const std::optional<TokenId> token = sampler_.choose(logits(), before, *constraint_);
  if (!token) return constraint_->stuck();
  constraint_->take(*token);
  return *token;
}

Result<std::optional<TokenId>> Turn::draw() {
  SATCHEL_TRY(parts_.engine.file.check_unchanged());
  SATCHEL_TRY_ASSIGN(const TokenId token, next_token());
  const Tokenizer& tokenizer = *parts_.engine.tokenizer;
  if (tokenizer.ends_turn(token)) {
    report_.finish = Finish::end_of_turn;
    // Another end token than the template's would leave the turn open for later ones.
    // One behind a call neither: results may follow in the same turn.
    const ChatTemplate& chat_template = *parts_.engine.chat_template;
    const TokenId before = parts_.transcript.tokens().back();
    const bool is_end =
        token == chat_template.end_token(tokenizer) && !chat_template.ends_call(tokenizer, before);
    if (is_end || chat_template.ends_call(tokenizer, token)) ended_by_ = token;
    return std::optional<TokenId>();
  }
  repeats_ = repetition_detector_.loops_after(token) && request_.sampling.ends_loops;
  const AnswerReader::Said said = until_stop(reader_.push(token));
  SATCHEL_TRY(parts_.transcript.extend_answer(said.answer, {&token, 1}));
  show(said);
  if (prefill_.past().n_left() < kTailTokensMax) {
    ask();
    SATCHEL_TRY(prefill_.free_answer_context());
  }
  const std::optional<Finish> limit = reached();
  if (!limit) return std::optional<TokenId>(token);
  report_.finish = *limit;
  if (*limit == Finish::context_full) report_.message = context_full_text();
  if (*limit == Finish::repeats) report_.message = kRepeatsText;
  return std::optional<TokenId>();
}

std::size_t Turn::draft_room() {
  if (!model().backend().steps_are_exact()) return 0;
  if (model().needed_bytes() > 0) return 0;
  constexpr std::size_t kLeft = kTailTokensMax + 1;  // of the context, behind them
  const std::size_t n_left = prefill_.past().n_left();
  return std::min({DraftPace::kMost, cache().step_room() - 1, n_left - std::min(n_left, kLeft)});
}

Result<void> Turn::decode(TokenId token, bool calls_back) {
  const std::span<const TokenId> ids = drafts_.next({.model = model(),
                                                     .cache = cache(),
                                                     .sampler = sampler_,
                                                     .text = parts_.transcript.tokens(),
                                                     .logits = logits(),
                                                     .n_most = calls_back ? draft_room() : 0});
  if (ids.size() > 1) return decode_drafted(ids);
  const double began_ms = parts_.clock.steady_ms();
  SATCHEL_TRY(decode_one(token));
  drafts_.took(parts_.clock.steady_ms() - began_ms, 0);
  return {};
}

Result<void> Turn::decode_drafted(std::span<const TokenId> ids) {
  const double began_ms = parts_.clock.steady_ms();
  Result<DraftedStep> step = model().decode_drafted(cache(), ids);
  if (!step.ok()) return decode_one(ids.front());  // needs less memory
  const double ms = parts_.clock.steady_ms() - began_ms;
  std::size_t n_kept = 1;
  for (;; ++n_kept) {
    SATCHEL_TRY(step->fetch_logits(n_kept - 1, logits()));
    if (n_kept == ids.size()) break;
    drawn_ahead_ = choose();
    if (drawn_ahead_ != ids[n_kept]) break;
    drawn_ahead_.reset();
  }
  drafts_.took(ms, n_kept - 1);
  return step->end(n_kept);
}

Result<void> Turn::decode_one(TokenId token) {
  const auto step = [&] { return parts_.engine.model->decode_step(cache(), token, logits()); };
  Result<void> decoded = step();
  if (decoded.ok() || decoded.error().kind != ErrorKind::out_of_memory) return decoded;
  SATCHEL_TRY_ASSIGN(const bool freed, prefill_.reclaim(request_.stop));
  return freed ? step() : decoded;
}

void Turn::decoded(const Result<void>& result) {
  if (result.ok()) return;
  goes_on_ = false;
  went_ = end_or_fail(result.error());
}

Result<GenerateReport> Turn::close() {
  ask();
  // Whatever else went wrong: that is why.
  if (const auto model = parts_.engine.file.check_unchanged(); !model.ok()) went_ = model.error();
  const Result<void> finished = is_open_ ? finish_answer() : Result<void>();
  prefill_.abandon_turn();
  SATCHEL_TRY(finished);
  SATCHEL_TRY(went_);
  report_.read.reread = parts_.cache.take_rereads();
  report_.drafts = drafts_.counts();
  if (is_open_) report_.ms = parts_.clock.steady_ms() - began_ms_;
  if (is_open_)
    report_.episodes.quoted = prefill_.past().quoted(report_.text, report_.episodes.seen);
  return std::move(report_);
}

// Only now, so that nobody waits for it.
Result<GenerateReport> Turn::measure(Result<GenerateReport> closed) {
  ChatMeter& meter = parts_.meter;
  if (closed.ok() && meter.can_measure() &&
      meter.measure(parts_.transcript.tokens(), request_.stop, {}).ok())
    closed->read.fidelity = meter.fidelity();
  return closed;
}

std::optional<Finish> Turn::reached() const {
  if (!wanted_ || request_.stop.stop_requested()) return Finish::stopped;
  if (stops_.found() || (constraint_ != nullptr && constraint_->is_ended()))
    return Finish::end_of_turn;
  if (repeats_) return Finish::repeats;
  const std::size_t n_max = request_.sampling.n_tokens_max;
  const std::size_t n_undecided_max = std::max(n_max, kUndecidedTokensMax);
  if (n_max != 0 && (report_.n_tokens >= n_max || reader_.n_undecided_tokens() >= n_undecided_max))
    return Finish::n_tokens_max;
  if (prefill_.past().n_left() < kTailTokensMax) return Finish::context_full;
  return std::nullopt;
}

Result<void> Turn::end_or_fail(const Error& problem) {
  if (problem.kind == ErrorKind::cancelled) {
    report_.finish = Finish::stopped;
    return {};
  }
  if (problem.kind != ErrorKind::out_of_memory) return problem;
  report_.finish = Finish::cache_full;
  report_.message = prefill_.explain(problem).message;
  return {};
}

Result<void> Turn::finish_answer() {
  const bool whole = went_.ok() && is_whole(report_.finish);
  AnswerReader::Said rest = until_stop(reader_.finish());
  rest.answer += stops_.finish();
  std::vector<TokenId> closing;
  if (whole) {
    if (ended_by_) closing.push_back(*ended_by_);
    SATCHEL_TRY_ASSIGN(
        const std::vector<TokenId> tail,
        parts_.engine.chat_template->assistant_tail(
            *parts_.engine.tokenizer, ended_by_ ? *ended_by_ : parts_.transcript.tokens().back()));
    closing.insert(closing.end(), tail.begin(), tail.end());
  }
  SATCHEL_TRY(parts_.transcript.finish_answer(
      whole ? MessageState::complete : MessageState::interrupted, rest.answer, closing));
  show(rest);
  if (!went_.ok()) return {};
  return prefill_.prefill_rest();
}

AnswerReader::Said Turn::until_stop(AnswerReader::Said said) {
  said.answer = stops_.push(said.answer);
  return said;
}

void Turn::show(const AnswerReader::Said& said) {
  report_.n_tokens = reader_.n_answer_tokens();
  Thoughts& thoughts = report_.thoughts;
  if (reader_.n_thought_tokens() > thoughts.n_tokens)
    thoughts.ms = parts_.clock.steady_ms() - began_ms_;
  thoughts.n_tokens = reader_.n_thought_tokens();
  thoughts.text += said.thought;
  report_.text += said.answer;
  const auto tell = [this](const DeltaFn& listener, const std::string& text) {
    if (!text.empty() && listener && !listener(text)) wanted_ = false;
  };
  tell(request_.thought, said.thought);
  tell(request_.delta, said.answer);
  const std::size_t n_max = request_.sampling.n_tokens_max;
  const std::size_t n_possible = n_max != 0 ? n_max : report_.n_tokens + prefill_.past().n_left();
  if (request_.progress) request_.progress({Phase::generate, report_.n_tokens, n_possible});
}

std::string Turn::context_full_text() const {
  const std::size_t n_context = parts_.engine.model->config().context;
  const Transcript& transcript = parts_.transcript;
  return "The model's context of " + count_text(n_context) +
         " tokens is full: " + count_text(transcript.tokens().size()) + " are used and " +
         count_text(prefill_.past().n_left()) + " are left. " + transcript.kept_text() +
         "Start a new chat, or use a shorter document.";
}

}  // namespace satchel::runtime
