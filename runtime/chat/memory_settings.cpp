#include "runtime/chat/memory_settings.h"

#include "kvcache/lanes/arena.h"
#include "runtime/limits/precision_floor.h"
#include "runtime/limits/presets.h"

namespace satchel::runtime {

bool operator==(const MemorySettings& a, const MemorySettings& b) {
  return a.limit_bytes == b.limit_bytes && a.recipe.hash() == b.recipe.hash();
}

MemoryRequest request_for(const MemorySettings& now, const MemorySettings& wanted) {
  MemoryRequest request;
  if (wanted.limit_bytes != now.limit_bytes) request.limit_bytes = wanted.limit_bytes;
  if (wanted.recipe.hash() != now.recipe.hash()) request.recipe = wanted.recipe;
  return request;
}

MemorySettings with_request(MemorySettings now, const MemoryRequest& request) {
  if (request.recipe) now.recipe = *request.recipe;
  if (request.limit_bytes != 0) now.limit_bytes = request.limit_bytes;
  return now;
}

MemorySettings after_failure(const MemorySettings& before, const MemoryRequest& request,
                             const Session& session, std::size_t limit_before) {
  MemorySettings now = before;
  if (session.recipe().hash() != before.recipe.hash()) now.recipe = session.recipe();
  const std::size_t limit = session.stats().arena_bytes;
  const bool is_reached = limit == kvcache::Arena::rounded_down(request.limit_bytes);
  if (limit != limit_before) now.limit_bytes = is_reached ? request.limit_bytes : limit;
  return now;
}

std::string preset_of(const kvcache::Recipe& recipe) {
  for (const Preset& preset : presets()) {
    const Result<kvcache::Recipe> known = resolve_recipe(preset.name);
    if (!known.ok()) continue;
    if (known->hash() == recipe.hash()) return std::string(preset.name);
    for (const PrecisionFloor& floor : precision_floors()) {
      const Result<kvcache::Recipe> raised = known->with_bits_from(floor.k_bits, floor.v_bits);
      if (raised.ok() && raised->hash() == recipe.hash()) return std::string(preset.name);
    }
  }
  return recipe.name();
}

}  // namespace satchel::runtime
