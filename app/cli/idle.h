// Work that may wait, done while nobody types.
#pragma once

#include "app/cli/conversation.h"

namespace satchel::app {

// Compresses until nothing is pending, a key is pressed or Ctrl-C comes; the rest waits its turn.
// Shows nothing but what failed beside it.
Result<runtime::IdleReport> pack_until_input(Conversation& conversation);

}  // namespace satchel::app
