// Work that may wait, done while nobody types.
#pragma once

#include "runtime/session/session.h"

namespace satchel::app {

// Packs until nothing waits or a key is pressed; what is left goes on next time.
Result<runtime::IdleReport> pack_until_input(runtime::Session& session);

}  // namespace satchel::app
