// Chats that are made from a seed. The user tells facts about people, changes some of them later,
// asks for some, and makes small talk; the assistant's answers are written too, so that every
// recipe reads the same words. Questions come when the chat is over: of each age group (chat.h),
// and about what was never told, half of that of people whom nobody mentioned.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

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

// A text with facts among sentences that say nothing of them, one fact of a person.
struct BookSpec {
  std::string_view abilities = "names";
  std::size_t n_sentences = 1000;  // beside the facts
  std::size_t n_facts = 24;        // at most: as many as there are people
  std::uint64_t seed = 1;
};
struct Book {
  std::string text;
  std::vector<std::string> facts;       // sentences of it, in their order
  std::vector<ChatQuestion> questions;  // about each
};
Book make_book(const BookSpec& spec);

}  // namespace satchel::eval
