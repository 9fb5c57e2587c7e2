#include "app/eval/measure/needle_reading.h"

#include <algorithm>
#include <utility>

#include "app/eval/measure/packed_text.h"
#include "kernels/base/clock.h"

namespace satchel::eval {
namespace {

using Ids = std::vector<std::int32_t>;

class Asker {
 public:
  Asker(runtime::Engine& engine, const kvcache::Recipe& recipe, const NeedleContext& context,
        const NeedleAsking& asking, std::stop_token stop)
      : engine_(engine),
        recipe_(recipe),
        context_(context),
        asking_(asking),
        stop_(std::move(stop)) {}

  Result<void> encode();  // comes first
  Result<NeedleAnswers> ask_one_reading();
  Result<NeedleAnswers> ask_on_disk();
  Result<NeedleAnswers> ask_known();
  Result<NeedleAnswers> ask_going_on();

 private:
  Result<PackedText> read(std::span<const std::int32_t> ids, bool on_disk = false) {
    return PackedText::read(engine_, recipe_,
                            {.ids = ids,
                             .n_after = n_after_,
                             .packs_at = part_ends_,
                             .waits = asking_.in_turn,
                             .merges_layers = asking_.merges_layers,
                             .window = asking_.window,
                             .open_far = on_disk ? asking_.open_far : kvcache::OpenFarStore(),
                             .limit_share = asking_.limit_share},
                            stop_);
  }
  Result<void> answer(PackedText& text, std::size_t number, std::span<const std::int32_t> question,
                      NeedleAnswers& out);

  runtime::Engine& engine_;
  const kvcache::Recipe& recipe_;
  const NeedleContext& context_;
  const NeedleAsking& asking_;
  std::stop_token stop_;
  Ids ids_;                              // of the context
  std::vector<std::size_t> part_ends_;   // all but the last, into ids_
  std::vector<Ids> questions_, values_;  // values: the first of each needle
  std::size_t n_after_ = 0;              // tokens of a question and its answer at most
  NeedleAnswers out_;
};

Result<void> Asker::encode() {
  const runtime::Tokenizer& tokenizer = engine_.tokenizer();
  SATCHEL_TRY_ASSIGN(ids_, runtime::raw_ids(tokenizer, {}));
  if (!asking_.without_context) {
    for (const std::string& part : context_.parts) {
      if (&part != &context_.parts.front()) part_ends_.push_back(ids_.size());
      SATCHEL_TRY_ASSIGN(const Ids ids, tokenizer.encode(part, runtime::SpecialText::as_text));
      ids_.insert(ids_.end(), ids.begin(), ids.end());
    }
  }
  for (const Needle& needle : context_.needles) {
    SATCHEL_TRY_ASSIGN(questions_.emplace_back(),
                       tokenizer.encode(needle.ask, runtime::SpecialText::as_text));
    if (questions_.back().empty())
      return Error{ErrorKind::invalid, "PARAM", "A question has no tokens."};
    SATCHEL_TRY_ASSIGN(values_.emplace_back(),
                       tokenizer.encode(" " + needle.values[0], runtime::SpecialText::as_text));
    n_after_ = std::max(n_after_, questions_.back().size() + std::max(needle_answer_tokens(needle),
                                                                      values_.back().size()));
  }
  return {};
}

Result<void> Asker::answer(PackedText& text, std::size_t number,
                           std::span<const std::int32_t> question, NeedleAnswers& out) {
  const Needle& needle = context_.needles[number];
  const SystemClock clock;
  const double began = clock.steady_ms();
  const auto enough = [&](std::string_view said) { return needle_said_enough(said, needle); };
  SATCHEL_TRY_ASSIGN(
      out.said.emplace_back(),
      text.answer(question, {.n_tokens_max = needle_answer_tokens(needle), .enough = enough}));
  out.answer_ms += clock.steady_ms() - began;
  SATCHEL_TRY_ASSIGN(out.log_probability.emplace_back(),
                     text.log_probability(question, values_[number]));
  return {};
}

Result<NeedleAnswers> Asker::ask_one_reading() {
  SATCHEL_TRY_ASSIGN(PackedText text, read(ids_));
  out_.stats = text.stats();
  out_.merge_saves = text.merge_saves();
  out_.read_ms = text.read_ms();
  for (std::size_t i = 0; i < questions_.size(); ++i) {
    SATCHEL_TRY(answer(text, i, questions_[i], out_));
    if (!asking_.in_turn || i > 0) continue;
    SATCHEL_TRY(text.pack());
    out_.stats = text.stats();
  }
  return std::move(out_);
}

Result<NeedleAnswers> Asker::ask_on_disk() {
  SATCHEL_TRY_ASSIGN(PackedText in_memory, read(ids_));
  SATCHEL_TRY_ASSIGN(PackedText on_disk, read(ids_, true));
  NeedleAnswers memory, disk;
  disk.stats = on_disk.stats();
  disk.read_ms = on_disk.read_ms();
  for (std::size_t i = 0; i < questions_.size(); ++i) {
    const double memory_before = memory.answer_ms, disk_before = disk.answer_ms;
    SATCHEL_TRY(answer(in_memory, i, questions_[i], memory));
    SATCHEL_TRY(answer(on_disk, i, questions_[i], disk));
    disk.speed.push_back((memory.answer_ms - memory_before) / (disk.answer_ms - disk_before));
  }
  disk.said_in_memory = std::move(memory.said);
  return disk;
}

Result<NeedleAnswers> Asker::ask_known() {
  for (std::size_t i = 0; i < questions_.size(); ++i) {
    Ids ids = ids_;
    const Ids& question = questions_[i];
    ids.insert(ids.end(), question.begin(), question.end() - 1);
    SATCHEL_TRY_ASSIGN(PackedText text, read(ids));
    if (i == 0) out_.stats = text.stats(), out_.merge_saves = text.merge_saves();
    out_.read_ms += text.read_ms();
    SATCHEL_TRY(answer(text, i, std::span(question).last(1), out_));
  }
  return std::move(out_);
}

Result<NeedleAnswers> Asker::ask_going_on() {
  std::vector<Ids> right;
  n_after_ = 0;
  for (std::size_t i = 0; i < questions_.size(); ++i) {
    const Needle& needle = context_.needles[i];
    std::string said;
    for (const std::string& value : needle.values) said += (said.empty() ? " " : ", ") + value;
    said += ".";
    SATCHEL_TRY_ASSIGN(right.emplace_back(),
                       engine_.tokenizer().encode(said, runtime::SpecialText::as_text));
    n_after_ += questions_[i].size() + std::max(needle_answer_tokens(needle), right.back().size());
  }
  Ids ids = ids_;
  ids.insert(ids.end(), questions_[0].begin(), questions_[0].end() - 1);
  SATCHEL_TRY_ASSIGN(PackedText text, read(ids));
  out_.stats = text.stats();
  out_.read_ms = text.read_ms();
  for (std::size_t i = 0; i < questions_.size(); ++i) {
    const auto question =
        std::span<const std::int32_t>(questions_[i]).last(i == 0 ? 1 : questions_[i].size());
    SATCHEL_TRY(answer(text, i, question, out_));
    SATCHEL_TRY(text.go_on(question));
    SATCHEL_TRY(text.go_on(right[i]));
  }
  return std::move(out_);
}

}  // namespace

Result<NeedleAnswers> ask_needles(runtime::Engine& engine, const kvcache::Recipe& recipe,
                                  const NeedleContext& context, const NeedleAsking& asking,
                                  std::stop_token stop) {
  Asker asker(engine, recipe, context, asking, std::move(stop));
  SATCHEL_TRY(asker.encode());
  if (asking.open_far) return asker.ask_on_disk();
  if (asking.goes_on) return asker.ask_going_on();
  return asking.question_known ? asker.ask_known() : asker.ask_one_reading();
}

}  // namespace satchel::eval
