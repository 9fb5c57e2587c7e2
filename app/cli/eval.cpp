// `satchel eval`: what a recipe costs in accuracy, measured: next-token agreement and KL on a text,
// recall on questions.
#include <algorithm>
#include <memory>
#include <vector>

#include "app/cli/commands.h"
#include "app/cli/exit_codes.h"
#include "app/cli/interrupt.h"
#include "app/cli/workbench.h"
#include "runtime/governor/presets.h"
#include "runtime/measure/measure.h"

namespace satchel::app {
namespace {

struct EvalOptions {
  Options common;
  std::vector<std::string> recipes = {"full", "balanced", "compact", "extreme"};
  std::string text, recall;
  std::size_t n_tokens = 2000, n_prompt = 1500, n_conversations = 0;
};

Result<Json> on_text(runtime::Engine& engine, const EvalOptions& options, const std::string& name) {
  SATCHEL_TRY_ASSIGN(const kvcache::Recipe recipe, runtime::resolve_recipe(name));
  SATCHEL_TRY_ASSIGN(const std::string text, read_text_file(options.text));
  SATCHEL_TRY_ASSIGN(std::vector<std::int32_t> ids,
                     engine.tokenizer().encode(text, runtime::SpecialText::as_text));
  if (ids.size() < options.n_tokens)
    return Error{ErrorKind::invalid, "PARAM",
                 "\"" + options.text + "\" has " + with_thousands(ids.size()) +
                     " tokens, --tokens asks for " + with_thousands(options.n_tokens) + "."};
  ids.resize(options.n_tokens);
  SATCHEL_TRY_ASSIGN(
      const runtime::TextFidelity measured,
      runtime::measure_on_text(engine, recipe, ids, options.n_prompt, begin_interruptible()));
  const kvcache::CacheStats& stats = measured.stats;
  return Json{{"recipe", name},
              {"tokens", options.n_tokens},
              {"prompt_tokens", options.n_prompt},
              {"compared_tokens", measured.fidelity.n_tokens},
              {"agreement", measured.fidelity.agreement},
              {"kl_nats", measured.fidelity.kl},
              {"nll_exact", measured.exact_nll},
              {"nll_packed", measured.packed_nll},
              {"cache", to_json(stats)}};
}

struct Recall {
  std::size_t n_questions = 0, n_right = 0, n_tokens_min = 0;
  std::size_t bytes = 0, fp16_bytes = 0, body_bytes = 0, body_fp16_bytes = 0;
};

// One conversation: the notes as a document, then its questions in order; a right answer contains the value.
Result<void> ask(runtime::Engine& engine, const kvcache::Recipe& recipe, const Json& conversation,
                 Recall& recall) {
  SATCHEL_TRY_ASSIGN(const auto session, engine.new_session(runtime::SessionOptions(recipe)));
  SATCHEL_TRY(session->add_document("notes", conversation.at("notes").get<std::string>()));
  SATCHEL_TRY(session->read(begin_interruptible(), {}));
  const kvcache::CacheStats stats = session->stats();
  recall.bytes += stats.bytes;
  recall.fp16_bytes += stats.fp16_bytes;
  recall.body_bytes += stats.body_bytes;
  recall.body_fp16_bytes += stats.body_fp16_bytes;
  if (recall.n_tokens_min == 0 || stats.n_tokens < recall.n_tokens_min)
    recall.n_tokens_min = stats.n_tokens;
  runtime::Sampling greedy;
  greedy.n_tokens_max = 48;
  for (const Json& question : conversation.at("questions")) {
    SATCHEL_TRY(session->add_user(question.at("question").get<std::string>()));
    SATCHEL_TRY_ASSIGN(const runtime::GenerateReport report,
                       session->generate(greedy, {}, begin_interruptible(), {}));
    if (report.finish == runtime::Finish::stopped)
      return Error{ErrorKind::cancelled, "STOPPED", "Stopped."};
    if (report.finish == runtime::Finish::context_full ||
        report.finish == runtime::Finish::cache_full)
      return Error{ErrorKind::out_of_memory, "CONTEXT_FULL", report.message};
    ++recall.n_questions;
    if (report.text.find(question.at("value").get<std::string>()) != std::string::npos)
      ++recall.n_right;
  }
  return {};
}

double share(std::size_t part, std::size_t whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

bool is_conversation(const Json& json) {
  if (!json.is_object() || !json.contains("notes") || !json["notes"].is_string() ||
      !json.contains("questions") || !json["questions"].is_array())
    return false;
  return std::all_of(json["questions"].begin(), json["questions"].end(), [](const Json& question) {
    return question.is_object() && question.contains("question") &&
           question["question"].is_string() && question.contains("value") &&
           question["value"].is_string();
  });
}

Result<Json> on_questions(runtime::Engine& engine, const EvalOptions& options,
                          const std::string& name) {
  SATCHEL_TRY_ASSIGN(const kvcache::Recipe recipe, runtime::resolve_recipe(name));
  SATCHEL_TRY_ASSIGN(const std::string lines, read_text_file(options.recall));
  Recall recall;
  std::size_t n = 0;
  for (std::size_t at = 0;
       at < lines.size() && (options.n_conversations == 0 || n < options.n_conversations); ++n) {
    const std::size_t end = std::min(lines.find('\n', at), lines.size());
    const Json conversation = Json::parse(lines.substr(at, end - at), nullptr, false);
    at = end + 1;
    if (!is_conversation(conversation))
      return Error{ErrorKind::corrupt, "DOC_FORMAT",
                   options.recall + ":" + std::to_string(n + 1) +
                       ": not a conversation with notes and questions."};
    SATCHEL_TRY(ask(engine, recipe, conversation, recall));
  }
  if (recall.n_questions == 0)
    return Error{ErrorKind::corrupt, "DOC_FORMAT", options.recall + " asks nothing."};
  return Json{{"recipe", name},
              {"conversations", n},
              {"questions", recall.n_questions},
              {"right", recall.n_right},
              {"recall", share(recall.n_right, recall.n_questions)},
              {"shortest_prompt_tokens", recall.n_tokens_min},
              {"kv_saved", 1 - share(recall.bytes, recall.fp16_bytes)},
              {"body_saved", 1 - share(recall.body_bytes, recall.body_fp16_bytes)}};
}

std::string line(const Json& row) {
  std::string text = row["recipe"];
  text.resize(14, ' ');
  if (row.contains("agreement"))
    return text + "agreement " + format_percent(row["agreement"]) + "  KL " +
           std::to_string(row["kl_nats"].get<double>()) + "  nll " +
           std::to_string(row["nll_packed"].get<double>()) + " (exact " +
           std::to_string(row["nll_exact"].get<double>()) + ")  cache " +
           format_bytes(row["cache"]["kv_bytes"]) + " of " +
           format_bytes(row["cache"]["kv_bytes_fp16"]) + "\n";
  return text + "recall " + format_percent(row["recall"]) + " (" +
         std::to_string(row["right"].get<int>()) + " of " +
         std::to_string(row["questions"].get<int>()) + ")  saved: whole cache " +
         format_percent(row["kv_saved"]) + ", body " + format_percent(row["body_saved"]) + "\n";
}

Result<void> run(const EvalOptions& options, Console& console) {
  if (options.text.empty() == options.recall.empty())
    return Error{ErrorKind::invalid, "PARAM", "Give either --text FILE or --recall FILE."};
  const Paths paths = standard_paths({});
  SATCHEL_TRY_ASSIGN(const auto engine, open_engine(options.common, console,
                                                    resolve_model(paths, options.common.model)));
  Json rows = Json::array();
  for (const std::string& recipe : options.recipes) {
    SATCHEL_TRY_ASSIGN(Json row, options.text.empty() ? on_questions(*engine, options, recipe)
                                                      : on_text(*engine, options, recipe));
    if (!console.json()) console.data(line(row));
    rows.push_back(std::move(row));
  }
  if (console.json())
    console.document({{"schema", 1},
                      {"model", engine->config().name},
                      {"device", engine->device()},
                      {"rows", rows}});
  return {};
}

}  // namespace

void add_eval(CLI::App& app, const Choose& choose) {
  auto options = std::make_shared<EvalOptions>();
  CLI::App* command = app.add_subcommand("eval", "What a recipe costs in accuracy, measured");
  command
      ->add_option("--text", options->text,
                   "Next-token agreement and KL against the exact cache on this text")
      ->type_name("FILE");
  command
      ->add_option("--recall", options->recall,
                   "Questions about notes, one conversation a line (JSON)")
      ->type_name("FILE");
  command->add_option("--recipes", options->recipes, "Presets or recipes")
      ->delimiter(',')
      ->capture_default_str();
  command->add_option("--tokens", options->n_tokens, "Of the text")->capture_default_str();
  command->add_option("--prompt-tokens", options->n_prompt, "Of them, read as one prompt")
      ->capture_default_str();
  command->add_option("--conversations", options->n_conversations, "0: all")->capture_default_str();
  add_output_options(*command, options->common);
  add_model_options(*command, options->common);
  command->callback([=] {
    choose([=] {
      Console console(options->common.json, options->common.quiet);
      const Result<void> done = run(*options, console);
      return done.ok() ? int{kExitOk} : console.fail(done.error());
    });
  });
}

}  // namespace satchel::app
