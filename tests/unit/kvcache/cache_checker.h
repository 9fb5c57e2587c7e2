// CacheChecker: what must hold of caches after any operation, and between two of them.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "cache_driver.h"

namespace satchel::kvcache {

// Where a change of the text is not only what reading, steps and compaction do.
struct Edit {
  std::size_t first = 0, end = 0;  // positions whose tokens may be gone, or others now
  bool touches(std::size_t position) const { return position >= first && position < end; }
};

class CacheChecker {
 public:
  // Positions rise in a page and stand once in a lane, values are those that were read, tiers only
  // fall, protected text and tails are complete, statistics say what the lanes hold, attention sees
  // what is in reach. But for an edit, what is protected is held as well as before.
  void check(CacheDriver& driver, const Edit& edit, const std::string& after);
  void check(CacheDriver& driver, const std::string& after) { check(driver, {}, after); }
  // Extents of all caches of the arena are what is used.
  static void check_arena(const std::vector<CacheDriver*>& drivers, const std::string& after);

  bool checks_values = true;  // which takes long

 private:
  struct Held {
    std::size_t bits = 16;
    bool is_protected = false;
  };
  struct LaneChange {
    std::size_t layer = 0;
    const Edit& edit;
    const std::map<std::int32_t, Held>&before, &now;
  };
  void check_complete(CacheDriver& driver, const LaneChange& lane, const std::string& what) const;
  void check_tiers(const Cache& cache, const LaneChange& lane, const std::string& what) const;
  void check_stats(CacheDriver& driver, const std::string& after) const;
  void check_seen(CacheDriver& driver, std::size_t layer, std::size_t head, const DecodedLane& held,
                  const std::string& after) const;
  void check_values(CacheDriver& driver, std::size_t layer, std::size_t head,
                    const DecodedLane& lane, const std::string& after);

  std::vector<std::map<std::int32_t, Held>> before_;  // [n_lanes]
  std::size_t n_before_ = 0;
};

}  // namespace satchel::kvcache
