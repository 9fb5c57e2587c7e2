#include "app/cache_quota.h"

namespace satchel::app {

void add_cache_quota(CLI::App& command, std::uint64_t& bytes) {
  command
      .add_option("--cache-quota", bytes,
                  "Disk space for saved caches, of which the least recently used give way; 0: no "
                  "limit; default: 8GiB")
      ->transform(CLI::AsSizeValue(true).description(""))
      ->type_name("SIZE");
}

}  // namespace satchel::app
