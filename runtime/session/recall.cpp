// The recall probe: passages of what was read are said again against the cache as it is.
#include <algorithm>
#include <cctype>

#include "runtime/model/scratch.h"
#include "runtime/reading/repeat_script.h"
#include "runtime/session/session_state.h"

namespace satchel::runtime {
namespace {

constexpr std::size_t kReadTokensMin = 64;  // chosen: what is shorter was hardly given to be read
constexpr std::size_t kClosingTokens = 4;   // of the template, behind a message, at most

TokenLook look_of(const Tokenizer& tokenizer, TokenId token) {
  std::string piece;
  tokenizer.append_piece(token, piece);
  const auto has = [&piece](auto&& is) {
    return std::any_of(piece.begin(), piece.end(),
                       [&](char c) { return is(static_cast<unsigned char>(c)); });
  };
  if (has([](unsigned char c) { return c >= '0' && c <= '9'; })) return TokenLook::number;
  if (piece.find_first_of(".!?\n") != std::string::npos) return TokenLook::end;
  const bool is_word =
      has([](unsigned char c) { return c >= 0x80 || std::isalpha(c) != 0; });  // or a part of one
  return is_word ? TokenLook::word : TokenLook::other;
}

}  // namespace

std::vector<Passage> Session::State::passages() const {
  std::vector<ReadPart> parts;
  for (const SessionMessage& message : transcript.messages()) {
    const bool is_read = message.role == kvcache::Role::user && message.end <= n_read() &&
                         message.end - message.begin >= kReadTokensMin;
    if (is_read) parts.push_back({.begin = message.begin, .end = message.end - kClosingTokens});
  }
  return choose_passages(transcript.tokens(), parts,
                         [this](TokenId token) { return look_of(*engine.tokenizer, token); });
}

// Only what happened to text that was read: the end of a turn lowers the turn.
bool Session::State::recall_is_due() const {
  const auto spans = cache->spans();
  if (std::any_of(spans.begin(), spans.end(),
                  [](const auto& span) { return span.state != kvcache::SpanState::done; }))
    return false;
  std::size_t n_steps = 0;
  bool is_new = false;
  for (const LedgerEntry& entry : meter.ledger.entries()) {
    n_steps += entry.n_steps;
    const bool concerns = entry.cause != LedgerCause::turn || entry.n_evicted > 0;
    is_new = is_new || (concerns && n_steps > meter.recall.n_steps);
  }
  return is_new && !is_exact();
}

Result<std::vector<TokenId>> Session::State::said_again(kvcache::Cache& into,
                                                        const Passage& passage,
                                                        std::span<const TokenId> before,
                                                        const std::stop_token& stop) {
  std::vector<TokenId> ids(before.begin(), before.end());
  const auto text = transcript.tokens().subspan(passage.first, passage.n_tokens);
  ids.insert(ids.end(), text.begin(), text.end());
  const ModelConfig& config = engine.model->config();
  const std::size_t n_rows = fidelity_rows(ids.size());
  SATCHEL_TRY_ASSIGN(const kvcache::Arena::Lease lease,
                     into.arena().take_scratch(n_rows * config.width * sizeof(float)));
  auto* rows = reinterpret_cast<float*>(lease.data());
  SATCHEL_TRY(engine.model->read_prompt({.cache = into,
                                         .ids = ids,
                                         .request = {.kind = kvcache::SpanKind::kept},
                                         .stop = stop,
                                         .progress = {},
                                         .last_rows = rows}));
  // What follows the token before the passage, and each of its tokens but the last.
  const std::size_t first = n_rows - passage.n_tokens - 1;
  return engine.model->top_tokens(into.arena(), rows + first * config.width, passage.n_tokens);
}

Result<void> Session::State::ask_again(const Passage& passage, const RepeatScript& how,
                                       RecallProbe& sum, const std::stop_token& stop) {
  const auto tokens = transcript.tokens();
  // As if it were in the middle of repeating the text. Tried on the bundled model, 43 facts of the
  // held-out notes held finely: 42 are said so, 37 of 49 behind "starting with" the hook.
  std::vector<TokenId> before = how.first;
  const auto hook = tokens.subspan(passage.first - kRecallHookTokens, kRecallHookTokens);
  before.insert(before.end(), hook.begin(), hook.end());
  SATCHEL_TRY_ASSIGN(const std::unique_ptr<kvcache::Cache> fork, cache->fork());
  SATCHEL_TRY_ASSIGN(const std::vector<TokenId> said, said_again(*fork, passage, before, stop));
  fork->clear();
  if (engine.tokenizer->adds_bos() && engine.tokenizer->bos())
    before.insert(before.begin(), *engine.tokenizer->bos());
  SATCHEL_TRY_ASSIGN(const std::vector<TokenId> guessed, said_again(*fork, passage, before, stop));
  for (const std::size_t fact : passage.facts) {
    const std::size_t i = fact - passage.first;
    if (guessed[i] == tokens[fact]) continue;
    ++sum.n_asked;
    if (said[i] == tokens[fact]) ++sum.n_said;
  }
  return {};
}

// Without room for a second cache nothing is measured, until the cache is another again.
bool Session::State::probe_recall(const std::stop_token& stop, const ProgressFn& progress) {
  if (!recall_is_due()) return true;
  const std::size_t n_steps = meter.ledger.n_steps();
  if (!recall_run || recall_run->sum.n_steps != n_steps || recall_run->n_tokens != n_read())
    recall_run =
        RecallRun{.passages = passages(), .n_tokens = n_read(), .sum = {.n_steps = n_steps}};
  RecallRun& run = *recall_run;
  const Result<RepeatScript> how = chat_script(*engine.tokenizer, *engine.chat_template);
  bool failed = !how.ok();
  while (!failed && run.n_done < run.passages.size()) {
    if (stop.stop_requested()) return false;
    if (progress) progress({Phase::measure_fidelity, run.n_done, run.passages.size()});
    RecallProbe sum = run.sum;
    const Result<void> asked = ask_again(run.passages[run.n_done], *how, sum, stop);
    if (!asked.ok() && asked.error().kind == ErrorKind::cancelled) return false;
    failed = !asked.ok();
    run.sum = sum;
    ++run.n_done;
  }
  if (failed || run.sum.n_asked == 0) {
    meter.recall.n_steps = n_steps;
  } else {
    meter.recall = run.sum;
    meter.recall.measured_at = n_read();
    meter.recall.measured_ms = clock.wall_ms();
  }
  recall_run.reset();
  if (progress) progress({Phase::measure_fidelity, 1, 1});
  return true;
}

}  // namespace satchel::runtime
