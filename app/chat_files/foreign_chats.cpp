#include "app/chat_files/foreign_chats.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

namespace satchel::app {
namespace {

using AnyJson = nlohmann::json;  // `json` is a variable of others
using runtime::Role;

const AnyJson& at(const AnyJson& of, const char* key) {
  static const AnyJson kNone;
  const auto found = of.is_object() ? of.find(key) : of.end();
  return of.is_object() && found != of.end() ? *found : kNone;
}

std::string text_at(const AnyJson& of, const char* key) {
  const AnyJson& value = at(of, key);
  return value.is_string() ? value.get<std::string>() : std::string();
}

// The text of ChatGPT's content: its parts that are text, a line each.
std::string text_of_parts(const AnyJson& content) {
  std::string text;
  const AnyJson& parts = at(content, "parts");
  if (!parts.is_array()) return text;
  for (const AnyJson& part : parts)
    if (part.is_string()) text += (text.empty() ? "" : "\n") + part.get<std::string>();
  return text;
}

void add(ChatFile& chat, const std::string& role, std::string text) {
  if (text.find_first_not_of(" \t\r\n") == text.npos) return;
  if (role == "system" && chat.messages.empty())
    chat.system = std::move(text);
  else if (role == "user" || role == "assistant")
    chat.messages.push_back(
        {.role = role == "user" ? Role::user : Role::assistant, .text = std::move(text)});
}

// The nodes from the first to `last`, by what each calls its parent. A ring ends where it closes.
std::vector<const AnyJson*> path_to(const AnyJson& nodes, std::string last, const char* parent) {
  std::vector<const AnyJson*> path;
  std::set<std::string> seen;
  while (!last.empty() && seen.insert(last).second) {
    const AnyJson& node = at(nodes, last.c_str());
    if (!node.is_object()) break;
    path.push_back(&node);
    last = text_at(node, parent);
  }
  std::ranges::reverse(path);
  return path;
}

ChatFile of_chatgpt(const AnyJson& entry) {
  ChatFile chat{.title = text_at(entry, "title")};
  for (const AnyJson* node :
       path_to(at(entry, "mapping"), text_at(entry, "current_node"), "parent")) {
    const AnyJson& message = at(*node, "message");
    const AnyJson& content = at(message, "content");
    const std::string type = text_at(content, "content_type");
    if (type == "text" || type == "multimodal_text")
      add(chat, text_at(at(message, "author"), "role"), text_of_parts(content));
  }
  return chat;
}

ChatFile of_open_webui(const AnyJson& entry) {
  const AnyJson &inside = at(entry, "chat"), &history = at(inside, "history");
  const std::string title = text_at(inside, "title");
  ChatFile chat{.title = title.empty() ? text_at(entry, "title") : title};
  for (const AnyJson* node :
       path_to(at(history, "messages"), text_at(history, "currentId"), "parentId"))
    add(chat, text_at(*node, "role"), text_at(*node, "content"));
  return chat;
}

}  // namespace

std::optional<ChatFile> foreign_chat(const AnyJson& entry) {
  if (at(entry, "mapping").is_object()) return of_chatgpt(entry);
  if (at(at(at(entry, "chat"), "history"), "messages").is_object()) return of_open_webui(entry);
  return std::nullopt;
}

}  // namespace satchel::app
