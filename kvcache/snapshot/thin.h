// thin_saved(): makes a saved cache smaller where it lies, at a cost that was measured; for chats
// that nobody has used for long. Pages and tails are made coarser (thin_page.h) and coded again;
// sinks, scores and states stay. Neither the model nor a cache is needed.
//   once     a record that was thinned says so in the manifest (RecordEntry::is_thin) and is never
//            thinned again
//   earlier  texts that were cut go: they would keep their records
//   damaged  records stay as they are: whoever restores them is told
//   crash    as in a save: new records, then one commit
//   stop     within a record; nothing has changed then
#pragma once

#include <cstddef>
#include <span>
#include <stop_token>

#include "kvcache/snapshot/record_store.h"

namespace satchel::kvcache {

struct ThinReport {
  std::size_t n_records = 0;                      // that were thinned now; 0: nothing was written
  std::size_t bytes_before = 0, bytes_after = 0;  // of all records of the text
};
// spared  records that stay: other caches share them, so that thinning would take more space
// needs   a store with a coder; without one nothing is thinned
// errors  those of the store; cancelled, STOPPED. A snapshot that cannot be read is not thinned.
Result<ThinReport> thin_saved(RecordStore& store, const CacheKey& key,
                              const std::stop_token& stop = {},
                              std::span<const RecordId> spared = {});

}  // namespace satchel::kvcache
