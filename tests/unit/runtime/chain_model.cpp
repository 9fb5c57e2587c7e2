#include "unit/runtime/chain_model.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <string_view>
#include <utility>

#include "unit/runtime/session_fixture.h"

namespace satchel::runtime {

std::string written(const Engine& engine, const Session& session) {
  std::string text;
  for (const TokenId id : session.tokens()) text += engine.tokenizer().spelling(id);
  for (const auto& [stand_in, byte] : {std::pair{"Ċ", "\n"}, {"Ġ", " "}})
    for (std::size_t at = 0; (at = text.find(stand_in, at)) != std::string::npos;)
      text.replace(at, std::string_view(stand_in).size(), byte);
  return text;
}

std::unique_ptr<Engine> open_chain(const ChainModel& model) {
  const std::string test = testing::UnitTest::GetInstance()->current_test_info()->name();
  const auto path = std::filesystem::temp_directory_path() / ("satchel-chain-" + test + ".gguf");
  EXPECT_TRUE(test::write_chain(model, path));
  auto engine = open_engine(path);
  std::filesystem::remove(path);  // it stays mapped
  return engine;
}

}  // namespace satchel::runtime
