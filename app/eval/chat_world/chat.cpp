#include "app/eval/chat_world/chat.h"

#include <algorithm>

#include "app/eval/needle_tasks/needle.h"

namespace satchel::eval {
namespace {

// Of answers that deny: lenient, as small models deny in many ways.
constexpr std::string_view kDenials[] = {
    "not say",     "n't say",       "n't said",       "not said",    "not mention", "n't mention",
    "no mention",  "not told",      "n't told",       "not tell",    "not know",    "n't know",
    "not sure",    "not aware",     "not have",       "n't have",    "not given",   "not provide",
    "n't provide", "not specif",    "n't specif",     "no record",   "unknown",     "not available",
    "cannot",      "can't",         "unable",         "sorry",       "unclear",     "never told",
    "never said",  "never mention", "no information", "not possible"};

bool denies(std::string_view said) {
  const std::string text = lower(said);
  return std::ranges::any_of(
      kDenials, [&](std::string_view denial) { return text.find(denial) != text.npos; });
}

}  // namespace

std::string age_group(const ChatQuestion& question) {
  if (question.value.empty()) return "absent";
  if (question.age == 0) return "told";
  for (const std::size_t most : {10u, 50u, 200u})
    if (question.age <= most) return "last " + std::to_string(most);
  return "older";
}

ChatVerdict judge(const ChatQuestion& question, std::string_view said) {
  if (question.value.empty()) return {.right = denies(said)};
  if (says(said, question.value)) return {.right = true};
  return {.stale = std::ranges::any_of(question.old_values,
                                       [&](const std::string& old) { return says(said, old); })};
}

}  // namespace satchel::eval
