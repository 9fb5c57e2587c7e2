// Documents of the shelf, as the window shows them.
#pragma once

#include <QString>

#include "runtime/contract/chat_store.h"
#include "runtime/session/session.h"

namespace satchel::ui {

// "handbook.txt · 12,400 tokens · kept"
QString shelfRow(const runtime::ShelvedDocument& document);
// How it was read, a line for each model and recipe.
QString shelfDetails(const runtime::ShelvedDocument& document);
// "12,400 tokens taken from the shelf, nothing read.", or what was read.
QString readText(const runtime::ReadReport& report);

}  // namespace satchel::ui
