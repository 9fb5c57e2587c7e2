// Chats as other programs export them: of a tree of messages the path that was shown last.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>

#include "app/chat_files/chat_file.h"

namespace satchel::app {

// Of an entry of ChatGPT's conversations.json or of Open WebUI's export; nothing: it is neither.
// What is no text of a person or a model (tools, pictures, empty messages) is left out.
std::optional<ChatFile> foreign_chat(const nlohmann::json& entry);

}  // namespace satchel::app
