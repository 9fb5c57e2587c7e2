// What a conversation leaves in the library when nothing was said in it, or reading was stopped.
#include <gmock/gmock.h>

#include <filesystem>
#include <stop_token>

#include "app/cli/conversation.h"
#include "storage/store.h"
#include "support/bundled_model.h"
#include "support/temp_folder.h"
#include "support/value_of.h"

namespace satchel::app {
namespace {
namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class EmptyChat : public testing::Test {
 protected:
  std::unique_ptr<Conversation> open(const std::string& name, bool keep = true) {
    Options options;
    options.model = test::kBundledModel;
    options.store = folder_.string();
    options.threads = 1;
    return value_of(
        Conversation::open(options, {.name = name, .keep = keep, .system = {}}, console_));
  }
  std::vector<std::string> saved() {
    const auto store = value_of(storage::Store::open({.data_dir = folder_, .cache_dir = folder_}));
    std::vector<std::string> names;
    for (const runtime::Chat& chat : value_of(store->library().chats())) names.push_back(chat.name);
    return names;
  }

  const test::TempFolder temp_;
  const fs::path folder_ = temp_.path();
  Console console_{false, true};
};

TEST_F(EmptyChat, goes_when_it_is_left_and_one_with_a_message_stays) {
  open("nothing said");
  value_of(open("said")->session().add_user("Hi"));
  EXPECT_THAT(saved(), ElementsAre("said"));
  open("said");  // only looked at
  EXPECT_THAT(saved(), ElementsAre("said"));
}

TEST_F(EmptyChat, goes_when_another_one_is_begun) {
  const std::string before = [&] {
    const auto conversation = open("before");
    EXPECT_TRUE(conversation->start_over().ok());
    EXPECT_EQ(value_of(conversation->store()->library().chats()).size(), 1u);
    value_of(conversation->session().add_user("Hi"));
    return conversation->name();
  }();
  EXPECT_THAT(saved(), ElementsAre(before));
}

TEST_F(EmptyChat, a_document_whose_reading_was_stopped_stays_and_this_is_said) {
  std::stop_source stop;
  stop.request_stop();
  for (const bool keep : {true, false}) {
    const auto conversation = open(keep ? "kept" : "", keep);
    value_of(conversation->session().add_document("a.txt", "The bell hangs in room 7."));
    const auto read = conversation->session().read(stop.get_token(), {});
    ASSERT_FALSE(read.ok());
    const Error said = conversation->unread(read.error());
    EXPECT_EQ(said.message.find("as it was before"), std::string::npos) << said.message;
    EXPECT_THAT(said.message, HasSubstr(keep ? "has the document" : "Nothing was saved"));
  }
  EXPECT_THAT(saved(), ElementsAre("kept"));
  const auto again = open("kept");
  ASSERT_TRUE(again->resumed().has_value());
  EXPECT_GT(again->resumed()->n_reread + again->resumed()->n_reused, 0u);
}

}  // namespace
}  // namespace satchel::app
