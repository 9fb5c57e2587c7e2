// `satchel eval prediction`: prompts whose keys and values are predicted (KV Prediction).
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "app/cli/interrupt.h"
#include "app/cli/on_run.h"
#include "app/cli/workbench.h"
#include "app/eval/commands/evaluate.h"
#include "app/eval/measure/prediction_meter.h"
#include "kernels/base/size_text.h"

namespace satchel::app {
namespace {

using eval::KvPrediction;
using eval::PredictionFigures;

struct PredictionOptions {
  Options common;
  std::vector<std::string> maps;   // --maps
  std::vector<std::string> texts;  // --text
  std::size_t n_tokens = 1284;     // --tokens, of each text
  std::size_t n_prompt = 1028;     // --prompt-tokens
};

Result<std::vector<KvPrediction>> read_maps(const std::vector<std::string>& paths) {
  std::vector<KvPrediction> out;
  for (const std::string& path : paths) {
    SATCHEL_TRY(check_text_file(path, eval::kPredictionBytesMax));
    std::ifstream in(path, std::ios::binary);
    std::stringstream bytes;
    bytes << in.rdbuf();
    if (!in) return Error{ErrorKind::storage, "DOC_READ", "\"" + path + "\" cannot be read."};
    SATCHEL_TRY_ASSIGN(out.emplace_back(), KvPrediction::parse(bytes.str(), path));
  }
  return out;
}

Result<std::vector<std::vector<std::int32_t>>> ids_of(const runtime::Engine& engine,
                                                      const PredictionOptions& options,
                                                      const std::vector<std::string>& texts) {
  std::vector<std::vector<std::int32_t>> out;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    SATCHEL_TRY_ASSIGN(std::vector<std::int32_t> ids,
                       runtime::raw_ids(engine.tokenizer(), texts[i]));
    if (ids.size() < options.n_tokens)
      return Error{ErrorKind::invalid, "PARAM",
                   "\"" + options.texts[i] + "\" has " + count_text(ids.size()) +
                       " tokens, but --tokens asks for " + count_text(options.n_tokens) + "."};
    ids.resize(options.n_tokens);
    out.push_back(std::move(ids));
  }
  return out;
}

std::string way_of(const KvPrediction& maps) {
  std::size_t first = 0;
  while (first < maps.layers.size() && maps.layers[first].runs) ++first;
  return std::to_string(maps.n_run()) + " of " + std::to_string(maps.layers.size()) + " layers" +
         (first == maps.n_run() ? "" : ", spread") +
         (maps.input == KvPrediction::Input::hidden ? ", from hidden" : "");
}

Json row_of(const std::string& name, const PredictionFigures& of, const PredictionFigures& reading,
            std::size_t n_texts) {
  const auto n_items = static_cast<double>(n_texts);
  return {{"way", name},
          {"first_token_ms", of.first_token_ms / n_items},
          {"first_token_cpu_ms", of.first_token_cpu_ms / n_items},
          {"times_reading", reading.first_token_cpu_ms / of.first_token_cpu_ms},
          {"compared_tokens", of.compared.n},
          {"same_token", of.compared.same()},
          {"kl_nats", of.compared.kl()},
          {"nll_nats", of.nll_sum / static_cast<double>(of.compared.n)}};
}

constexpr const char* kHead =
    "way                                  first token   reading's   same token   KL        nll\n";

std::string line_of(const Json& row) {
  return padded(row["way"], 37) + padded(duration_text(row["first_token_ms"]), 14) +
         padded("1/" + fixed_text(row["times_reading"], 1), 12) +
         padded(format_percent(row["same_token"]), 13) + padded(fixed_text(row["kl_nats"], 4), 10) +
         fixed_text(row["nll_nats"], 3) + "\n";
}

Result<void> run(const PredictionOptions& options, Console& console) {
  SATCHEL_TRY_ASSIGN(const std::vector<KvPrediction> maps, read_maps(options.maps));
  std::vector<std::string> texts;
  for (const std::string& path : options.texts) {
    SATCHEL_TRY_ASSIGN(texts.emplace_back(), read_text_file(path));
  }
  SATCHEL_TRY_ASSIGN(const auto engine, open_engine(options.common, console));
  SATCHEL_TRY_ASSIGN(const auto ids, ids_of(*engine, options, texts));
  const std::stop_token stop = begin_interruptible();
  std::vector<PredictionFigures> sums(1 + 2 * maps.size(), PredictionFigures{});
  for (std::size_t i = 0; i < ids.size(); ++i) {
    console.status("text " + std::to_string(i + 1) + " of " + std::to_string(ids.size()));
    SATCHEL_TRY_ASSIGN(const std::vector<PredictionFigures> figures,
                       eval::measure_prediction(
                           *engine, {.ids = ids[i], .n_prompt = options.n_prompt}, maps, stop));
    for (std::size_t j = 0; j < sums.size(); ++j) sums[j].add(figures[j]);
  }
  console.end_progress();
  Json rows = Json::array();
  for (std::size_t j = 0; j < sums.size(); ++j) {
    const std::string name = j == 0       ? "all read"
                             : j % 2 == 1 ? "predicted, " + way_of(maps[(j - 1) / 2])
                                          : "as much of its end read";
    rows.push_back(row_of(name, sums[j], sums[0], ids.size()));
  }
  if (!console.json()) {
    console.data(kHead);
    for (const Json& row : rows) console.data(line_of(row));
  } else {
    console.document({{"schema", 1},
                      {"model", engine->config().name},
                      {"device", engine->device()},
                      {"texts", ids.size()},
                      {"rows", rows}});
  }
  return {};
}

}  // namespace

void add_eval_prediction(CLI::App& eval, const Choose& choose) {
  const auto options = std::make_shared<PredictionOptions>();
  CLI::App* command =
      eval.add_subcommand("prediction",
                          "Predict the cache of prompts from a part of the model, and compare with "
                          "reading them");
  command->add_option("--maps", options->maps, "Files of \"satchel calibrate --kv-prediction\"")
      ->type_name("FILE")
      ->required();
  command->add_option("--text", options->texts, "Text files; not those of the maps")
      ->type_name("FILE")
      ->required();
  command->add_option("--tokens", options->n_tokens, "Tokens to use of each text")
      ->check(whole_number())
      ->capture_default_str();
  command
      ->add_option("--prompt-tokens", options->n_prompt,
                   "How many of these are the prompt; the others are compared (teacher forcing)")
      ->check(whole_number())
      ->capture_default_str();
  add_output_options(*command, options->common);
  add_model_options(*command, options->common);
  on_run(*command, choose, options, run);
}

}  // namespace satchel::app
