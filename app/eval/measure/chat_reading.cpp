#include "app/eval/measure/chat_reading.h"

#include <algorithm>
#include <memory>
#include <span>
#include <utility>

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

// How much of a chat is read.
struct Reach {
  std::size_t n_dropped = 0;  // messages, the oldest
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
  Result<std::size_t> tokens_after() const;
  Result<Reach> reach() const;
  Result<void> open_session(std::span<const ChatMessage> messages);
  Result<void> read();
  Result<ChatAnswer> answer(const ChatQuestion& question);

  runtime::Engine& engine_;
  const kvcache::Recipe& recipe_;
  const Chat& chat_;
  const ChatAsking& asking_;
  const std::stop_token stop_;
  const runtime::Thinking thinking_;
  const std::string system_;
  std::unique_ptr<ScriptedJournal> journal_;
  std::unique_ptr<runtime::Session> session_;
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

Result<Reach> ChatReader::reach() const {
  ScriptedJournal journal(chat_.messages, system_);
  runtime::Transcript transcript({.tokenizer = engine_.tokenizer(),
                                  .chat_template = engine_.chat_template(),
                                  .model_fingerprint = engine_.fingerprint(),
                                  .system = {},
                                  .thinking = thinking_,
                                  .journal = &journal,
                                  .chat = ScriptedJournal::kScript});
  SATCHEL_TRY(transcript.load());
  SATCHEL_TRY_ASSIGN(const std::size_t n_after, tokens_after());
  const std::size_t context = engine_.config().context;
  const std::size_t n_used = asking_.n_context > 0 ? std::min(asking_.n_context, context) : context;
  const std::size_t n_all = transcript.tokens().size(), n_room = n_used - std::min(n_used, n_after);
  if (n_all <= n_room || asking_.beyond == Beyond::episodes) return Reach{};
  if (asking_.beyond == Beyond::stops) return Reach{.goes_on = false};
  const auto messages = transcript.messages();
  const std::size_t n_before = messages.size() - chat_.messages.size();  // the system prompt
  const std::size_t n_system = n_before == 0 ? 0 : messages[0].end;
  std::size_t first = 0;
  for (; first < chat_.messages.size(); ++first)
    if (chat_.messages[first].speaker == Speaker::user &&
        n_system + n_all - messages[n_before + first].begin <= n_room)
      break;
  return Reach{.n_dropped = first};
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

Result<void> ChatReader::read() {
  const SystemClock clock;
  const double began = clock.steady_ms();
  SATCHEL_TRY(session_->resume(stop_, {}));
  // A second pass, where the recipe has one, before the first question is known.
  SATCHEL_TRY(session_->idle(stop_, {}));
  if (stop_.stop_requested()) return stopped();
  out_.stats = session_->stats();
  out_.read_ms = clock.steady_ms() - began;
  return {};
}

Result<ChatAnswer> ChatReader::answer(const ChatQuestion& question) {
  const SystemClock clock;
  SATCHEL_TRY_ASSIGN(const std::unique_ptr<runtime::Session> copy, session_->fork(kAsked));
  const double began = clock.steady_ms();
  ChatAnswer out;
  SATCHEL_TRY_ASSIGN(out.spoken, say(*copy, question.ask, kChatAnswerTokensMax, stop_));
  out.ms = clock.steady_ms() - began;
  journal_->erase(kAsked);
  return out;
}

Result<ChatAnswers> ChatReader::ask() {
  SATCHEL_TRY_ASSIGN(const Reach in_reach, reach());
  if (!in_reach.goes_on) {
    out_.answers.assign(chat_.questions.size(), {.spoken = {.text = {}, .cut = true}});
    return std::move(out_);
  }
  out_.n_dropped = in_reach.n_dropped;
  SATCHEL_TRY(open_session(std::span(chat_.messages).subspan(in_reach.n_dropped)));
  SATCHEL_TRY(read());
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
