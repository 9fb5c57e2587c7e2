// What an engine lends to its caches.
#pragma once

#include <memory>

#include "kernels/contract/backend.h"
#include "kvcache/lanes/arena.h"

namespace satchel::kvcache {

struct CacheHome {
  std::shared_ptr<kernels::Backend> backend;
  std::shared_ptr<Arena> arena;
};

}  // namespace satchel::kvcache
