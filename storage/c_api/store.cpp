// The part of satchel.h that needs SQLite.
#include "storage/store.h"
#include "runtime/c_api/handles.h"

using namespace satchel;
using namespace satchel::c_api;

int32_t satchel_store_open(satchel_runtime* runtime, const satchel_store_options* options,
                           satchel_store** store, satchel_error** err) {
  return guard(err, [&]() -> Result<void> {
    if (store == nullptr) return missing("store");
    *store = nullptr;
    if (runtime == nullptr) return missing("runtime");
    SATCHEL_TRY_ASSIGN(const satchel_store_options given, taken(options));
    if (given.folder == nullptr) return missing("folder");
    storage::StoreOptions wanted;
    wanted.data_dir = given.folder;
    wanted.cache_dir = given.cache_folder != nullptr ? given.cache_folder : given.folder;
    wanted.log = runtime->shared->log;
    if (given.quota_bytes != 0) wanted.quota_bytes = given.quota_bytes;
    if (given.key != nullptr) wanted.key = given.key;
    wanted.thin_after_days = given.thin_after_days;
    auto made = std::make_shared<Store>();
    SATCHEL_TRY_ASSIGN(made->chats, storage::Store::open(std::move(wanted)));
    *store = new satchel_store{std::move(made)};
    return {};
  });
}

void satchel_store_free(satchel_store* store) {
  delete store;
}
