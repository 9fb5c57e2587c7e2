#include "runtime/engine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "runtime/engine_state.h"
#include "runtime/limits/presets.h"
#include "support/far_backend.h"
#include "support/source_dir.h"
#include "unit/runtime/session_fixture.h"
#include "unit/runtime/tiny_model.h"

namespace satchel::runtime {
namespace {

using testing::HasSubstr;

std::string refusal(const EngineOptions& options) {
  const auto engine = Engine::open(options);
  return engine.ok() ? "opened" : engine.error().message + " [" + engine.error().code + "]";
}

TEST(Engine, says_what_it_opened) {
  std::size_t done = 0, total = 0;
  std::string records;
  EngineOptions options;
  options.model = bundled_model();
  options.log = [&](LogLevel, std::string_view component, std::string_view record) {
    records += std::string(component) + " " + std::string(record) + "\n";
  };
  options.progress = [&](const Progress& now) {
    EXPECT_EQ(now.phase, Phase::load_model);
    EXPECT_GE(now.done, done);
    done = now.done;
    total = now.total;
  };
  const auto engine = value_of(Engine::open(options));
  EXPECT_EQ(done, total);
  const std::size_t most_of_the_file = std::filesystem::file_size(bundled_model()) / 10 * 9;
  EXPECT_GT(total, most_of_the_file);
  EXPECT_EQ(engine->config().name, "notes-mini");
  EXPECT_EQ(engine->chat_template().name(), "chatml");
  EXPECT_EQ(engine->fingerprint().size(), 32u);
  EXPECT_GT(engine->weight_bytes(), most_of_the_file);
  EXPECT_NE(engine->device(), "");
  EXPECT_THAT(records, HasSubstr("runtime model_loaded layers=6"));
}

TEST(Engine, is_not_opened_where_it_is_stopped_after_its_weights_are_loaded) {
  std::stop_source stop;
  EngineOptions options;
  options.model = bundled_model();
  options.stop = stop.get_token();
  options.progress = [&](const Progress& now) {
    if (now.done == now.total) stop.request_stop();
  };
  EXPECT_THAT(refusal(options), HasSubstr("[STOPPED]"));
}

TEST(Engine, refuses_what_it_cannot_open_in_one_line) {
  EngineOptions options;
  options.model = "/no/such/model.gguf";
  EXPECT_THAT(refusal(options), HasSubstr("[MODEL_NOT_FOUND]"));
  options.model = std::filesystem::path(test::source_dir()) / "LICENSE";
  EXPECT_THAT(refusal(options), HasSubstr("[MODEL_FORMAT]"));
  options.model = bundled_model();
  options.chat_template = "no such template";
  EXPECT_THAT(refusal(options), HasSubstr("chatml"));
  options.chat_template = "";
  options.backend = "abacus";
  EXPECT_THAT(refusal(options), HasSubstr("abacus"));
}

TEST(Engine, the_reference_backend_gives_the_same_answer) {
  EngineOptions options;
  options.model = bundled_model();
  options.backend = "reference";
  const auto reference = value_of(Engine::open(options));
  const auto answer = [](Engine& engine) {
    const auto session =
        value_of(engine.new_session(SessionOptions(value_of(resolve_recipe("full")))));
    value_of(session->add_user("Read these notes.\nThe bell is in the shed."));
    return value_of(session->generate({.n_tokens_max = 12}, {}, {}, {})).text;
  };
  EXPECT_EQ(answer(*reference), answer(shared_engine()));
}

TEST(Engine, counts_what_the_backend_repacked_as_taken_already) {
  const auto recipe = value_of(resolve_recipe("full"));
  const Estimate out = value_of(shared_engine().estimate(recipe, {}));
  EXPECT_EQ(out.weight_bytes, shared_engine().weight_bytes());
  EXPECT_TRUE(out.fits);
}

// A card's memory is its own, and an arena there is taken at once.
TEST(Engine, without_a_limit_chats_take_what_their_backend_has_room_for) {
  const auto engine = open_engine(bundled_model());
  const std::size_t on_the_machine = value_of(engine->default_budget());
  constexpr std::size_t kCard = std::size_t{4} << 20;
  ASSERT_GT(on_the_machine, kCard);
  const auto models = std::exchange(
      engine->state().backend,
      std::make_shared<test::FarBackend>(value_of(kernels::open_backend("cpu", {})), kCard));
  const std::size_t available = engine->available_memory().most;
  EXPECT_GT(available, kCard / 2);
  EXPECT_LE(available, kCard);
  EXPECT_EQ(value_of(engine->default_budget()), available);
  const auto recipe = value_of(resolve_recipe("full"));
  EXPECT_EQ(value_of(engine->estimate(recipe, {})).available_bytes, available);
  const auto session = value_of(engine->new_session(SessionOptions(recipe)));
  EXPECT_EQ(engine->state().arena->bytes(), kvcache::Arena::rounded_down(available));
  EXPECT_NEAR(static_cast<double>(engine->available_memory().most), static_cast<double>(available),
              8192)
      << "what open chats have is theirs";
}

}  // namespace
}  // namespace satchel::runtime
