#include "app/eval/commands/recall_chat.h"

#include <utility>

#include "app/eval/measure/packed_text.h"
#include "app/eval/measure/spoken.h"

namespace satchel::app {
namespace {

using Ids = std::vector<std::int32_t>;

void judge(const RecallExchange& exchange, const eval::Spoken& spoken, Measured& out) {
  const bool right = spoken.text.find(exchange.value) != std::string::npos;
  if (spoken.cut) ++out.n_cut;
  out.grades.push_back({.kind = exchange.kind,
                        .sums = {right ? 1.0 : 0.0},
                        .detail = {{"ask", exchange.text},
                                   {"value", exchange.value},
                                   {"answer", spoken.text},
                                   {"right", right},
                                   {"context_tokens", spoken.context_tokens}}});
}

// False where the notes are longer than the context.
Result<bool> read_notes(runtime::Session& session, const std::string& notes,
                        const std::stop_token& stop, Measured& out) {
  const SystemClock clock;
  const double began = clock.steady_ms();
  SATCHEL_TRY_ASSIGN(const bool fits, eval::fits_context(session.add_document("notes", notes)));
  if (!fits) return false;
  SATCHEL_TRY(session.read(stop, {}));
  // A second pass over the notes, where the recipe has one, before the first question is known.
  SATCHEL_TRY(session.idle(stop, {}));
  out.held = Held::of(session.stats());
  out.read_ms = clock.steady_ms() - began;
  return true;
}

Result<Measured> hold_chat(runtime::Engine& engine, const kvcache::Recipe& recipe,
                           const RecallConversation& conversation, bool without_notes,
                           const std::stop_token& stop) {
  runtime::SessionOptions options(recipe);
  options.thinking = engine.chat_template().least_thinking();
  SATCHEL_TRY_ASSIGN(const auto session, engine.new_session(options));
  Measured out;
  eval::Spoken spoken;
  if (!without_notes) {
    SATCHEL_TRY_ASSIGN(const bool fits, read_notes(*session, conversation.notes, stop, out));
    spoken.cut = !fits;
  }
  const SystemClock clock;
  const double began = clock.steady_ms();
  for (const RecallExchange& exchange : conversation.exchanges) {
    if (spoken.cut) {  // and so is everything after it
      spoken.text.clear();
    } else {
      SATCHEL_TRY_ASSIGN(spoken, eval::say(*session, exchange.text, kRecallAnswerTokensMax, stop));
    }
    if (exchange.judged()) judge(exchange, spoken, out);
  }
  if (stop.stop_requested()) return eval::stopped();
  out.answer_ms = clock.steady_ms() - began;
  return out;
}

// A chat as token ids, turn by turn, as the template writes it.
class ChatIds {
 public:
  explicit ChatIds(const runtime::Engine& engine)
      : tokenizer_(engine.tokenizer()),
        chat_template_(engine.chat_template()),
        thinking_(chat_template_.least_thinking()) {}

  Result<void> open() { return add(chat_template_.open_chat(tokenizer_, std::nullopt, thinking_)); }
  Result<void> user(const std::string& text) {
    const std::optional<std::string_view> system =
        std::exchange(is_first_turn_, false)
            ? std::optional<std::string_view>(chat_template_.default_system(thinking_))
            : std::nullopt;
    return add(chat_template_.user_turn(tokenizer_, text, system));
  }
  Result<void> answered(const std::string& text) {
    return add(chat_template_.assistant_turn(tokenizer_, text, thinking_));
  }
  // The question, and what makes the model answer it.
  Result<Ids> asked(const std::string& text) const {
    ChatIds copy = *this;
    SATCHEL_TRY(copy.user(text));
    SATCHEL_TRY(copy.add(chat_template_.assistant_head(tokenizer_, thinking_)));
    return std::move(copy.ids_);
  }

 private:
  Result<void> add(const Result<Ids>& ids) {
    SATCHEL_TRY(ids);
    ids_.insert(ids_.end(), ids.value().begin(), ids.value().end());
    return {};
  }
  const runtime::Tokenizer& tokenizer_;
  const runtime::ChatTemplate& chat_template_;
  runtime::Thinking thinking_;
  Ids ids_;
  bool is_first_turn_ = true;
};

Result<eval::Spoken> answer_known(runtime::Engine& engine, const kvcache::Recipe& recipe,
                                  const Ids& ids, const std::stop_token& stop, Measured& out) {
  eval::Spoken spoken{.text = {}, .context_tokens = ids.size(), .cut = true};
  Result<eval::PackedText> read =
      eval::PackedText::read(engine, recipe,
                             {.ids = std::span(ids).first(ids.size() - 1),
                              .n_after = 1 + kRecallAnswerTokensMax,
                              .form = eval::TextForm::chat},
                             stop);
  SATCHEL_TRY_ASSIGN(const bool fits, eval::fits_context(read));
  if (!fits) return spoken;
  eval::PackedText& text = *read;
  out.held.add(Held::of(text.stats()));
  out.read_ms += text.read_ms();
  const SystemClock clock;
  const double began = clock.steady_ms();
  SATCHEL_TRY_ASSIGN(spoken.text,
                     text.answer(std::span(ids).last(1), {.n_tokens_max = kRecallAnswerTokensMax}));
  out.answer_ms += clock.steady_ms() - began;
  spoken.cut = false;
  return spoken;
}

// Each question for itself: what was asked before is left out, what was said stays.
Result<Measured> hold_known(runtime::Engine& engine, const kvcache::Recipe& recipe,
                            const RecallConversation& conversation, bool without_notes,
                            const std::stop_token& stop) {
  ChatIds chat(engine);
  SATCHEL_TRY(chat.open());
  if (!without_notes) {
    SATCHEL_TRY(chat.user(conversation.notes));
    SATCHEL_TRY(chat.answered(std::string(runtime::kNoted)));
  }
  Measured out;
  for (const RecallExchange& exchange : conversation.exchanges) {
    if (!exchange.judged()) {
      SATCHEL_TRY(chat.user(exchange.text));
      SATCHEL_TRY(chat.answered(std::string(runtime::kNoted)));
      continue;
    }
    SATCHEL_TRY_ASSIGN(const Ids ids, chat.asked(exchange.text));
    SATCHEL_TRY_ASSIGN(const eval::Spoken spoken, answer_known(engine, recipe, ids, stop, out));
    judge(exchange, spoken, out);
  }
  return out;
}

}  // namespace

Result<Measured> hold_conversation(runtime::Engine& engine, const kvcache::Recipe& recipe,
                                   const RecallConversation& conversation,
                                   const RecallOptions& options, std::stop_token stop) {
  const auto hold = options.question == "known" ? hold_known : hold_chat;
  return hold(engine, recipe, conversation, options.without_notes, stop);
}

}  // namespace satchel::app
