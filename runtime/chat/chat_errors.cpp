#include "runtime/chat/chat_errors.h"

namespace satchel::runtime {

Error no_model() {
  return {ErrorKind::invalid, "NO_MODEL", "Open a model first."};
}

Error no_chat() {
  return {ErrorKind::invalid, "NO_CHAT", "No chat is open. Nothing was sent."};
}

Error chat_is_open() {
  return {ErrorKind::invalid, "CHAT_OPEN", "This chat is already open."};
}

Error memory_not_open() {
  return {ErrorKind::invalid, "CHAT_MEMORY",
          "The memory of this chat could not be opened. The next message tries again."};
}

Error chat_lost() {
  return {ErrorKind::invalid, "CHAT_LOST",
          "This chat was not saved and was lost when the model was closed. Begin a new one."};
}

Error nothing_to_answer() {
  return {ErrorKind::invalid, "PARAM", "The last message has an answer. Send a message first."};
}

Error has_one_version() {
  return {ErrorKind::invalid, "PARAM",
          "This chat is not saved, so its old version could not be kept. Nothing was changed."};
}

Error no_such_message() {
  return {ErrorKind::not_found, "MESSAGE_NOT_FOUND",
          "This chat no longer has that message. Nothing was changed."};
}

Error cannot_be_said_otherwise() {
  return {
      ErrorKind::invalid, "PARAM",
      "Only what you wrote can be changed, and only an answer to it can be given again. Nothing "
      "was changed."};
}

Error no_messages() {
  return {ErrorKind::invalid, "PARAM", "This chat has no messages yet. Send one first."};
}

Error call_stopped() {
  return {ErrorKind::cancelled, "STOPPED", "Stopped."};
}

Error nested_call() {
  return {ErrorKind::invalid, "NESTED_CALL",
          "This call came from inside another one, and would wait for itself. Nothing was done."};
}

Error model_missing(const std::string& path) {
  return {ErrorKind::not_found, "MODEL_MISSING",
          "This chat uses the model \"" + path +
              "\", which is no longer there. The chat is kept. Put the file back to continue it."};
}

Error other_model() {
  return {
      ErrorKind::invalid, "CHAT_MODEL",
      "This chat was saved with a different model from the one that is open. Nothing was opened."};
}

Error out_of_memory() {
  return {ErrorKind::out_of_memory, "MEMORY",
          "The machine is out of memory. The chat is saved. Close other programs or choose a lower "
          "memory limit."};
}

Error unexpected(const std::exception& stranger) {
  return {ErrorKind::internal, "INTERNAL",
          std::string("Something unexpected happened: ") + stranger.what() +
              ". The messages are saved."};
}

}  // namespace satchel::runtime
