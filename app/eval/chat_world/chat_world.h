// Chats that are made from a seed. The user tells facts about people, changes some of them later,
// asks for some, and makes small talk; the assistant's answers are written too, so that every
// recipe reads the same words. Questions come when the chat is over: of each age group (chat.h),
// and about what was never told, half of that of people whom nobody mentioned.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "app/eval/chat_world/chat.h"

namespace satchel::eval {

// What a model must be able to answer (chat_words.h). "notes": the bundled model's form; "names":
// last names, for small models; "general": plain language about people's lives.
std::span<const std::string_view> chat_abilities();

struct ChatSpec {
  std::string_view abilities = "notes";  // one of chat_abilities()
  std::size_t n_messages = 100;          // half of them the user's; an odd one is left out
  std::size_t n_questions = 4;           // of each age group at most, and about what was not told
  std::uint64_t seed = 1;
};
Chat make_chat(const ChatSpec& spec);

}  // namespace satchel::eval
