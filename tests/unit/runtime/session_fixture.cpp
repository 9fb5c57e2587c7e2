#include "unit/runtime/session_fixture.h"

#include <cstdlib>
#include <fstream>

#include "runtime/limits/presets.h"
#include "support/bundled_model.h"
#include "support/open_named.h"
#include "unit/runtime/tiny_model.h"

namespace satchel::runtime {
namespace {

// The strings of that key in a line of JSON: the file is ours and plain.
std::vector<std::string> strings_of(const std::string& line, const std::string& key) {
  std::vector<std::string> out;
  const std::string mark = "\"" + key + "\": \"";
  for (std::size_t at = line.find(mark); at != std::string::npos; at = line.find(mark, at)) {
    std::string text;
    for (at += mark.size(); line[at] != '"'; ++at) {
      if (line[at] == '\\') ++at;
      text += line[at] == 'n' && line[at - 1] == '\\' ? '\n' : line[at];
    }
    out.push_back(text);
  }
  return out;
}

std::string conversation(std::size_t number) {
  std::ifstream file(test::kHeldOut);
  for (std::string line; std::getline(file, line);)
    if (strings_of(line, "set").at(0) == test::kHeldOutSet && number-- == 0) return line;
  return {};
}

}  // namespace

std::string letters(std::size_t n, char first) {
  std::string text;
  for (std::size_t i = 0; i < n; ++i)
    text += i % 6 == 5 ? ' ' : static_cast<char>(first + static_cast<char>(i * i % 23));
  return text;
}

std::string held_out_notes(std::size_t number) {
  return strings_of(conversation(number), "notes").at(0);
}

std::vector<std::string> held_out_questions() {
  return strings_of(conversation(0), "ask");
}

std::unique_ptr<Engine> open_engine(const std::filesystem::path& model) {
  EngineOptions options;
  options.model = model;
  options.backend = test::in_place_of("cpu");
  options.backend_folders = test::options_here().library_folders;
  options.n_threads = 2;
  return value_of(Engine::open(options));
}

Engine& shared_engine() {
  static const std::unique_ptr<Engine> engine = open_engine(bundled_model());
  return *engine;
}

std::size_t shared_budget() {
  static const std::size_t bytes = 4 * value_of(shared_engine().default_budget());
  return bytes;
}

void ChatTest::SetUp() {
  const auto set = shared_engine().set_budget(shared_budget());
  ASSERT_TRUE(set.ok()) << set.error().message;
}

std::unique_ptr<Session> ChatTest::open(std::string_view recipe, std::size_t budget_bytes,
                                        Engine& engine) {
  SessionOptions options(value_of(resolve_recipe(recipe)));
  options.budget_bytes = budget_bytes;
  if (budget_bytes == 0 && &engine == &shared_engine()) options.budget_bytes = shared_budget();
  options.chat = chat_;
  options.journal = &journal_;
  options.records = &records_;
  return value_of(engine.new_session(options));
}

GenerateReport ChatTest::ask(Session& session, std::string_view question,
                             std::size_t n_tokens_max) {
  value_of(session.add_user(question));
  return value_of(session.generate({.n_tokens_max = n_tokens_max}, {}, {}, {}));
}

void ChatTest::expect_journal_holds(const Session& session) {
  std::vector<std::int32_t> side_by_side;
  const auto messages = stored();
  for (const runtime::StoredMessage& message : messages)
    side_by_side.insert(side_by_side.end(), message.tokens.begin(), message.tokens.end());
  EXPECT_EQ(side_by_side,
            std::vector<std::int32_t>(session.tokens().begin(), session.tokens().end()));
}

}  // namespace satchel::runtime
