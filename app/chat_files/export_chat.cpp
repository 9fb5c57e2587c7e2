#include "app/chat_files/export_chat.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <vector>

#include "app/chat_files/chat_file.h"

namespace satchel::app {
namespace {

ChatFile file_of(const runtime::Chat& chat, const std::vector<runtime::StoredMessage>& messages) {
  ChatFile file{.title = chat.shown_name(), .system = chat.setup.system, .messages = {}};
  // What a chat was told first stands in its setup too, where it is not the template's own.
  for (const runtime::StoredMessage& message : messages)
    if (message.state != runtime::MessageState::damaged && message.role != runtime::Role::system)
      file.messages.push_back({.role = message.role,
                               .kind = message.kind,
                               .state = message.state == runtime::MessageState::complete
                                            ? runtime::MessageState::complete
                                            : runtime::MessageState::interrupted,
                               .title = message.title,
                               .text = message.text});
  return file;
}

bool write_all(int file, std::string_view rest) {
  while (!rest.empty()) {
    const ssize_t n = ::write(file, rest.data(), rest.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    rest.remove_prefix(static_cast<std::size_t>(n));
  }
  return ::fsync(file) == 0;
}

enum class Named { yes, no, is_there };

// link() takes no name that is there; rename() does.
Named name_file(const std::string& part, const std::string& path, ExistingFile existing) {
  if (existing == ExistingFile::replace)
    return std::rename(part.c_str(), path.c_str()) == 0 ? Named::yes : Named::no;
  if (::link(part.c_str(), path.c_str()) == 0) return Named::yes;
  return errno == EEXIST ? Named::is_there : Named::no;
}

}  // namespace

Result<ExportedChat> export_chat(runtime::ChatLibrary& library, const runtime::Chat& chat,
                                 ChatFormat format) {
  SATCHEL_TRY_ASSIGN(const auto messages, library.messages(chat.id));
  const ChatFile file = file_of(chat, messages);
  const auto n_damaged =
      std::ranges::count(messages, runtime::MessageState::damaged, &runtime::StoredMessage::state);
  return ExportedChat{.text = format == ChatFormat::json ? to_json_text(file) : to_markdown(file),
                      .n_messages = file.messages.size(),
                      .n_damaged = static_cast<std::size_t>(n_damaged)};
}

Result<void> write_whole_file(const std::string& path, std::string_view text,
                              ExistingFile existing) {
  std::string part = path + ".XXXXXX";
  const int file = ::mkstemp(part.data());
  Named named = Named::no;
  if (file >= 0) {
    const bool is_written = write_all(file, text);
    (void)::close(file);
    if (is_written) named = name_file(part, path, existing);
    (void)::unlink(part.c_str());  // renamed: it has no such name any more
  }
  if (named == Named::yes) return {};
  if (named == Named::is_there)
    return Error{ErrorKind::invalid, "PARAM",
                 "\"" + path + "\" is there already. Choose another name."};
  return Error{ErrorKind::storage, "STORAGE",
               "\"" + path + "\" could not be written. Nothing was left there."};
}

}  // namespace satchel::app
