// A chat of the library under another limit and preset: what it is opened with from now on is what its
// session has, wherever the change broke off.
#include "app/cli/conversation.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <optional>
#include <utility>

#include "kernels/contract/registry.h"
#include "runtime/engine_state.h"
#include "runtime/governor/presets.h"
#include "support/bundled_model.h"
#include "support/failing_backend.h"
#include "support/value_of.h"

namespace satchel::app {
namespace {
namespace fs = std::filesystem;

class ConversationTest : public testing::Test {
 protected:
  ConversationTest() {
    std::string pattern = (fs::temp_directory_path() / "satchel-conversation-XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr) std::abort();
    folder_ = pattern;
  }
  ~ConversationTest() override { fs::remove_all(folder_); }

  std::unique_ptr<Conversation> open(const std::string& name) {
    Options options;
    options.model = test::kBundledModel;
    options.recipe = "compact";
    options.budget = "40MB";
    options.store = folder_.string();
    options.threads = 2;
    return value_of(Conversation::open(options, {.name = name, .system = {}}, console_));
  }

  fs::path folder_;
  Console console_{false, true};
};

TEST_F(ConversationTest, what_a_change_that_broke_off_left_is_what_the_chat_opens_with) {
  std::string text;
  for (int i = 0; i < 60; ++i) text += "The brass bell hangs in room " + std::to_string(i) + ". ";
  bool has_failed = true;
  std::size_t n_broke_off_later = 0;  // with the new limit, or the new recipe
  for (std::size_t n = 16; has_failed; n *= 16) {
    const auto conversation = open("chat " + std::to_string(n));
    runtime::Session& session = conversation->session();
    value_of(session.add_document("", text));
    value_of(session.read({}, {}));
    const auto failing = std::make_shared<test::FailingBackend>(
        value_of(kernels::open_backend("cpu", {.n_threads = 1})));
    const auto own = std::exchange(conversation->engine().state().backend, failing);
    failing->fail_at(n);  // some time after the limit was raised
    const auto change = conversation->change_memory(
        {.limit_bytes = 80'000'000, .recipe = value_of(runtime::resolve_recipe("full"))}, console_);
    has_failed = failing->has_failed();  // else no more calls are made than were walked
    failing->fail_at(std::nullopt);
    const std::size_t limit = session.stats().pool_bytes;
    if (!change.ok() && limit == 80'000'000) ++n_broke_off_later;
    const auto kept = value_of(conversation->store()->library().find_chat(conversation->name()));
    ASSERT_TRUE(kept.has_value());
    EXPECT_EQ(kept->setup.budget_bytes, limit) << "call " << n;
    EXPECT_EQ(kept->setup.recipe_json, session.recipe().json()) << "call " << n;
  }
  EXPECT_GT(n_broke_off_later, 0u);
}

}  // namespace
}  // namespace satchel::app
