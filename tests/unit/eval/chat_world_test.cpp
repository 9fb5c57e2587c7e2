// Made chats: what a seed gives, where facts stand, how old they are, how answers are judged; and
// the words of `notes` beside those that the bundled model was trained on.
#include "app/eval/chat_world/chat_world.h"

#include <gtest/gtest.h>

#include <cctype>
#include <fstream>
#include <sstream>

#include "app/eval/chat_world/chat_words.h"
#include "app/eval/needle_tasks/needle.h"
#include "support/source_dir.h"

namespace satchel::eval {
namespace {

std::string text_of(const Chat& chat) {
  std::string out = chat.set;
  for (const ChatMessage& message : chat.messages) out += "\n" + message.text;
  for (const ChatQuestion& question : chat.questions) out += "\n" + question.ask + question.value;
  return out;
}

TEST(ChatWorld, a_seed_gives_one_chat_and_another_seed_another) {
  for (const std::string_view abilities : chat_abilities()) {
    const ChatSpec spec{.abilities = abilities, .n_messages = 80, .seed = 7};
    EXPECT_EQ(text_of(make_chat(spec)), text_of(make_chat(spec)));
    ChatSpec other = spec;
    other.seed = 8;
    EXPECT_NE(text_of(make_chat(spec)), text_of(make_chat(other)));
  }
}

TEST(ChatWorld, user_and_assistant_take_turns_to_the_length_asked_for) {
  for (const std::string_view abilities : chat_abilities())
    for (const std::size_t n : {2u, 31u, 60u, 400u, 2000u}) {
      const Chat chat = make_chat({.abilities = abilities, .n_messages = n});
      ASSERT_EQ(chat.messages.size(), n / 2 * 2);
      for (std::size_t i = 0; i < chat.messages.size(); ++i) {
        EXPECT_EQ(chat.messages[i].speaker == Speaker::user, i % 2 == 0);
        EXPECT_FALSE(chat.messages[i].text.empty());
        EXPECT_EQ(chat.messages[i].text.find('{'), std::string::npos) << chat.messages[i].text;
      }
    }
}

TEST(ChatWorld, a_value_is_told_at_its_age_and_old_ones_before) {
  std::size_t n_changed = 0;
  for (const std::string_view abilities : chat_abilities()) {
    const Chat chat = make_chat({.abilities = abilities, .n_messages = 400, .n_questions = 50});
    for (const ChatQuestion& question : chat.questions) {
      if (question.value.empty()) continue;
      ASSERT_LE(question.age, chat.messages.size());
      const std::size_t told = chat.messages.size() - question.age;
      EXPECT_TRUE(says(chat.messages[told].text, question.value)) << question.ask;
      n_changed += question.old_values.empty() ? 0u : 1u;
      for (const std::string& old : question.old_values) {
        EXPECT_NE(old, question.value);
        EXPECT_FALSE(says(chat.messages[told].text, old)) << question.ask << " " << old;
      }
    }
  }
  EXPECT_GT(n_changed, 20u);
}

TEST(ChatWorld, every_age_is_asked_for_youngest_first_and_what_nobody_told) {
  const Chat chat = make_chat({.n_messages = 400, .n_questions = 3});
  std::vector<std::string> groups;
  for (const ChatQuestion& question : chat.questions) groups.push_back(age_group(question));
  const std::vector<std::string> all = {"last 10", "last 10",  "last 10",  "last 50",  "last 50",
                                        "last 50", "last 200", "last 200", "last 200", "older",
                                        "older",   "older",    "absent",   "absent",   "absent"};
  EXPECT_EQ(groups, all);
}

TEST(ChatQuestion, ages_fall_into_groups) {
  const auto group = [](std::size_t age) {
    return age_group({.ask = {}, .value = "Oslo", .old_values = {}, .age = age});
  };
  EXPECT_EQ(group(1), "last 10");
  EXPECT_EQ(group(10), "last 10");
  EXPECT_EQ(group(11), "last 50");
  EXPECT_EQ(group(50), "last 50");
  EXPECT_EQ(group(51), "last 200");
  EXPECT_EQ(group(200), "last 200");
  EXPECT_EQ(group(201), "older");
  EXPECT_EQ(group(0), "told");
  EXPECT_EQ(age_group({}), "absent");
}

TEST(ChatQuestion, the_last_value_counts_and_an_old_one_is_stale) {
  const ChatQuestion moved{.ask = {}, .value = "New York", .old_values = {"Oslo", "1 May"}};
  EXPECT_TRUE(judge(moved, "She lives in new york.").right);
  EXPECT_FALSE(judge(moved, "She lives in new york.").stale);
  EXPECT_FALSE(judge(moved, "In Oslo.").right);
  EXPECT_TRUE(judge(moved, "In Oslo.").stale);
  EXPECT_TRUE(judge(moved, "Not Oslo, New York").right);
  EXPECT_FALSE(judge(moved, "Not Oslo, New York").stale);
  EXPECT_FALSE(judge(moved, "On 21 May in Oslon, New Yorkshire").stale) << "words of their own";
  EXPECT_FALSE(judge(moved, "").right);
}

TEST(ChatQuestion, what_was_not_told_is_answered_by_any_denial) {
  for (const char* said : {"The notes do not say.", "I don't know.", "You haven't told me, sorry."})
    EXPECT_TRUE(judge({}, said).right) << said;
  for (const char* said : {"", "She lives in Oslo.", "Thanks for telling me."})
    EXPECT_FALSE(judge({}, said).right) << said;
}

// The trainer's own lists and sentences.
class NotesWords : public testing::Test {
 protected:
  static std::string source(const std::string& name) {
    std::stringstream all;
    all << std::ifstream(test::source_dir() + "/training/notes/" + name).rdbuf();
    return all.str();
  }
  // The words of a list: `FIRST = ("Mira Anton …").split()`
  std::string list(const std::string& name) const {
    const std::size_t at = words_.find("\n" + name + " = (");
    return at == words_.npos ? "" : words_.substr(at, words_.find("split(", at) - at);
  }
  static bool is_quoted(const std::string& text, std::string_view part) {
    return text.find("\"" + std::string(part) + "\"") != text.npos;
  }
  // In a tuple, but not the last of it: that one is held out from training.
  void expect_trained(std::string_view wording) const {
    const std::string quoted = "\"" + std::string(wording) + "\",";
    std::size_t after = facts_.find(quoted);
    ASSERT_NE(after, facts_.npos) << wording;
    after += quoted.size();
    while (std::isspace(static_cast<unsigned char>(facts_[after])) != 0) ++after;
    EXPECT_NE(facts_[after], ')') << wording;
  }

  const std::string words_ = source("words.py"), facts_ = source("facts.py"),
                    world_ = source("world.py");
  const ChatWords ours_ = notes_words();
};

TEST_F(NotesWords, names_are_held_out_from_training) {
  const std::string trained = list("FIRST") + list("LAST");
  const std::string held_out = list("FIRST_HELD_OUT") + list("LAST_HELD_OUT");
  ASSERT_TRUE(says(trained, "Solano") && says(held_out, "Estelle"));
  Rng rng(1);
  for (const std::string& name : ours_.people(rng, ours_.n_people_max)) {
    const std::string first = name.substr(0, name.find(' ')), last = name.substr(first.size() + 1);
    for (const std::string& part : {first, last}) {
      EXPECT_FALSE(says(trained, part)) << part;
      EXPECT_TRUE(says(held_out, part)) << part;
    }
  }
}

TEST_F(NotesWords, wordings_and_values_are_those_of_training) {
  Rng rng(1);
  for (const FactKind& kind : ours_.kinds) {
    for (const std::string_view statement : kind.statements) expect_trained(statement);
    for (const std::string_view question : kind.questions) expect_trained(question);
    EXPECT_TRUE(is_quoted(facts_, kind.answer)) << kind.answer;
    if (kind.name == "phone" || kind.name == "visit") continue;  // drawn, not listed
    for (int i = 0; i < 100; ++i) {
      const std::string value = kind.value(rng);
      EXPECT_TRUE(says(words_, value)) << value;
    }
  }
  for (const std::string_view filler : ours_.fillers)
    EXPECT_NE(words_.find(filler), words_.npos) << filler;
  for (const SmallTalk& talk : ours_.small_talk)
    EXPECT_TRUE(is_quoted(words_, talk.said) && is_quoted(words_, talk.answer)) << talk.said;
  for (const auto& leads : {ours_.leads, ours_.changed_leads})
    for (const std::string_view lead : leads) EXPECT_TRUE(is_quoted(world_, lead)) << lead;
  for (const std::string_view answer : ours_.answers) EXPECT_TRUE(is_quoted(world_, answer));
}

}  // namespace
}  // namespace satchel::eval
