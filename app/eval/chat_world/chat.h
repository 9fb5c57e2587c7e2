// A chat of many messages, what is asked when it is over, and how an answer is judged. Chats are
// made here (chat_world.h) or come from files (app/eval/commands/chat_file.h).
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace satchel::eval {

struct ChatQuestion {
  std::string ask;
  std::string value;                    // told last; "": never told
  std::vector<std::string> old_values;  // told before it, no longer true
  std::size_t age = 0;  // messages back to the one that told the value, the newest is 1; 0: unknown
  std::string about = {};  // what is asked about, for people: "city", a file's own category
};
enum class Speaker { user, assistant };
struct ChatMessage {
  Speaker speaker = Speaker::user;
  std::string text;
  std::optional<ChatQuestion> asked = {};  // where it asks for what was said before it
};
struct Chat {
  std::string set, name;  // as Item's
  std::vector<ChatMessage> messages;
  std::vector<ChatQuestion> questions;  // each asked as if the others were not
};

// "last 10", "last 50", "last 200", "older" messages; "absent" where nothing was told, "told" where
// it is not known when.
std::string age_group(const ChatQuestion& question);

struct ChatVerdict {
  bool right = false;
  bool stale = false;  // an old value in place of the last one
};
// Right is an answer that has the value as words of its own, in upper or lower case; where nothing
// was told, one that has some form of "you did not say" or "I don't know", whatever else it says.
ChatVerdict judge(const ChatQuestion& question, std::string_view said);

}  // namespace satchel::eval
