// The shelf: documents that have been read, for other chats to begin with.
#include <algorithm>
#include <utility>

#include "runtime/chat/service_call.h"

namespace satchel::runtime {

Result<std::vector<ShelvedDocument>> ChatService::shelf_now(const Running& running) {
  std::vector<ShelvedDocument> shelf;
  if (store_ != nullptr) {
    SATCHEL_TRY_ASSIGN(shelf, store_->shelf());
  }
  running.tell(ShelfListed{shelf});
  return shelf;
}

Result<std::vector<ShelvedDocument>> ChatService::shelf(const ChatCall& call) {
  return run<std::vector<ShelvedDocument>>(ChatTask::shelf, {}, call,
                                           [&](Running& running) { return shelf_now(running); });
}

Result<std::size_t> ChatService::keep_documents(ChatHandle handle, const ChatCall& call) {
  return run<std::size_t>(
      ChatTask::shelf, handle, call, [&](Running& running) -> Result<std::size_t> {
        SATCHEL_TRY_ASSIGN(OpenChat* const chat, find(handle));
        if (store_ == nullptr || !chat->is_saved()) return no_shelf();
        SATCHEL_TRY_ASSIGN(auto messages, store_->library().messages(chat->id()));
        std::size_t n_kept = 0;
        for (const StoredMessage& message : with_whole_documents(std::move(messages)).messages) {
          if (message.kind != MessageKind::document || message.state != MessageState::complete ||
              message.title == kPartNotesTitle)
            continue;
          SATCHEL_TRY(store_->keep_document(message.title, message.text));
          ++n_kept;
        }
        SATCHEL_TRY(shelf_now(running));
        return n_kept;
      });
}

Result<ChatService::Shelved> ChatService::shelved(std::string_view hash) {
  if (store_ == nullptr) return no_shelf();
  SATCHEL_TRY_ASSIGN(const std::vector<ShelvedDocument> all, store_->shelf());
  Shelved shelved;
  SATCHEL_TRY_ASSIGN(shelved.text, store_->document_text(hash));
  const auto named = std::ranges::find(all, hash, &ShelvedDocument::hash);
  shelved.title = named == all.end() ? std::string(hash) : named->title;
  return shelved;
}

Result<void> ChatService::keep_document(std::string_view hash, const ChatCall& call) {
  return run<void>(ChatTask::shelf, {}, call, [&](Running& running) -> Result<void> {
    SATCHEL_TRY_ASSIGN(const Shelved document, shelved(hash));
    SATCHEL_TRY(store_->keep_document(document.title, document.text));
    SATCHEL_TRY(shelf_now(running));
    return {};
  });
}

Result<void> ChatService::remove_document(std::string_view hash, const ChatCall& call) {
  return run<void>(ChatTask::shelf, {}, call, [&](Running& running) -> Result<void> {
    if (store_ == nullptr) return no_shelf();
    SATCHEL_TRY(store_->remove_document(hash));
    SATCHEL_TRY(shelf_now(running));
    return {};
  });
}

Result<ReadReport> ChatService::attach_shelved(ChatHandle handle, std::string_view hash,
                                               const ChatCall& call, bool saves, ReadHow how) {
  return run<ReadReport>(
      ChatTask::attach_document, handle, call, [&](Running& running) -> Result<ReadReport> {
        SATCHEL_TRY_ASSIGN(OpenChat* const chat, find_resumed(running));
        SATCHEL_TRY_ASSIGN(const Shelved document, shelved(hash));
        return read_document(
            *chat, {.title = document.title, .text = document.text, .saves = saves, .how = how},
            running);
      });
}

}  // namespace satchel::runtime
