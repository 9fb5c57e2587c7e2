#include "runtime/chat/saved_prompts.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace satchel::runtime {
namespace {

constexpr const char* kPromptsSetting = "prompts";

Result<void> write_prompts(ChatLibrary& library, const std::vector<SavedPrompt>& prompts) {
  auto all = nlohmann::json::array();
  for (const SavedPrompt& prompt : prompts)
    all.push_back({{"name", prompt.name}, {"text", prompt.text}});
  return library.set_setting(kPromptsSetting,
                             all.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
}

}  // namespace

Result<std::vector<SavedPrompt>> saved_prompts(ChatLibrary& library) {
  const Error damaged{ErrorKind::corrupt, "PROMPTS",
                      "The saved prompts cannot be read. They are kept as they are."};
  SATCHEL_TRY_ASSIGN(const std::optional<std::string> setting, library.setting(kPromptsSetting));
  std::vector<SavedPrompt> prompts;
  if (!setting) return prompts;
  const auto all = nlohmann::json::parse(*setting, nullptr, /*allow_exceptions=*/false);
  if (!all.is_array()) return damaged;
  for (const auto& one : all) {
    const bool is_whole = one.is_object() && one.contains("name") && one["name"].is_string() &&
                          one.contains("text") && one["text"].is_string();
    if (!is_whole) return damaged;
    prompts.push_back({one["name"].get<std::string>(), one["text"].get<std::string>()});
  }
  std::ranges::sort(prompts, {}, &SavedPrompt::name);
  return prompts;
}

Result<void> keep_prompt(ChatLibrary& library, const SavedPrompt& prompt) {
  if (prompt.name.empty()) return Error{ErrorKind::invalid, "PARAM", "A prompt needs a name."};
  SATCHEL_TRY_ASSIGN(std::vector<SavedPrompt> prompts, saved_prompts(library));
  std::erase_if(prompts, [&](const SavedPrompt& one) { return one.name == prompt.name; });
  prompts.push_back(prompt);
  return write_prompts(library, prompts);
}

Result<void> remove_prompt(ChatLibrary& library, const std::string& name) {
  SATCHEL_TRY_ASSIGN(std::vector<SavedPrompt> prompts, saved_prompts(library));
  const auto n = std::erase_if(prompts, [&](const SavedPrompt& one) { return one.name == name; });
  if (n == 0)
    return Error{ErrorKind::not_found, "PROMPT_NOT_FOUND",
                 "There is no saved prompt called \"" + name + "\"."};
  return write_prompts(library, prompts);
}

}  // namespace satchel::runtime
