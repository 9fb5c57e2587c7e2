// The store that the programs open.
#pragma once

#include "app/paths.h"
#include "storage/store.h"

namespace satchel::app {

inline storage::StoreOptions store_options(const Paths& paths) {
  return {
      .data_dir = paths.data_dir,
      .cache_dir = paths.cache_dir,
      .folders = paths.is_named_store ? storage::StoreFolders::named : storage::StoreFolders::ours};
}

}  // namespace satchel::app
