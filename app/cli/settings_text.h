// How a chat answers, for people: /settings, and the line under which a chat is resumed.
#pragma once

#include <string>

#include "app/cli/sampling_options.h"
#include "runtime/chat/answer_settings.h"

namespace satchel::app {

// A line for each setting that is in force, and whose it is: of the command line, or `saved` with
// the chat.
std::string describe(const runtime::AnswerSettings& saved, const SamplingOptions& given);
// "Answers as saved with this chat: temperature 0.75. /settings lists all settings."; "": what is
// in force is as in a new chat, or all of it given.
std::string describe_saved(const runtime::AnswerSettings& saved, const SamplingOptions& given);

}  // namespace satchel::app
