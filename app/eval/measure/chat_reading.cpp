#include "app/eval/measure/chat_reading.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "app/eval/measure/epicache.h"
#include "app/eval/measure/passes.h"
#include "app/eval/measure/scripted_journal.h"
#include "kernels/base/clock.h"
#include "runtime/session/transcript.h"

namespace satchel::eval {
namespace {

constexpr runtime::ChatId kAsked{2};
// What templates put around a question and an answer: less than this.
constexpr std::size_t kTurnTokens = 32;

constexpr std::size_t kContextsMost = 16;  // of a chat that goes on; chosen

// How often a chat is read to hold so many bytes, and how near is near enough; chosen.
constexpr int kTriesMost = 8;
constexpr double kNear = 0.02;
constexpr double kShareLeast = 0.01;  // as Recipe::with_keep

// How much of a chat is read.
struct Reach {
  std::size_t n_first = 0;    // messages that stay before those that are dropped
  std::size_t n_dropped = 0;  // messages
  bool goes_on = true;        // else nothing is read or answered
};

class ChatReader {
 public:
  ChatReader(runtime::Engine& engine, const kvcache::Recipe& recipe, const Chat& chat,
             const ChatAsking& asking, std::stop_token stop)
      : engine_(engine),
        recipe_(recipe),
        chat_(chat),
        asking_(asking),
        stop_(std::move(stop)),
        thinking_(engine.chat_template().least_thinking()),
        system_(engine.chat_template().default_system(thinking_)) {}

  Result<ChatAnswers> ask();

 private:
  bool rolls() const {
    return asking_.beyond == Beyond::rolling || asking_.beyond == Beyond::sinks;
  }
  Result<std::size_t> tokens_after() const;
  // share: of the chat's tokens, where it rolls
  Result<Reach> reach(double share);
  Result<void> open_session(std::span<const ChatMessage> messages);
  Result<void> read_session(const Reach& reach);
  Result<bool> read(double share);  // false: the chat stops
  Result<bool> read_to_hold();
  Result<ChatAnswer> answer(const ChatQuestion& question);

  runtime::Engine& engine_;
  kvcache::Recipe recipe_;
  const Chat& chat_;
  const ChatAsking& asking_;
  const std::stop_token stop_;
  const runtime::Thinking thinking_;
  const std::string system_;
  std::unique_ptr<ScriptedJournal> journal_;
  std::unique_ptr<runtime::Session> session_;
  std::optional<EpiCache> epicache_;
  std::size_t n_all_ = 0;  // tokens of the whole chat
  ChatAnswers out_;
};

// Of the longest question and the answer to it.
Result<std::size_t> ChatReader::tokens_after() const {
  std::size_t n_question = 0;
  for (const ChatQuestion& question : chat_.questions) {
    SATCHEL_TRY_ASSIGN(const auto ids,
                       engine_.tokenizer().encode(question.ask, runtime::SpecialText::as_text));
    n_question = std::max(n_question, ids.size());
  }
  return n_question + kTurnTokens + kChatAnswerTokensMax;
}

Result<Reach> ChatReader::reach(double share) {
  ScriptedJournal journal(chat_.messages, system_);
  runtime::Transcript transcript({.tokenizer = engine_.tokenizer(),
                                  .chat_template = engine_.chat_template(),
                                  .model_fingerprint = engine_.fingerprint(),
                                  .system = {},
                                  .thinking = thinking_,
                                  .journal = &journal,
                                  .chat = ScriptedJournal::kScript});
  SATCHEL_TRY(transcript.load());
  n_all_ = transcript.tokens().size();
  SATCHEL_TRY_ASSIGN(const std::size_t n_after, tokens_after());
  const std::size_t context = engine_.config().context;
  const std::size_t n_used = asking_.n_context > 0 ? std::min(asking_.n_context, context) : context;
  const auto n_share = static_cast<std::size_t>(share * static_cast<double>(n_all_));
  const std::size_t n_room = std::min(n_used - std::min(n_used, n_after), n_share);
  if (asking_.beyond == Beyond::episodes || n_all_ <= n_room) return Reach{};
  if (asking_.beyond == Beyond::stops) return Reach{.goes_on = false};
  const auto messages = transcript.messages();
  const std::size_t n_before = messages.size() - chat_.messages.size();  // the system prompt
  Reach out;
  const auto is_turn = [&](std::size_t i) { return chat_.messages[i].speaker == Speaker::user; };
  if (asking_.beyond == Beyond::sinks)
    while (++out.n_first < chat_.messages.size() && !is_turn(out.n_first)) {
    }
  const std::size_t n_stay = n_before + out.n_first;
  const std::size_t n_kept = n_stay == 0 ? 0 : messages[n_stay - 1].end;
  std::size_t first = out.n_first;
  for (; first < chat_.messages.size(); ++first)
    if (is_turn(first) && n_kept + n_all_ - messages[n_before + first].begin <= n_room) break;
  out.n_dropped = first - out.n_first;
  return out;
}

Result<void> ChatReader::open_session(std::span<const ChatMessage> messages) {
  journal_ = std::make_unique<ScriptedJournal>(messages, system_);
  runtime::SessionOptions options(recipe_);
  options.thinking = thinking_;
  options.beyond = asking_.beyond == Beyond::episodes ? runtime::BeyondContext::episodes
                                                      : runtime::BeyondContext::ends;
  // The default is for one context.
  SATCHEL_TRY_ASSIGN(const std::size_t budget, engine_.default_budget());
  if (asking_.beyond == Beyond::episodes) options.budget_bytes = kContextsMost * budget;
  options.journal = journal_.get();
  options.chat = ScriptedJournal::kScript;
  SATCHEL_TRY_ASSIGN(session_, engine_.new_session(options));
  return {};
}

Result<void> ChatReader::read_session(const Reach& reach) {
  const std::span<const ChatMessage> all(chat_.messages);
  std::vector<ChatMessage> messages(all.begin(), all.begin() + std::ptrdiff_t(reach.n_first));
  const auto rest = all.subspan(reach.n_first + reach.n_dropped);
  messages.insert(messages.end(), rest.begin(), rest.end());
  session_.reset();
  SATCHEL_TRY(open_session(messages));
  SATCHEL_TRY(session_->resume(stop_, {}));
  // A second pass, where the recipe has one, before the first question is known.
  SATCHEL_TRY(session_->idle(stop_, {}));
  if (stop_.stop_requested()) return stopped();
  out_.stats = session_->stats();
  out_.n_dropped = reach.n_dropped;
  return {};
}

// share: of the tokens that stay where the chat rolls, else what the recipe keeps; 1: as it is.
Result<bool> ChatReader::read(double share) {
  const SystemClock clock;
  const double began = clock.steady_ms();
  SATCHEL_TRY_ASSIGN(const Reach in_reach, reach(rolls() ? share : 1));
  if (!in_reach.goes_on) return false;
  if (!rolls() && asking_.held > 0) {
    SATCHEL_TRY_ASSIGN(recipe_, recipe_.with_keep(share));
  }
  if (asking_.beyond == Beyond::epicache) {
    epicache_.reset();
    SATCHEL_TRY_ASSIGN(const std::size_t n_after, tokens_after());
    SATCHEL_TRY_ASSIGN(epicache_, EpiCache::read(engine_, recipe_, chat_.messages, n_after, stop_));
    out_.stats = epicache_->stats();
  } else {
    SATCHEL_TRY(read_session(in_reach));
  }
  out_.whole_fp16_bytes =
      out_.stats.fp16_bytes / std::max<std::size_t>(1, out_.stats.n_tokens) * n_all_;
  out_.read_ms = clock.steady_ms() - began;
  return true;
}

// The share follows the bytes it led to until they are near, or no share is left to try; then the
// nearest is read once more.
Result<bool> ChatReader::read_to_hold() {
  double least = kShareLeast, most = 1, best = 1, best_off = 1e9;
  double last = 0, next = asking_.held;
  for (int i = 0; i < kTriesMost && best_off > kNear; ++i) {
    last = next;
    SATCHEL_TRY_ASSIGN(const bool is_read, read(last));
    if (!is_read) return false;
    const double off = out_.held() / asking_.held - 1;
    if (std::abs(off) < best_off) {
      best_off = std::abs(off);
      best = last;
    }
    (off > 0 ? most : least) = last;
    next = last / (1 + off);
    if (!(next > least && next < most)) next = (least + most) / 2;
  }
  return best == last ? Result<bool>(true) : read(best);
}

Result<ChatAnswer> ChatReader::answer(const ChatQuestion& question) {
  const SystemClock clock;
  ChatAnswer out;
  const double began = clock.steady_ms();
  if (epicache_) {
    SATCHEL_TRY_ASSIGN(out.spoken, epicache_->answer(question.ask, kChatAnswerTokensMax));
    out.ms = clock.steady_ms() - began;
    return out;
  }
  SATCHEL_TRY_ASSIGN(const std::unique_ptr<runtime::Session> copy, session_->fork(kAsked));
  const double forked = clock.steady_ms();
  SATCHEL_TRY_ASSIGN(out.spoken, say(*copy, question.ask, kChatAnswerTokensMax, stop_));
  out.ms = clock.steady_ms() - forked;
  journal_->erase(kAsked);
  return out;
}

Result<ChatAnswers> ChatReader::ask() {
  SATCHEL_TRY_ASSIGN(const bool is_read, asking_.held > 0 ? read_to_hold() : read(1));
  if (!is_read) {
    out_.answers.assign(chat_.questions.size(), {.spoken = {.text = {}, .cut = true}});
    return std::move(out_);
  }
  for (const ChatQuestion& question : chat_.questions) {
    SATCHEL_TRY_ASSIGN(out_.answers.emplace_back(), answer(question));
  }
  return std::move(out_);
}

}  // namespace

Result<ChatAnswers> ask_chat(runtime::Engine& engine, const kvcache::Recipe& recipe,
                             const Chat& chat, const ChatAsking& asking, std::stop_token stop) {
  return ChatReader(engine, recipe, chat, asking, std::move(stop)).ask();
}

}  // namespace satchel::eval
