#include "app/eval/commands/recall_together.h"

#include <cctype>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "app/eval/commands/recall_chat.h"
#include "app/eval/measure/passes.h"
#include "app/eval/measure/spoken.h"

namespace satchel::app {
namespace {

bool is_capital(char c) {
  return std::isupper(static_cast<unsigned char>(c)) != 0;
}
bool is_letter(char c) {
  return std::isalpha(static_cast<unsigned char>(c)) != 0;
}

// "Ada Dahl" of "Where does Ada Dahl live?".
std::string names_in(const std::string& question) {
  std::string names;
  for (std::size_t i = 1; i < question.size(); ++i) {
    if (!is_capital(question[i]) || is_letter(question[i - 1])) continue;
    if (!names.empty()) names += ' ';
    for (; i < question.size() && is_letter(question[i]); ++i) names += question[i];
  }
  return names;
}

// Of the conversation `owner`.
bool is_of_one(const RecallExchange& exchange, std::size_t owner,
               std::span<const RecallConversation> all) {
  const std::string names = exchange.judged() ? names_in(exchange.text) : std::string();
  if (names.empty()) return false;
  for (std::size_t i = 0; i < all.size(); ++i)
    if (i != owner && all[i].notes.find(names) != std::string::npos) return false;
  return true;
}

class Asker {
 public:
  Asker(runtime::Engine& engine, const kvcache::Recipe& recipe, std::size_t n_contexts,
        std::stop_token stop)
      : engine_(engine), recipe_(recipe), n_contexts_(n_contexts), stop_(std::move(stop)) {}

  // A chat that has read them, one after the other.
  Result<std::unique_ptr<runtime::Session>> read(std::span<const RecallConversation> all) const;
  Result<eval::Spoken> ask(runtime::Session& chat, const std::string& question) const {
    SATCHEL_TRY_ASSIGN(const auto copy, chat.fork(runtime::ChatId{}));
    return eval::say(*copy, question, kRecallAnswerTokensMax, stop_);
  }
  Result<void> judge(runtime::Session& chat, std::size_t owner,
                     std::span<const RecallConversation> all, Measured& out) const;

 private:
  runtime::Engine& engine_;
  const kvcache::Recipe& recipe_;
  const std::size_t n_contexts_;  // that all chats together may take
  const std::stop_token stop_;
};

Result<std::unique_ptr<runtime::Session>> Asker::read(
    std::span<const RecallConversation> all) const {
  runtime::SessionOptions options(recipe_);
  options.thinking = engine_.chat_template().least_thinking();
  options.beyond = runtime::BeyondContext::episodes;
  SATCHEL_TRY_ASSIGN(const std::size_t budget, engine_.default_budget());
  options.budget_bytes = n_contexts_ * budget;  // the default is for one context
  SATCHEL_TRY_ASSIGN(auto session, engine_.new_session(options));
  for (const RecallConversation& each : all) {
    SATCHEL_TRY(session->add_document("notes", each.notes));
    SATCHEL_TRY(session->read(stop_, {}));
    SATCHEL_TRY(session->idle(stop_, {}));
    if (stop_.stop_requested()) return eval::stopped();
  }
  return session;
}

Result<void> Asker::judge(runtime::Session& chat, std::size_t owner,
                          std::span<const RecallConversation> all, Measured& out) const {
  std::unique_ptr<runtime::Session> alone;
  for (const RecallExchange& exchange : all[owner].exchanges) {
    if (!is_of_one(exchange, owner, all)) continue;
    if (alone == nullptr) {
      SATCHEL_TRY_ASSIGN(alone, read(all.subspan(owner, 1)));
    }
    SATCHEL_TRY_ASSIGN(const eval::Spoken said, ask(chat, exchange.text));
    SATCHEL_TRY_ASSIGN(const eval::Spoken said_alone, ask(*alone, exchange.text));
    const auto right = [&](const eval::Spoken& spoken) {
      return spoken.text.find(exchange.value) != std::string::npos;
    };
    if (said.cut) ++out.n_cut;
    out.grades.push_back(
        {.kind = exchange.kind,
         .sums = {right(said) ? 1.0 : 0.0, right(said_alone) ? 1.0 : 0.0, tokens_held(out.held)},
         .detail = {{"ask", exchange.text},
                    {"value", exchange.value},
                    {"part", owner},
                    {"answer", said.text},
                    {"answer_alone", said_alone.text}}});
  }
  return {};
}

}  // namespace

Result<Measured> hold_together(runtime::Engine& engine, const kvcache::Recipe& recipe,
                               std::span<const RecallConversation> conversations,
                               std::stop_token stop) {
  const Asker asker(engine, recipe, conversations.size() + 2, std::move(stop));
  const SystemClock clock;
  const double began = clock.steady_ms();
  SATCHEL_TRY_ASSIGN(const auto chat, asker.read(conversations));
  Measured out;
  out.held = Held::of(chat->stats());
  out.read_ms = clock.steady_ms() - began;
  for (std::size_t i = 0; i < conversations.size(); ++i)
    SATCHEL_TRY(asker.judge(*chat, i, conversations, out));
  out.answer_ms = clock.steady_ms() - began - out.read_ms;
  return out;
}

}  // namespace satchel::app
