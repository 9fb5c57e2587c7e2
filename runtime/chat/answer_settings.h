// AnswerSettings: what a chat tells its model first, and how its answers are made. Kept with the
// chat: the system prompt in its setup, the rest as the note kAnswersNote.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "kernels/base/result.h"
#include "runtime/sampler/sampler.h"

namespace satchel::runtime {

struct AnswerSettings {
  std::optional<std::string> system = {};  // none: the template's own
  Sampling sampling = {};
};

inline constexpr std::string_view kAnswersNote = "answers";

// JSON, of what people set: temperature, top_k, top_p, min_p, repetition_penalty, n_tokens_max,
// stops. What is not there has the default of Sampling.
std::string to_note(const Sampling& sampling);
//   errors  invalid, PARAM: it is no such note, or a number is out of range
Result<Sampling> sampling_from_note(std::string_view note);
// As far as a note keeps it.
bool is_same(const Sampling& left, const Sampling& right);

}  // namespace satchel::runtime
