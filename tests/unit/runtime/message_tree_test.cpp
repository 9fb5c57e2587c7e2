// Which messages stand in each other's place, and where the chat ended that had one.
#include "runtime/session/message_tree.h"

#include <gtest/gtest.h>

namespace satchel::runtime {
namespace {

MessageTree tree(std::vector<std::pair<int, int>> links) {
  std::vector<MessageLink> made;
  for (const auto& [id, parent] : links) made.push_back({{id}, {parent}});
  return MessageTree(std::move(made));
}
std::vector<SessionMessage> path(std::vector<int> ids) {
  std::vector<SessionMessage> made;
  for (const int id : ids) made.push_back({.id = {id}, .title = {}});
  return made;
}

TEST(MessageTree, of_a_chat_that_was_never_cut_has_no_versions) {
  const MessageTree plain = tree({{1, 0}, {2, 1}, {3, 2}});
  EXPECT_TRUE(plain.versions_of(path({1, 2, 3})).empty());
  EXPECT_EQ(plain.end_of({1}).value(), MessageId{3});
  EXPECT_TRUE(tree({}).versions_of({}).empty());
}

TEST(MessageTree, finds_what_stands_in_the_same_place) {
  const MessageTree cut = tree({{1, 0}, {2, 1}, {3, 2}, {4, 3}, {5, 2}, {6, 5}, {7, 5}});
  const std::vector<MessageVersions> wanted = {{{5}, {{3}, {5}}}, {{7}, {{6}, {7}}}};
  EXPECT_EQ(cut.versions_of(path({1, 2, 5, 7})), wanted);
  EXPECT_EQ(cut.versions_of(path({1, 2, 3, 4})), (std::vector<MessageVersions>{{{3}, {{3}, {5}}}}));
}

TEST(MessageTree, a_chat_ends_at_the_newest_of_all_that_follow) {
  const MessageTree cut = tree({{1, 0}, {2, 1}, {3, 2}, {4, 3}, {5, 2}, {6, 5}, {7, 5}, {8, 6}});
  EXPECT_EQ(cut.end_of({3}).value(), MessageId{4});
  EXPECT_EQ(cut.end_of({5}).value(), MessageId{8}) << "said after 7, which stands in 6's place";
  EXPECT_EQ(cut.end_of({6}).value(), MessageId{8});
  EXPECT_EQ(cut.end_of({8}).value(), MessageId{8});
  EXPECT_EQ(cut.end_of({9}).error().code, "MESSAGE_NOT_FOUND");
}

TEST(MessageTree, the_first_message_of_a_chat_may_have_versions) {
  const MessageTree cut = tree({{1, 0}, {2, 1}, {3, 0}, {4, 3}});
  EXPECT_EQ(cut.versions_of(path({3, 4})), (std::vector<MessageVersions>{{{3}, {{1}, {3}}}}));
}

}  // namespace
}  // namespace satchel::runtime
