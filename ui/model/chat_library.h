// ChatLibrary: the store as the window sees it: chats by their titles, messages as values.
//   titles  a chat is called by its first line or its first document; names, by which the command
//           line finds it, are storage's business
//   errors  storage's
#pragma once

#include <QList>
#include <QString>
#include <QStringList>
#include <memory>

#include "storage/store.h"
#include "ui/model/engine_types.h"

namespace satchel::ui {

// What stands in the list of chats: the first line, cut at a word.
QString titleFrom(const QString& text);
ChatEntry entryFrom(const storage::Chat& chat);
Message messageFrom(const kvcache::StoredMessage& stored);

class ChatLibrary {
 public:
  explicit ChatLibrary(std::unique_ptr<storage::Store> store) : m_store(std::move(store)) {}

  storage::Store& store() { return *m_store; }
  storage::Library& library() { return m_store->library(); }
  // What the user must know of the store.
  QStringList notices();
  // Lets go of chats that were removed long ago.
  Result<void> tidy();

  Result<QList<ChatEntry>> entries();  // those that have messages
  Result<ChatEntry> entry(ChatKey key);
  Result<QList<Message>> messages(ChatKey key);  // without the system's
  Result<kvcache::ChatId> begin(const QString& title, const storage::ChatSetup& setup);
  Result<ChatEntry> rename(ChatKey key, const QString& title);
  Result<ChatEntry> remove(ChatKey key);
  Result<ChatEntry> restore(ChatKey key);

 private:
  std::unique_ptr<storage::Store> m_store;
};

}  // namespace satchel::ui
