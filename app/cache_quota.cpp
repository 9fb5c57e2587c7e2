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

void add_thin_after(CLI::App& command, std::uint64_t& days) {
  command
      .add_option("--thin-after", days,
                  "Store saved caches of chats unused for DAYS days at about half their size, a "
                  "little less exact (KL about .01), and the oldest before the quota is full; "
                  "default: 0, never")
      ->type_name("DAYS");
}

}  // namespace satchel::app
