// The runtime's values as the window's: one function for each kind.
#pragma once

#include "runtime/chat/chat_events.h"
#include "ui/model/engine_types.h"

namespace satchel::ui {

QString textOf(std::string_view text);
ChatEntry entryOf(const runtime::Chat& chat);  // id 0: a new chat
Message messageOf(const runtime::StoredMessage& stored);
// Those that people see.
QList<Message> shownOf(const std::vector<runtime::StoredMessage>& messages);
// "Pinned": what stands over a message; empty: nothing.
QString markText(MessageMark mark);
// "2 of 3": which of its versions a message is.
QString versionText(const Message& message);
ChatSettings settingsOf(const runtime::MemorySettings& memory);

}  // namespace satchel::ui
