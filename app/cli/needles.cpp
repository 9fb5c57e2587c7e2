#include "app/cli/needles.h"

#include <utility>

#include "app/cli/interrupt.h"
#include "app/cli/json_lines.h"

namespace satchel::app {
namespace {

Result<runtime::Needle> needle_of(const Json& json) {
  if (!json.is_object()) return wrong_line("is no JSON object");
  runtime::Needle needle;
  SATCHEL_TRY_ASSIGN(needle.ask, text_at(json, "ask", Needed::yes));
  SATCHEL_TRY_ASSIGN(needle.value, text_at(json, "value", Needed::yes));
  return needle;
}

Result<runtime::NeedleContext> context_of(const Json& json) {
  runtime::NeedleContext context;
  SATCHEL_TRY_ASSIGN(context.text, text_at(json, "context", Needed::yes));
  SATCHEL_TRY_ASSIGN(const Json* questions, array_at(json, "questions"));
  for (const Json& each : *questions) {
    Result<runtime::Needle> needle = needle_of(each);
    if (!needle.ok())
      return wrong_line("question " + std::to_string(context.needles.size() + 1) + " " +
                        needle.error().message);
    context.needles.push_back(std::move(needle).value());
  }
  if (context.needles.empty()) return wrong_line("asks nothing");
  return context;
}

}  // namespace

Result<std::vector<runtime::NeedleContext>> read_needles_file(const std::string& path) {
  std::vector<runtime::NeedleContext> all;
  SATCHEL_TRY(for_each_line(path, [&](const Json& json) -> Result<void> {
    SATCHEL_TRY_ASSIGN(all.emplace_back(), context_of(json));
    return {};
  }));
  if (all.empty()) return wrong_line(path + " asks nothing.");
  return all;
}

Result<Json> needles_row(runtime::Engine& engine, const Variant& variant,
                         const NeedleQuestions& questions) {
  const auto write_down = [&](const runtime::NeedleAnswer& answer) {
    const runtime::Needle& needle = questions.contexts[answer.context].needles[answer.needle];
    Json line = row_of(variant);
    line.update({{"context", answer.context},
                 {"ask", needle.ask},
                 {"value", needle.value},
                 {"answer", answer.said},
                 {"right", answer.right}});
    if (questions.sheet != nullptr) questions.sheet->add(line);
  };
  SATCHEL_TRY_ASSIGN(const runtime::NeedleScore score,
                     runtime::measure_needles(engine, variant.recipe,
                                              {.contexts = questions.contexts,
                                               .without_contexts = questions.without_contexts,
                                               .judged = write_down},
                                              begin_interruptible()));
  Json row = row_of(variant);
  row.update({{"contexts_read", !questions.without_contexts},
              {"contexts", questions.contexts.size()},
              {"questions", score.n_questions},
              {"right", score.n_right},
              {"recall", share(score.n_right, score.n_questions)},
              {"tokens", score.n_tokens},
              {"shortest_prompt_tokens", score.n_tokens_min},
              {"kept", share(score.n_kept, score.n_kept + score.n_evicted)},
              {"kv_bytes", score.bytes},
              {"kv_bytes_fp16", score.fp16_bytes},
              {"kv_saved", saved(score.bytes, score.fp16_bytes)},
              {"body_saved", saved(score.body_bytes, score.body_fp16_bytes)},
              {"read_ms", score.read_ms},
              {"answer_ms", score.answer_ms}});
  return row;
}

std::string needles_text(const Json& row) {
  std::string text = head_of(row) + "right " + score_text(row["right"], row["questions"]);
  if (row["contexts_read"].get<bool>())
    text += "  kept " + format_percent(row["kept"]) + "  cache " + format_bytes(row["kv_bytes"]) +
            " of " + format_bytes(row["kv_bytes_fp16"]) + ", saved " +
            percent_or_dash(row["kv_saved"]);
  else
    text += "  without contexts";
  return text + "  read " + format_seconds(row["read_ms"]) + ", answered " +
         format_seconds(row["answer_ms"]) + "\n";
}

}  // namespace satchel::app
