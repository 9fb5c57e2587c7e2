// A chat of the library under another limit and preset: what it is opened with from now on is what
// its session has, wherever the change broke off.
#include "app/cli/conversation.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <filesystem>
#include <optional>
#include <utility>

#include "app/cli/idle.h"
#include "app/cli/interrupt.h"
#include "kernels/registry/registry.h"
#include "runtime/engine_state.h"
#include "runtime/limits/presets.h"
#include "support/bundled_model.h"
#include "support/failing_backend.h"
#include "support/temp_folder.h"
#include "support/value_of.h"

namespace satchel::app {
namespace {
namespace fs = std::filesystem;

class ConversationTest : public testing::Test {
 protected:
  Options options(const std::string& recipe = "compact") const {
    Options options;
    options.model = test::kBundledModel;
    options.recipe = recipe;
    options.budget = "40MB";
    options.store = folder_.string();
    options.threads = 2;
    return options;
  }
  std::unique_ptr<Conversation> open(const std::string& name) {
    return value_of(Conversation::open(options(), {.name = name, .system = {}}, console_));
  }
  // With text that is pending; what its calls tell goes to `told_`.
  std::unique_ptr<Conversation> open_pending(const std::string& name) {
    auto conversation = value_of(Conversation::open(
        options("kvzip"),
        {.name = name,
         .system = {},
         .sink = [this](auto, const runtime::ChatEvent& event) { told_.push_back(event); }},
        console_));
    value_of(conversation->service().attach(conversation->chat(),
                                            {.title = "notes", .text = notes(), .saves = false}));
    EXPECT_TRUE(conversation->session().has_idle_work());
    told_.clear();
    return conversation;
  }
  static std::string notes() {
    std::string text;
    for (int i = 0; i < 60; ++i) text += "The brass bell hangs in room " + std::to_string(i) + ". ";
    return text;
  }

  const test::TempFolder temp_;
  const fs::path folder_ = temp_.path();
  Console console_{false, true};
  std::vector<runtime::ChatEvent> told_;
};

// Standard input of a person who types nothing.
class SilentInput {
 public:
  SilentInput() {
    EXPECT_EQ(pipe(ends_), 0);
    dup2(ends_[0], STDIN_FILENO);
  }
  SilentInput(SilentInput&&) = delete;
  ~SilentInput() {
    dup2(before_, STDIN_FILENO);
    for (const int end : {before_, ends_[0], ends_[1]}) close(end);
  }

 private:
  const int before_ = dup(STDIN_FILENO);
  int ends_[2] = {-1, -1};
};

// No file grows any more.
class FullDisk {
 public:
  FullDisk() {
    signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit none{.rlim_cur = 1, .rlim_max = before_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &none);
  }
  FullDisk(FullDisk&&) = delete;
  ~FullDisk() { setrlimit(RLIMIT_FSIZE, &before_); }

 private:
  rlimit before_{};
};

TEST_F(ConversationTest, what_a_change_that_broke_off_left_is_what_the_chat_opens_with) {
  bool has_failed = true;
  std::size_t n_broke_off_later = 0;  // with the new limit, or the new recipe
  for (std::size_t n = 16; has_failed; n *= 16) {
    const auto conversation = open("chat " + std::to_string(n));
    runtime::Session& session = conversation->session();
    value_of(session.add_document("", notes()));
    value_of(session.read({}, {}));
    const auto failing = std::make_shared<test::FailingBackend>(
        value_of(kernels::open_backend("cpu", {.n_threads = 1})));
    const auto own = std::exchange(conversation->engine().state().backend, failing);
    failing->fail_at(n);  // some time after the limit was raised
    const auto change = conversation->service().change_memory(
        conversation->chat(),
        runtime::MemoryRequest{.limit_bytes = 80'000'000,
                               .recipe = value_of(runtime::resolve_recipe("full"))});
    has_failed = failing->has_failed();  // else no more calls are made than were walked
    failing->fail_at(std::nullopt);
    const std::size_t limit = session.stats().arena_bytes;
    if (!change.ok() && limit == 80'000'000) ++n_broke_off_later;
    const auto kept = value_of(conversation->store()->library().find_chat(conversation->name()));
    ASSERT_TRUE(kept.has_value());
    EXPECT_EQ(kept->setup.budget_bytes, limit) << "call " << n;
    EXPECT_EQ(kept->setup.recipe_json, session.recipe().json()) << "call " << n;
  }
  EXPECT_GT(n_broke_off_later, 0u);
}

TEST_F(ConversationTest, the_cpu_begins_a_chat_that_could_not_begin) {
  const auto conversation = open("first");
  const auto failing = std::make_shared<test::FailingBackend>(
      value_of(kernels::open_backend("cpu", {.n_threads = 1})));
  runtime::EngineState& engine = conversation->engine().state();
  const auto own = std::exchange(engine.backend, failing);
  engine.arena = value_of(kvcache::Arena::open(failing, std::size_t{80} << 20));
  failing->fail_tables(true);
  ASSERT_FALSE(conversation->start_over().ok());
  failing->fail_tables(false);
  ASSERT_FALSE(conversation->has_session());
  EXPECT_FALSE(value_of(conversation->use_cpu({})).has_value());
  EXPECT_TRUE(conversation->has_session());
}

TEST_F(ConversationTest, compressing_while_nobody_types_tells_what_failed_and_nothing_else) {
  const auto conversation = open_pending("notes");
  const SilentInput nobody;
  {
    const FullDisk full;
    EXPECT_TRUE(value_of(pack_until_input(*conversation)).finished);
  }
  ASSERT_FALSE(told_.empty());
  for (const runtime::ChatEvent& event : told_) {
    ASSERT_TRUE(std::holds_alternative<runtime::Failed>(event));
    EXPECT_EQ(std::get<runtime::Failed>(event).task, runtime::ChatTask::save);
  }
}

TEST_F(ConversationTest, compressing_while_nobody_types_ends_with_an_interrupt) {
  const auto conversation = open_pending("notes");
  const SilentInput nobody;
  struct sigaction before = {};
  sigaction(SIGINT, nullptr, &before);
  catch_interrupts();
  raise(SIGINT);
  EXPECT_FALSE(value_of(pack_until_input(*conversation)).finished);
  EXPECT_TRUE(take_interrupt());
  sigaction(SIGINT, &before, nullptr);
  EXPECT_TRUE(value_of(pack_until_input(*conversation)).finished);
}

TEST_F(ConversationTest, a_chat_is_saved_before_another_one_begins) {
  {
    const auto conversation = open_pending("notes");
    ASSERT_TRUE(conversation->start_over().ok());
  }
  const auto again =
      value_of(Conversation::open(options("kvzip"), {.name = "notes", .system = {}}, console_));
  ASSERT_TRUE(again->resumed().has_value());
  EXPECT_EQ(again->resumed()->n_reread, 0u);
}

}  // namespace
}  // namespace satchel::app
