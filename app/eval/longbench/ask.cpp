#include "app/eval/longbench/ask.h"

#include <algorithm>
#include <optional>
#include <span>
#include <utility>

#include "app/eval/measure/packed_text.h"
#include "kernels/base/clock.h"

namespace satchel::eval::longbench {
namespace {

using Ids = std::vector<std::int32_t>;

// Where a prompt was cut, pieces on both sides may come apart into more than they were; chosen, not
// measured.
constexpr std::size_t kSeamTokens = 16;

void append(const Ids& more, Ids& ids) {
  ids.insert(ids.end(), more.begin(), more.end());
}

// `text` as all that the model sees before its answer.
Result<Ids> framed(const runtime::Engine& engine, const Dataset& dataset, std::string_view text) {
  const runtime::Tokenizer& tokenizer = engine.tokenizer();
  if (!dataset.as_chat) return runtime::raw_ids(tokenizer, text);
  const runtime::ChatTemplate& chat = engine.chat_template();
  const runtime::Thinking thinking = chat.least_thinking();
  SATCHEL_TRY_ASSIGN(Ids ids, chat.open_chat(tokenizer, std::nullopt, thinking));
  SATCHEL_TRY_ASSIGN(const Ids turn,
                     chat.user_turn(tokenizer, text, chat.default_system(thinking)));
  append(turn, ids);
  SATCHEL_TRY_ASSIGN(const Ids head, chat.assistant_head(tokenizer, thinking));
  append(head, ids);
  return ids;
}

// The prompt's tokens at most.
Result<std::size_t> context_left(const runtime::Engine& engine, const Dataset& dataset,
                                 const Asking& asking) {
  SATCHEL_TRY_ASSIGN(const Ids frame, framed(engine, dataset, {}));
  const std::size_t n_taken = frame.size() + dataset.n_answer_tokens + kSeamTokens;
  const std::size_t context = engine.config().context;
  if (n_taken + 2 > context)
    return Error{ErrorKind::invalid, "PARAM",
                 "The answers of " + std::string(dataset.name) +
                     " do not fit into the model's context of " + std::to_string(context) +
                     " tokens."};
  const std::size_t n = context - n_taken;
  return asking.n_tokens_max == 0 ? n : std::min(n, asking.n_tokens_max);
}

// The prompt, or where that does not fit its beginning and its end.
Result<Prompt> fit(const runtime::Tokenizer& tokenizer, Prompt prompt, std::size_t n_tokens_max) {
  SATCHEL_TRY_ASSIGN(const Ids ids, tokenizer.encode(prompt.context + prompt.question,
                                                     runtime::SpecialText::as_text));
  if (ids.size() <= n_tokens_max) return prompt;
  const std::size_t half = n_tokens_max / 2;
  const std::string begin = tokenizer.text(std::span(ids).first(half));
  const std::string end = tokenizer.text(std::span(ids).last(half));
  // Where the question alone is longer than half, what there is of it is asked.
  const std::size_t n_question =
      end.size() > prompt.question.size() ? prompt.question.size() : end.size();
  const std::size_t n_before = end.size() - n_question;
  return Prompt{begin + end.substr(0, n_before), end.substr(n_before), true};
}

}  // namespace

Result<PromptIds> prompt_ids(const runtime::Engine& engine, const Example& example,
                             const Asking& asking) {
  const Dataset& dataset = *example.dataset;
  SATCHEL_TRY_ASSIGN(const std::size_t n_tokens_max, context_left(engine, dataset, asking));
  SATCHEL_TRY_ASSIGN(
      const Prompt prompt,
      fit(engine.tokenizer(), prompt_of(dataset, example.context, example.input), n_tokens_max));
  PromptIds out;
  out.cut = prompt.cut;
  SATCHEL_TRY_ASSIGN(out.ids, framed(engine, dataset, prompt.context + prompt.question));
  // Pieces may reach over the context's end: it is where the ids with and without the question
  // part.
  SATCHEL_TRY_ASSIGN(const Ids context, framed(engine, dataset, prompt.context));
  const auto parted = std::ranges::mismatch(out.ids, context);
  out.n_context = std::min(static_cast<std::size_t>(parted.in1 - out.ids.begin()),
                           out.ids.size() - std::min<std::size_t>(1, out.ids.size()));
  return out;
}

Result<Answer> ask(runtime::Engine& engine, const kvcache::Recipe& recipe, const Example& example,
                   const Asking& asking, std::stop_token stop) {
  const Dataset& dataset = *example.dataset;
  SATCHEL_TRY_ASSIGN(const PromptIds prompt, prompt_ids(engine, example, asking));
  if (prompt.ids.empty())
    return Error{ErrorKind::invalid, "PARAM", "A LongBench example has no text."};
  const std::size_t n_read = asking.question_known ? prompt.ids.size() - 1 : prompt.n_context;
  const std::span<const std::int32_t> ids(prompt.ids);
  SATCHEL_TRY_ASSIGN(PackedText text,
                     PackedText::read(engine, recipe,
                                      {.ids = ids.first(n_read),
                                       .n_after = ids.size() - n_read + dataset.n_answer_tokens,
                                       .form = dataset.as_chat ? TextForm::chat : TextForm::raw},
                                      std::move(stop)));
  Answer out;
  out.cut = prompt.cut;
  out.stats = text.stats();
  out.read_ms = text.read_ms();
  const SystemClock clock;
  const double began = clock.steady_ms();
  const auto enough = [&](std::string_view said) { return said_enough(dataset, said); };
  SATCHEL_TRY_ASSIGN(out.said,
                     text.answer(ids.subspan(n_read),
                                 {.n_tokens_max = dataset.n_answer_tokens, .enough = enough}));
  out.answer_ms = clock.steady_ms() - began;
  out.score = score(dataset, out.said, example.answers, example.classes);
  return out;
}

}  // namespace satchel::eval::longbench
