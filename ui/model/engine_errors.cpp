#include "ui/model/engine_errors.h"

namespace satchel::ui {

EngineError errorOf(Request request, const Error& error) {
  EngineError told;
  told.request = request;
  told.code = QString::fromStdString(error.code);
  told.message = QString::fromStdString(error.message);
  told.cancelled = error.kind == ErrorKind::cancelled;
  return told;
}

Error noModel() {
  return {ErrorKind::invalid, "NO_MODEL", "Open a model first."};
}

Error noChat() {
  return {ErrorKind::invalid, "NO_CHAT", "No chat is open. Nothing was sent."};
}

Error memoryNotOpen() {
  return {ErrorKind::invalid, "CHAT_MEMORY",
          "The memory of this chat did not open. It is tried again with the next message."};
}

Error stopped() {
  return {ErrorKind::cancelled, "STOPPED", "Stopped."};
}

Error modelMissing(const std::string& path) {
  return {ErrorKind::not_found, "MODEL_MISSING",
          "This chat was held with the model \"" + path +
              "\", which is not there any more. The chat is kept; put the file back to go on with "
              "it."};
}

Error outOfMemory() {
  return {ErrorKind::out_of_memory, "MEMORY",
          "The machine has no memory left for this. The chat is saved; close other programs or "
          "choose a lower memory limit."};
}

Error unexpected(const std::exception& stranger) {
  return {ErrorKind::internal, "INTERNAL",
          std::string("Something unexpected happened: ") + stranger.what() +
              ". The messages are saved."};
}

}  // namespace satchel::ui
