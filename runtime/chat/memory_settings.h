// MemorySettings: the recipe and limit that a chat is opened with. They follow those of its
// session.
#pragma once

#include <cstddef>
#include <string>

#include "kvcache/recipes/recipe.h"
#include "runtime/session/session.h"

namespace satchel::runtime {

struct MemorySettings {
  kvcache::Recipe recipe;
  std::size_t limit_bytes = 0;  // as requested: the arena rounds it; 0: the default
};

bool operator==(const MemorySettings& a, const MemorySettings& b);

// What to request to get from `now` to `wanted`: only what differs.
MemoryRequest request_for(const MemorySettings& now, const MemorySettings& wanted);
// `now` after the request.
MemorySettings with_request(MemorySettings now, const MemoryRequest& request);

// What the session has after a change that failed or was stopped. It may have the new limit or
// recipe all the same, if it was stopped while everything was read again.
//   limit_before  of the arena, before the change
MemorySettings after_failure(const MemorySettings& before, const MemoryRequest& request,
                             const Session& session, std::size_t limit_before);

// The preset that a recipe is, or the recipe's own name.
std::string preset_of(const kvcache::Recipe& recipe);

}  // namespace satchel::runtime
