#include "app/chat_files/chat_file.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "app/chat_files/foreign_chats.h"

namespace satchel::app {
namespace {

using AnyJson = nlohmann::json;  // `json` is a variable of others
using runtime::MessageKind;
using runtime::MessageState;
using runtime::Role;
using Message = ChatFile::Message;

constexpr std::array<std::string_view, 3> kRoles = {"system", "user", "assistant"};
constexpr std::array<std::string_view, 3> kHeadings = {"System", "You", "Answer"};
constexpr std::string_view kMark = "<!-- satchel: ", kMarkEnd = " -->";
constexpr std::string_view kDocument = "document", kInterrupted = "interrupted";

std::string_view name_of(Role role) {
  return kRoles[static_cast<std::size_t>(role)];
}

std::optional<Role> role_of(std::string_view name) {
  const auto found = std::ranges::find(kRoles, name);
  if (found == kRoles.end()) return std::nullopt;
  return static_cast<Role>(found - kRoles.begin());
}

// --- Markdown

// A line that begins like a mark, behind any number of backslashes.
bool looks_like_a_mark(std::string_view line) {
  const std::size_t at = std::min(line.find_first_not_of('\\'), line.size());
  return line.substr(at).starts_with(kMark.substr(0, kMark.size() - 1));
}

// Each line of the text as change() gives it.
template <class Change>
std::string by_lines(std::string_view text, const Change& change) {
  std::string out;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    out += change(text.substr(at, end - at));
    if (end < text.size()) out += '\n';
    at = end + 1;
  }
  return out;
}

std::string guarded(std::string_view text) {
  return by_lines(text, [](std::string_view line) {
    return (looks_like_a_mark(line) ? "\\" : "") + std::string(line);
  });
}

std::string unguarded(std::string_view text) {
  return by_lines(text, [](std::string_view line) {
    return std::string(line.starts_with('\\') && looks_like_a_mark(line) ? line.substr(1) : line);
  });
}

// What a mark says of a message, as JSON, so that any title stands on one line.
std::string mark_of(const Message& message) {
  AnyJson says{{"role", name_of(message.role)}};
  if (message.kind == MessageKind::document) says[kDocument] = message.title;
  if (message.state != MessageState::complete) says["state"] = kInterrupted;
  std::string text = says.dump(-1, ' ', false, AnyJson::error_handler_t::replace);
  // "-->" would end the comment.
  for (std::size_t at = 0; (at = text.find("--", at)) != text.npos; at += 3)
    text.replace(at, 2, "-\\u002d");
  return text;
}

std::string heading_of(const Message& message) {
  std::string title = message.title;
  std::ranges::replace(title, '\n', ' ');
  return "## " + std::string(kHeadings[static_cast<std::size_t>(message.role)]) +
         (title.empty() ? "" : ": " + title) + "\n\n";
}

Error bad(std::string_view called, const std::string& what) {
  return {ErrorKind::corrupt, "CHAT_FILE", "\"" + std::string(called) + "\" " + what};
}

// What our own files say of a message, of both formats.
Result<Message> message_from(const AnyJson& says, std::string_view called) {
  const auto text_of = [&](const char* key) {
    const auto found = says.find(key);
    return found != says.end() && found->is_string() ? found->get<std::string>() : std::string();
  };
  const auto role = says.is_object() ? role_of(text_of("role")) : std::nullopt;
  if (!role)
    return bad(called, "has a message whose role is not \"user\", \"assistant\" or \"system\".");
  Message message{.role = *role, .title = text_of("document"), .text = text_of("text")};
  if (says.contains(kDocument)) message.kind = MessageKind::document;
  if (text_of("state") == kInterrupted) message.state = MessageState::interrupted;
  return message;
}

void add(ChatFile& chat, Message message) {
  if (message.role == Role::system)
    chat.system = std::move(message.text);
  else
    chat.messages.push_back(std::move(message));
}

// The text from behind a mark's line to the next mark: a heading and an empty line are ours.
std::string body_of(std::string_view part) {
  if (part.starts_with("## ")) {
    const std::size_t end = part.find("\n\n");
    part.remove_prefix(end == part.npos ? part.size() : end + 2);
  }
  if (part.ends_with("\n\n")) part.remove_suffix(2);
  return unguarded(part);
}

Result<ChatFile> from_markdown(std::string_view text, std::string_view called) {
  ChatFile chat;
  const std::size_t first = text.starts_with(kMark) ? 0 : text.find("\n" + std::string(kMark));
  if (text.starts_with("# ")) chat.title = text.substr(2, text.find('\n') - 2);
  for (std::size_t at = first; at != text.npos;) {
    if (text[at] == '\n') ++at;
    const std::size_t line_end = std::min(text.find('\n', at), text.size());
    std::string_view mark = text.substr(at, line_end - at);
    if (!mark.ends_with(kMarkEnd)) return bad(called, "has a mark of a message that does not end.");
    mark.remove_prefix(kMark.size());
    mark.remove_suffix(kMarkEnd.size());
    SATCHEL_TRY_ASSIGN(Message message, message_from(AnyJson::parse(mark, nullptr, false), called));
    const std::size_t next = text.find("\n" + std::string(kMark), line_end);
    const std::size_t from = std::min(line_end + 1, text.size());
    const std::size_t end = next == text.npos ? text.size() : next + 1;
    message.text = body_of(text.substr(from, std::max(end, from) - from));
    add(chat, std::move(message));
    at = next;
  }
  return chat;
}

// --- JSON

Result<ChatFile> from_json(const AnyJson& file, std::string_view called) {
  const auto version = file.find("satchel_chat");
  if (version == file.end() || !version->is_number() || *version != 1)
    return bad(called,
               "is no chat that is known here: it lacks \"satchel_chat\": 1, and is no export of "
               "ChatGPT or Open WebUI.");
  ChatFile chat;
  if (const auto title = file.find("title"); title != file.end() && title->is_string())
    chat.title = *title;
  if (const auto system = file.find("system"); system != file.end() && system->is_string())
    chat.system = system->get<std::string>();
  const auto messages = file.find("messages");
  if (messages == file.end() || !messages->is_array())
    return bad(called, "has a chat without \"messages\".");
  for (const AnyJson& each : *messages) {
    if (!each.is_object() || !each.contains("text") || !each["text"].is_string())
      return bad(called, "has a message without \"text\".");
    SATCHEL_TRY_ASSIGN(Message message, message_from(each, called));
    add(chat, std::move(message));
  }
  return chat;
}

}  // namespace

std::string to_json_text(const ChatFile& chat) {
  AnyJson messages = AnyJson::array();
  for (const Message& message : chat.messages) {
    AnyJson row = AnyJson::parse(mark_of(message));
    row["text"] = message.text;
    messages.push_back(std::move(row));
  }
  AnyJson file{{"satchel_chat", 1}, {"title", chat.title}, {"messages", std::move(messages)}};
  if (chat.system) file["system"] = *chat.system;
  return file.dump(1, ' ', false, AnyJson::error_handler_t::replace) + "\n";
}

std::string to_markdown(const ChatFile& chat) {
  std::string title = chat.title;
  std::ranges::replace(title, '\n', ' ');
  std::string text = "# " + title + "\n\n";
  const auto add = [&](const Message& message) {
    text += std::string(kMark) + mark_of(message) + std::string(kMarkEnd) + "\n" +
            heading_of(message) + guarded(message.text) + "\n\n";
  };
  if (chat.system) add({.role = Role::system, .text = *chat.system});
  for (const Message& message : chat.messages) add(message);
  return text;
}

Result<std::vector<ChatFile>> read_chat_files(std::string_view text, std::string_view called) {
  std::vector<ChatFile> chats;
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first != text.npos && (text[first] == '{' || text[first] == '[')) {
    const AnyJson file = AnyJson::parse(text, nullptr, false);
    if (file.is_discarded()) return bad(called, "begins as JSON, but is not whole.");
    // By reference: a copy goes as deep as the text nests, and the stack does not.
    const AnyJson* const first_one = file.is_array() ? nullptr : &file;
    for (std::size_t i = 0; i < (first_one != nullptr ? 1 : file.size()); ++i) {
      const AnyJson& each = first_one != nullptr ? *first_one : file[i];
      if (!each.is_object()) return bad(called, "lists something that is no chat.");
      std::optional<ChatFile> foreign = foreign_chat(each);
      if (!foreign) {
        SATCHEL_TRY_ASSIGN(foreign, from_json(each, called));
      }
      chats.push_back(std::move(*foreign));
    }
  } else if (text.find(kMark) != text.npos) {
    SATCHEL_TRY_ASSIGN(ChatFile chat, from_markdown(text, called));
    chats.push_back(std::move(chat));
  } else {
    return bad(called,
               "is no chat. Give one that `satchel export` wrote, conversations.json of ChatGPT or "
               "an export of Open WebUI.");
  }
  std::erase_if(chats, [](const ChatFile& chat) { return chat.messages.empty(); });
  return chats;
}

}  // namespace satchel::app
