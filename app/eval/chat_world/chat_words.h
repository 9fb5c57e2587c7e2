// What a made chat is told in: a table of words for each ability, as data. For this folder.
#pragma once

#include <array>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "app/eval/needle_tasks/haystack.h"

namespace satchel::eval {

// One kind of fact about a person. In the wordings {s} is the person, {v} the value. Where the chat
// itself asks for a fact, the answer to the question is given.
struct FactKind {
  std::string_view name;
  std::string (*value)(Rng& rng) = nullptr;
  std::array<std::string_view, 3> statements;
  std::array<std::string_view, 2> questions;
  std::string_view answer;
};
// What the user says that tells nothing, and the answer.
struct SmallTalk {
  std::string_view said, answer;
};
struct ChatWords {
  // n names, no part of one twice; n_people_max at most.
  std::vector<std::string> (*people)(Rng& rng, std::size_t n) = nullptr;
  std::size_t n_people_max = 0;
  std::span<const FactKind> kinds;
  std::span<const std::string_view> leads, changed_leads;  // before a statement, a changed one
  std::span<const std::string_view> fillers;               // behind some statements
  std::span<const std::string_view> answers;               // to what was told
  std::span<const SmallTalk> small_talk;
};

template <const auto& kAll>
std::string one_of(Rng& rng) {
  return std::string(kAll[draw_below(rng, std::size(kAll))]);
}

// For the bundled model: wordings that it was trained on, names that it never saw.
ChatWords notes_words();
// Plain language about people's lives, and about nothing but their names.
ChatWords general_words();
ChatWords names_words();

}  // namespace satchel::eval
