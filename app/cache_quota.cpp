#include "app/cache_quota.h"

#include <string>

#include "app/number_options.h"

namespace satchel::app {

void add_cache_quota(CLI::App& command, std::uint64_t& bytes) {
  command
      .add_option("--cache-quota", bytes,
                  "Disk space for saved caches, of which the least recently used give way; 0: no "
                  "limit; default: 8GiB")
      ->transform(CLI::Validator(
          [](std::string& text) {
            const Result<std::size_t> read = parse_bytes(text);
            if (read.ok()) text = std::to_string(*read);
            return read.ok() ? std::string() : read.error().message;
          },
          ""))
      ->type_name("SIZE");
}

void add_thin_after(CLI::App& command, std::uint64_t& days) {
  command
      .add_option("--thin-after", days,
                  "Store saved caches of chats unused for DAYS days at about half their size, a "
                  "little less exact (KL about .01), and the oldest before the quota is full; "
                  "default: 0, never")
      ->check(whole_number())
      ->type_name("DAYS");
}

}  // namespace satchel::app
