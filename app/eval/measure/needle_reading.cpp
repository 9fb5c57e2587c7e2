#include "app/eval/measure/needle_reading.h"

#include <algorithm>
#include <utility>

#include "app/eval/measure/packed_text.h"
#include "kernels/base/clock.h"

namespace satchel::eval {
namespace {

using Ids = std::vector<std::int32_t>;

struct Encoded {
  Ids context;
  std::vector<std::size_t> part_ends;  // all but the last, into `context`
  std::vector<Ids> questions;
  std::size_t n_after = 0;  // tokens of a question and its answer at most
};

Result<Encoded> encode(const runtime::Tokenizer& tokenizer, const NeedleContext& context,
                       const NeedleAsking& asking) {
  Encoded out;
  SATCHEL_TRY_ASSIGN(out.context, runtime::raw_ids(tokenizer, {}));
  if (!asking.without_context) {
    for (const std::string& part : context.parts) {
      if (&part != &context.parts.front()) out.part_ends.push_back(out.context.size());
      SATCHEL_TRY_ASSIGN(const Ids ids, tokenizer.encode(part, runtime::SpecialText::as_text));
      out.context.insert(out.context.end(), ids.begin(), ids.end());
    }
  }
  for (const Needle& needle : context.needles) {
    SATCHEL_TRY_ASSIGN(out.questions.emplace_back(),
                       tokenizer.encode(needle.ask, runtime::SpecialText::as_text));
    if (out.questions.back().empty())
      return Error{ErrorKind::invalid, "PARAM", "A question has no tokens."};
    out.n_after = std::max(out.n_after, out.questions.back().size() + needle_answer_tokens(needle));
  }
  return out;
}

class Asker {
 public:
  Asker(runtime::Engine& engine, const kvcache::Recipe& recipe, const NeedleContext& context,
        const Encoded& encoded, std::stop_token stop)
      : engine_(engine),
        recipe_(recipe),
        context_(context),
        encoded_(encoded),
        stop_(std::move(stop)) {}

  Result<NeedleAnswers> ask_one_reading();
  Result<NeedleAnswers> ask_known();

 private:
  Result<PackedText> read(std::span<const std::int32_t> ids) {
    return PackedText::read(
        engine_, recipe_, {.ids = ids, .n_after = encoded_.n_after, .packs_at = encoded_.part_ends},
        stop_);
  }
  Result<void> answer(PackedText& text, std::size_t number, std::span<const std::int32_t> question);

  runtime::Engine& engine_;
  const kvcache::Recipe& recipe_;
  const NeedleContext& context_;
  const Encoded& encoded_;
  std::stop_token stop_;
  NeedleAnswers out_;
};

Result<void> Asker::answer(PackedText& text, std::size_t number,
                           std::span<const std::int32_t> question) {
  const Needle& needle = context_.needles[number];
  const SystemClock clock;
  const double began = clock.steady_ms();
  const auto enough = [&](std::string_view said) { return needle_said_enough(said, needle); };
  SATCHEL_TRY_ASSIGN(
      out_.said.emplace_back(),
      text.answer(question, {.n_tokens_max = needle_answer_tokens(needle), .enough = enough}));
  out_.answer_ms += clock.steady_ms() - began;
  return {};
}

Result<NeedleAnswers> Asker::ask_one_reading() {
  SATCHEL_TRY_ASSIGN(PackedText text, read(encoded_.context));
  out_.stats = text.stats();
  out_.read_ms = text.read_ms();
  for (std::size_t i = 0; i < encoded_.questions.size(); ++i)
    SATCHEL_TRY(answer(text, i, encoded_.questions[i]));
  return std::move(out_);
}

Result<NeedleAnswers> Asker::ask_known() {
  for (std::size_t i = 0; i < encoded_.questions.size(); ++i) {
    Ids ids = encoded_.context;
    const Ids& question = encoded_.questions[i];
    ids.insert(ids.end(), question.begin(), question.end() - 1);
    SATCHEL_TRY_ASSIGN(PackedText text, read(ids));
    if (i == 0) out_.stats = text.stats();
    out_.read_ms += text.read_ms();
    SATCHEL_TRY(answer(text, i, std::span(question).last(1)));
  }
  return std::move(out_);
}

}  // namespace

Result<NeedleAnswers> ask_needles(runtime::Engine& engine, const kvcache::Recipe& recipe,
                                  const NeedleContext& context, const NeedleAsking& asking,
                                  std::stop_token stop) {
  SATCHEL_TRY_ASSIGN(const Encoded encoded, encode(engine.tokenizer(), context, asking));
  Asker asker(engine, recipe, context, encoded, std::move(stop));
  return asking.question_known ? asker.ask_known() : asker.ask_one_reading();
}

}  // namespace satchel::eval
