#include "runtime/session/answer.h"

#include <algorithm>

#include "kernels/base/size_text.h"

namespace satchel::runtime {

using kvcache::MessageState;

namespace {

// Kept free for the end of an answer. Chosen: the end-of-turn token and what follows it are two
// tokens in every template known.
constexpr std::size_t kTailTokensMax = 4;

// Of an answer that may yet begin with thoughts, where its limit is lower. Chosen: a mark of a token
// a byte and some white space before it; a model that never says more is ended all the same.
constexpr std::size_t kUndecidedTokensMax = 16;

constexpr const char* kRepeatsText =
    "The answer began to repeat itself and was ended. Ask in other words, raise the repetition "
    "penalty, or take a larger model.";

}  // namespace

Answer::Answer(Session::State& session, const Sampling& sampling, const Listeners& listeners,
               std::stop_token stop)
    : session_(session),
      sampling_(sampling),
      sampler_(sampling),
      listeners_(listeners),
      stop_(std::move(stop)),
      reader_(session.answer_reader()) {}

void Answer::begin() {
  began_ms_ = session_.clock.steady_ms();
  went_ = read_head();
}

Result<void> Answer::read_head() {
  SATCHEL_TRY_ASSIGN(const std::vector<TokenId> head, session_.transcript.answer_head());
  if (stop_.stop_requested()) {
    report_.finish = Finish::stopped;
    return {};
  }
  if (session_.n_context_left() < kLeastAnswerTokens) {
    report_.finish = Finish::context_full;
    report_.message = context_full_text();
    return {};
  }
  SATCHEL_TRY(session_.transcript.begin_answer(head));
  is_open_ = true;
  report_.answer = session_.transcript.messages().back().id;
  const Result<void> seen = see_head();
  if (!seen.ok()) return end_or_fail(seen.error());
  goes_on_ = true;
  return {};
}

// The session's logits are those after it, or where it has no tokens, after what is before it.
Result<void> Answer::see_head() {
  const std::size_t end = session_.transcript.tokens().size();
  if (session_.n_read() == end) return session_.look_again(stop_);
  SATCHEL_TRY(session_.read_span(
      {.end = end, .kind = kvcache::SpanKind::answer, .logits = session_.logits}, stop_, {}));
  return {};
}

std::optional<TokenId> Answer::choose() {
  if (!goes_on_) return std::nullopt;
  const Result<std::optional<TokenId>> drawn = draw();
  if (!drawn.ok()) went_ = drawn.error();
  goes_on_ = drawn.ok() && drawn->has_value();
  return goes_on_ ? *drawn : std::nullopt;
}

Result<std::optional<TokenId>> Answer::draw() {
  const TokenId token = sampler_.choose(session_.logits, session_.transcript.tokens());
  const Tokenizer& tokenizer = *session_.engine.tokenizer;
  if (tokenizer.ends_turn(token)) {
    report_.finish = Finish::end_of_turn;
    // Another end token than the template's would leave the turn open for later ones.
    if (token == session_.engine.chat_template->end_token(tokenizer)) ended_by_ = token;
    return std::optional<TokenId>();
  }
  loops_ = loop_watch_.loops_after(token) && sampling_.ends_loops;
  const AnswerReader::Said said = reader_.push(token);
  SATCHEL_TRY(session_.transcript.extend_answer(said.answer, {&token, 1}));
  show(said);
  const std::optional<Finish> limit = reached();
  if (!limit) return std::optional<TokenId>(token);
  report_.finish = *limit;
  if (*limit == Finish::context_full) report_.message = context_full_text();
  if (*limit == Finish::repeats) report_.message = kRepeatsText;
  return std::optional<TokenId>();
}

Result<void> Answer::decode(TokenId token) {
  const auto step = [&] {
    return session_.engine.model->decode_step(*session_.cache, token, session_.logits);
  };
  Result<void> decoded = step();
  if (decoded.ok() || decoded.error().kind != ErrorKind::out_of_memory) return decoded;
  SATCHEL_TRY_ASSIGN(const bool made, session_.make_room(stop_));
  return made ? step() : decoded;
}

void Answer::decoded(const Result<void>& result) {
  if (result.ok()) return;
  goes_on_ = false;
  went_ = end_or_fail(result.error());
}

Result<GenerateReport> Answer::end() {
  if (is_open_) SATCHEL_TRY(finish(went_.ok()));
  SATCHEL_TRY(went_);
  if (is_open_) report_.ms = session_.clock.steady_ms() - began_ms_;
  return std::move(report_);
}

std::optional<Finish> Answer::reached() const {
  if (!wanted_ || stop_.stop_requested()) return Finish::stopped;
  if (loops_) return Finish::repeats;
  const std::size_t n_max = sampling_.n_tokens_max;
  const std::size_t n_undecided_max = std::max(n_max, kUndecidedTokensMax);
  if (n_max != 0 && (report_.n_tokens >= n_max || reader_.n_undecided_tokens() >= n_undecided_max))
    return Finish::n_tokens_max;
  if (session_.n_context_left() < kTailTokensMax) return Finish::context_full;
  return std::nullopt;
}

Result<void> Answer::end_or_fail(const Error& problem) {
  if (problem.kind == ErrorKind::cancelled) {
    report_.finish = Finish::stopped;
    return {};
  }
  if (problem.kind != ErrorKind::out_of_memory) return problem;
  report_.finish = Finish::cache_full;
  report_.message = session_.explain(problem).message;
  return {};
}

Result<void> Answer::finish(bool went_well) {
  const bool whole = went_well && is_whole(report_.finish);
  const AnswerReader::Said rest = reader_.finish();
  std::vector<TokenId> closing;
  if (whole) {
    if (ended_by_) closing.push_back(*ended_by_);
    SATCHEL_TRY_ASSIGN(const std::vector<TokenId> tail,
                       session_.engine.chat_template->assistant_tail(
                           *session_.engine.tokenizer,
                           ended_by_ ? *ended_by_ : session_.transcript.tokens().back()));
    closing.insert(closing.end(), tail.begin(), tail.end());
  }
  SATCHEL_TRY(session_.transcript.finish_answer(
      whole ? MessageState::complete : MessageState::interrupted, rest.answer, closing));
  show(rest);
  if (!went_well) return {};
  return session_.read_rest();
}

void Answer::show(const AnswerReader::Said& said) {
  report_.n_tokens = reader_.n_answer_tokens();
  Thoughts& thoughts = report_.thoughts;
  if (reader_.n_thought_tokens() > thoughts.n_tokens)
    thoughts.ms = session_.clock.steady_ms() - began_ms_;
  thoughts.n_tokens = reader_.n_thought_tokens();
  thoughts.text += said.thought;
  report_.text += said.answer;
  const auto tell = [this](const PieceFn& listener, const std::string& text) {
    if (!text.empty() && listener && !listener(text)) wanted_ = false;
  };
  tell(listeners_.thought, said.thought);
  tell(listeners_.piece, said.answer);
  const std::size_t n_max = sampling_.n_tokens_max;
  if (listeners_.progress)
    listeners_.progress({Phase::generate, report_.n_tokens,
                         n_max != 0 ? n_max : report_.n_tokens + session_.n_context_left()});
}

std::string Answer::context_full_text() const {
  const std::size_t n_context = session_.engine.model->config().context;
  return "The model's context of " + count_text(n_context) +
         " tokens is full: " + count_text(session_.transcript.tokens().size()) + " are taken, " +
         count_text(session_.n_context_left()) + " left. " + session_.kept_text() +
         "Start a new chat, or one from a shorter document.";
}

}  // namespace satchel::runtime
