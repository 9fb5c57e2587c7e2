#include "ui/model/engine_setup.h"

#include <utility>

namespace satchel::ui {

Result<std::unique_ptr<EngineClient>> openInProcess(const EngineSetup& setup, ChatWriter writer) {
  storage::StoreOptions chats;
  chats.data_dir = setup.dataDir;
  chats.cache_dir = setup.cacheDir;
  chats.folders = setup.folders;
  chats.quota_bytes = setup.quotaBytes;
  chats.thin_after_days = setup.thinAfterDays;
  chats.key = setup.key;
  SATCHEL_TRY_ASSIGN(std::unique_ptr<storage::Store> store, storage::Store::open(std::move(chats)));
  runtime::EngineOptions options;
  options.backend = setup.backend;
  options.n_threads = setup.nThreads;
  options.backend_folders = setup.backendFolders;
  options.profiles = setup.profiles;
  auto engine = std::make_unique<InProcessEngine>(std::move(store), std::move(options));
  engine->setChatWriter(std::move(writer));
  return std::unique_ptr<EngineClient>(std::move(engine));
}

}  // namespace satchel::ui
