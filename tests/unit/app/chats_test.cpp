// `satchel chats`: the order of the list.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "app/cli/commands.h"
#include "storage/store.h"
#include "support/temp_folder.h"
#include "support/value_of.h"

namespace satchel::app {
namespace {
using testing::ElementsAre;

nlohmann::json listed(const std::filesystem::path& store) {
  CLI::App app("", "satchel");
  Run chosen;
  add_chats(app, [&](Run run) { chosen = std::move(run); });
  app.parse("chats --json --store " + store.string());
  testing::internal::CaptureStdout();
  EXPECT_EQ(chosen(), 0);
  return nlohmann::json::parse(testing::internal::GetCapturedStdout())["chats"];
}

TEST(ChatsCommand, lists_chats_kept_at_the_top_first) {
  const test::TempFolder temp;
  {
    const auto store =
        value_of(storage::Store::open({.data_dir = temp.path(), .cache_dir = temp.path()}));
    storage::Library& library = store->library();
    for (const char* name : {"a", "b", "c", "d"}) {
      runtime::NewChat chat;
      chat.name = name;
      const runtime::ChatId id = value_of(library.create_chat(chat));
      if (*name == 'b' || *name == 'd') continue;
      ASSERT_TRUE(library.set_note(id, runtime::kPlaceNote, runtime::kPlaceTop).ok());
    }
  }
  std::vector<std::string> names;
  std::vector<bool> at_top;
  for (const auto& row : listed(temp.path())) {
    names.push_back(row["name"]);
    at_top.push_back(row["at_top"]);
  }
  EXPECT_THAT(names, ElementsAre("c", "a", "d", "b")) << "among themselves in the order of use";
  EXPECT_THAT(at_top, ElementsAre(true, true, false, false));
}

TEST(ChatsCommand, a_named_store_that_is_not_there_is_not_shown_as_empty) {
  const test::TempFolder temp;
  CLI::App all("", "satchel");
  app::Run chosen;
  add_chats(all, [&](app::Run run) { chosen = std::move(run); });
  all.parse("chats --json --store " + (temp / "none").string());
  EXPECT_EQ(chosen(), 3);
}

}  // namespace
}  // namespace satchel::app
