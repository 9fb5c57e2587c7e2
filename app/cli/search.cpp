// `satchel search`: a passage in all saved chats.
#include <memory>

#include "app/cli/commands.h"
#include "app/cli/on_run.h"
#include "app/cli/workbench.h"

namespace satchel::app {
namespace {

struct SearchOptions {
  Options common;
  std::vector<std::string> words;
  std::size_t n_most = 20;
};

// The words as one text: what the shell took as one argument with spaces stays together.
std::string query_of(const std::vector<std::string>& words) {
  std::string query;
  for (const std::string& word : words) {
    const bool is_phrase =
        words.size() > 1 && word.find(' ') != word.npos && word.find('"') == word.npos;
    query += (query.empty() ? "" : " ") + (is_phrase ? "\"" + word + "\"" : word);
  }
  return query;
}

// The passage with its hits between asterisks.
std::string marked(const storage::Found& found) {
  std::string text;
  std::size_t done = 0;
  for (const auto& [from, to] : found.hits) {
    text +=
        found.passage.substr(done, from - done) + "*" + found.passage.substr(from, to - from) + "*";
    done = to;
  }
  return text + found.passage.substr(done);
}

std::string place_of(const storage::Found& found) {
  if (found.role.empty()) return "title";
  return found.document.empty() ? found.role : found.role + ", " + found.document;
}

Json to_json(const storage::Found& found) {
  Json hits = Json::array();
  for (const auto& [from, to] : found.hits) hits.push_back({from, to});
  return {{"chat", found.chat.value},
          {"name", found.chat_name},
          {"message", found.message.value},
          {"role", found.role},
          {"document", found.document},
          {"passage", found.passage},
          {"hits", hits}};
}

Result<void> run(const SearchOptions& options, Console& console) {
  std::vector<storage::Found> all;
  auto store = open_store(options.common, storage::OpenMode::read_only);
  if (store.ok()) {
    SATCHEL_TRY_ASSIGN(
        all, store.value()->search({.words = query_of(options.words), .n_most = options.n_most}));
  } else if (!has_no_chats_yet(options.common, store.error())) {
    return std::move(store).error();
  }
  if (console.json()) {
    Json rows = Json::array();
    for (const storage::Found& found : all) rows.push_back(to_json(found));
    console.document({{"schema", 1}, {"found", rows}});
    return {};
  }
  std::string text;
  for (const storage::Found& found : all)
    text += found.chat_name + " [" + place_of(found) + "]\n    " + marked(found) + "\n";
  console.data(text.empty() ? "Nothing was found.\n" : text);
  return {};
}

}  // namespace

void add_search(CLI::App& app, const Choose& choose) {
  auto options = std::make_shared<SearchOptions>();
  CLI::App* command = app.add_subcommand("search", "Find words in all saved chats");
  add_output_options(*command, options->common);
  add_store_option(*command, options->common);
  command
      ->add_option("words", options->words,
                   "Words that a message has all of, in any order; the last one may be a "
                   "beginning. Words in quotes are found as they stand there")
      ->type_name("WORD")
      ->required();
  command->add_option("--limit", options->n_most, "The most passages to print")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  on_run(*command, choose, options, run);
}

}  // namespace satchel::app
