// SavedPrompt: a text that people keep under a name, to put it into messages or to begin chats with
// it. All of them are one setting of the library.
#pragma once

#include <string>
#include <vector>

#include "kernels/base/result.h"
#include "runtime/contract/chat_store.h"

namespace satchel::runtime {

struct SavedPrompt {
  std::string name, text;
  friend bool operator==(const SavedPrompt&, const SavedPrompt&) = default;
};

// By name.
//   errors  corrupt, PROMPTS: the setting is none of ours
Result<std::vector<SavedPrompt>> saved_prompts(ChatLibrary& library);
// Takes the place of one of the same name.
//   errors  invalid, PARAM: it has no name
Result<void> keep_prompt(ChatLibrary& library, const SavedPrompt& prompt);
//   errors  not_found, PROMPT_NOT_FOUND
Result<void> remove_prompt(ChatLibrary& library, const std::string& name);

}  // namespace satchel::runtime
