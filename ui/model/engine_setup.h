// EngineSetup: what an engine is made of: where the chats lie, and what computes.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "storage/store.h"
#include "ui/model/in_process_engine.h"
#include "ui/model/language.h"

namespace satchel::ui {

struct EngineSetup {
  std::filesystem::path dataDir, cacheDir;  // as storage::StoreOptions has them, and what follows
  storage::StoreFolders folders = storage::StoreFolders::named;
  std::uint64_t quotaBytes = storage::kQuotaBytes;
  std::uint64_t thinAfterDays = 0;
  std::string key = {};
  std::string backend = "auto";  // as runtime::EngineOptions has it, and what follows
  std::size_t nThreads = 0;
  std::vector<std::filesystem::path> backendFolders = {};
  std::filesystem::path profiles = {};
  Language language =
      Language::System;  // of what the engine says to people, in a process of its own
};

// In this process, on a thread of its own.
//   writer  what exports chats; none: it cannot be asked for that
//   errors  those of storage::Store::open
Result<std::unique_ptr<EngineClient>> openInProcess(const EngineSetup& setup,
                                                    ChatWriter writer = {});

}  // namespace satchel::ui
