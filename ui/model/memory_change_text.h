// What other settings would do to a chat's memory, or did, in one to three sentences.
//   invariant  bytes that are still to come are called estimated; what was not measured is said not
//              to be
#pragma once

#include <QString>

#include "ui/model/engine_types.h"

namespace satchel::ui {

// The chat is empty: it has nothing that could change.
bool isNothingRead(const runtime::MemoryChange& change);
// requested: what the chat would have
QString changeText(const ChatSettings& requested, const runtime::MemoryChange& change);
QString appliedText(const runtime::MemoryChanged& changed);

}  // namespace satchel::ui
