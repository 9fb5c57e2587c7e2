#include "ui/model/chat_library.h"

#include <QCoreApplication>
#include <QDateTime>

namespace satchel::ui {
namespace {

constexpr qsizetype kTitleMax = 60;

QString damagedText() {
  return QCoreApplication::translate(
      "ChatLibrary",
      "This message is damaged on the disk and cannot be shown. A backup of the library may have "
      "it.");
}

}  // namespace

QString titleFrom(const QString& text) {
  const QString line = text.trimmed().section(u'\n', 0, 0).simplified();
  if (line.size() <= kTitleMax) return line;
  const qsizetype blank = line.lastIndexOf(u' ', kTitleMax);
  return line.left(blank > kTitleMax / 2 ? blank : kTitleMax) + u'…';
}

ChatEntry entryFrom(const storage::Chat& chat) {
  const std::string& title = chat.title.empty() ? chat.name : chat.title;
  return {chat.id.value, QString::fromStdString(title),
          QDateTime::fromMSecsSinceEpoch(chat.used_ms)};
}

Message messageFrom(const kvcache::StoredMessage& stored) {
  Message message;
  message.id = stored.id.value;
  message.role = stored.role;
  message.state = stored.state;
  message.text = stored.state == kvcache::MessageState::damaged
                     ? damagedText()
                     : QString::fromStdString(stored.text);
  if (stored.kind == kvcache::MessageKind::document)
    message.documentTitle = QString::fromStdString(stored.title);
  return message;
}

QStringList ChatLibrary::notices() {
  QStringList notices;
  if (!m_store->cache_notice().empty())
    notices.append(QString::fromStdString(m_store->cache_notice()));
  if (const auto& why = library().report().read_only)
    notices.append(QString::fromStdString(why->message));
  return notices;
}

Result<void> ChatLibrary::tidy() {
  if (library().report().read_only) return {};
  SATCHEL_TRY(m_store->purge_expired());
  return {};
}

Result<QList<ChatEntry>> ChatLibrary::entries() {
  SATCHEL_TRY_ASSIGN(const auto chats, library().chats());
  QList<ChatEntry> entries;
  for (const storage::Chat& chat : chats)
    if (chat.n_messages > 0) entries.append(entryFrom(chat));
  return entries;
}

Result<ChatEntry> ChatLibrary::entry(ChatKey key) {
  SATCHEL_TRY_ASSIGN(const storage::Chat chat, library().chat({key}));
  return entryFrom(chat);
}

Result<QList<Message>> ChatLibrary::messages(ChatKey key) {
  SATCHEL_TRY_ASSIGN(const auto stored, library().messages({key}));
  QList<Message> messages;
  for (const kvcache::StoredMessage& message : stored)
    if (message.role != kvcache::Role::system) messages.append(messageFrom(message));
  return messages;
}

Result<kvcache::ChatId> ChatLibrary::begin(const QString& title, const storage::ChatSetup& setup) {
  const std::string text = title.toStdString();
  return library().create_chat({.name = text, .title = text, .setup = setup},
                               storage::NameTaken::number);
}

Result<ChatEntry> ChatLibrary::rename(ChatKey key, const QString& title) {
  SATCHEL_TRY(library().retitle_chat({key}, title.toStdString()));
  return entry(key);
}

Result<ChatEntry> ChatLibrary::remove(ChatKey key) {
  SATCHEL_TRY_ASSIGN(ChatEntry removed, entry(key));
  SATCHEL_TRY(library().remove_chat({key}));
  return removed;
}

Result<ChatEntry> ChatLibrary::restore(ChatKey key) {
  SATCHEL_TRY(library().restore_chat({key}));
  return entry(key);
}

}  // namespace satchel::ui
