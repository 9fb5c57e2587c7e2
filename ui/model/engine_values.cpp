#include "ui/model/engine_values.h"

#include <QCoreApplication>

namespace satchel::ui {
namespace {

QString damagedText() {
  return QCoreApplication::translate(
      "EngineValues",
      "This message is damaged on disk and cannot be shown. A backup of the library may have it.");
}

}  // namespace

QString textOf(std::string_view text) {
  return QString::fromUtf8(text.data(), qsizetype(text.size()));
}

ChatEntry entryOf(const runtime::Chat& chat) {
  if (chat.id.value == 0) return {};
  return {chat.id.value,
          textOf(chat.title.empty() ? chat.name : chat.title),
          QDateTime::fromMSecsSinceEpoch(chat.used_ms),
          textOf(chat.folder),
          chat.place == runtime::ListPlace::top,
          chat.stopped.value};
}

Message messageOf(const runtime::StoredMessage& stored) {
  Message message;
  message.id = stored.id.value;
  message.role = stored.role;
  message.state = stored.state;
  message.text =
      stored.state == runtime::MessageState::damaged ? damagedText() : textOf(stored.text);
  if (stored.kind == runtime::MessageKind::document) message.documentTitle = textOf(stored.title);
  return message;
}

QList<Message> shownOf(const std::vector<runtime::StoredMessage>& messages) {
  QList<Message> shown;
  for (const runtime::StoredMessage& message : messages)
    if (message.role != runtime::Role::system) shown.append(messageOf(message));
  return shown;
}

QString markText(MessageMark mark) {
  switch (mark) {
    case MessageMark::None:
      return {};
    case MessageMark::Pinned:
      return QCoreApplication::translate("EngineValues", "Pinned");
    case MessageMark::Forgotten:
      return QCoreApplication::translate("EngineValues", "Forgotten by the model");
  }
  return {};
}

QString versionText(const Message& message) {
  return QCoreApplication::translate("EngineValues", "%1 of %2")
      .arg(message.versions.indexOf(message.id) + 1)
      .arg(message.versions.size());
}

ChatSettings settingsOf(const runtime::MemorySettings& memory) {
  return {textOf(runtime::preset_of(memory.recipe)), memory.limit_bytes};
}

}  // namespace satchel::ui
