#include "kvcache/comparison/comparison.h"

#include "kvcache/stages/registry.h"

namespace satchel::kvcache {

std::span<const StageEntry> comparison_stages();  // written by the build

Result<void> register_comparison_stages() {
  return register_stages(comparison_stages());
}

}  // namespace satchel::kvcache
