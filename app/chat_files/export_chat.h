// A saved chat as a file, for the terminal and the window.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "kernels/base/result.h"
#include "runtime/contract/chat_store.h"

namespace satchel::app {

enum class ChatFormat { markdown, json };
struct ExportedChat {
  std::string text;
  std::size_t n_messages = 0;
  std::size_t n_damaged = 0;  // left out
};
// The chat's words in that format (chat_file.h), which reads back as a chat.
Result<ExportedChat> export_chat(runtime::ChatLibrary& library, const runtime::Chat& chat,
                                 ChatFormat format);

// What happens to a file that is there already.
enum class ExistingFile { refuse, replace };
// The whole text or nothing: it is written beside the path, synced, and named so only then.
//   errors  invalid, PARAM: the file is there (refuse); STORAGE: it cannot be written
Result<void> write_whole_file(const std::string& path, std::string_view text,
                              ExistingFile existing);

}  // namespace satchel::app
