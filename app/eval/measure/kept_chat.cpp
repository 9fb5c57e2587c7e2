#include "app/eval/measure/kept_chat.h"

#include <filesystem>
#include <system_error>
#include <utility>

#include "runtime/contract/cache_key.h"

namespace satchel::eval {
namespace {

namespace fs = std::filesystem;

Error not_read(const std::error_code& error) {
  return {ErrorKind::storage, "STORAGE",
          "The files of a measured chat cannot be read: " + error.message() + "."};
}

storage::StoreOptions in(const fs::path& folder) {
  return {.data_dir = folder, .cache_dir = folder};
}

}  // namespace

Result<std::unique_ptr<KeptChat>> KeptChat::make() {
  SATCHEL_TRY_ASSIGN(auto folder, app::ScratchFolder::make());
  SATCHEL_TRY_ASSIGN(auto store, storage::Store::open(in(folder->path())));
  SATCHEL_TRY_ASSIGN(const runtime::ChatId chat, store->library().create_chat({}));
  return std::unique_ptr<KeptChat>(new KeptChat(std::move(folder), std::move(store), chat));
}

Result<std::unique_ptr<KeptChat>> KeptChat::left_by_a_kill() const {
  SATCHEL_TRY_ASSIGN(auto folder, app::ScratchFolder::make());
  std::error_code error;
  fs::copy(folder_->path(), folder->path(), fs::copy_options::recursive, error);
  if (error) return not_read(error);
  SATCHEL_TRY_ASSIGN(auto store, storage::Store::open(in(folder->path())));
  return std::unique_ptr<KeptChat>(new KeptChat(std::move(folder), std::move(store), chat_));
}

runtime::SessionOptions KeptChat::kept(runtime::SessionOptions options) const {
  options.chat = chat_;
  options.journal = &store_->library();
  options.records = store_->records();
  return options;
}

Result<std::size_t> KeptChat::thin(const std::stop_token& stop) const {
  storage::KvStore* const kv = store_->kv();
  if (kv == nullptr) return std::size_t{0};
  const kvcache::CacheKey key = runtime::cache_key(chat_);
  SATCHEL_TRY_ASSIGN(const auto caches, kv->list());
  for (const kvcache::SavedCache& cache : caches)
    if (cache.key != key) SATCHEL_TRY(kv->drop(cache.key));
  SATCHEL_TRY_ASSIGN(const kvcache::ThinReport report, kv->thin(key, stop));
  return report.n_records;
}

Result<std::vector<fs::path>> KeptChat::files() const {
  std::vector<fs::path> files;
  std::error_code error;
  for (const fs::directory_entry& file : fs::recursive_directory_iterator(folder_->path(), error))
    if (file.is_regular_file(error)) files.push_back(file.path());
  if (error) return not_read(error);
  return files;
}

Result<std::uint64_t> KeptChat::bytes_on_disk() const {
  SATCHEL_TRY_ASSIGN(const std::vector<fs::path> all, files());
  std::uint64_t n = 0;
  std::error_code error;
  for (const fs::path& file : all) n += fs::file_size(file, error);
  if (error) return not_read(error);
  return n;
}

Result<void> KeptChat::open_again() {
  SATCHEL_TRY_ASSIGN(store_, storage::Store::open(in(folder_->path())));
  return {};
}

}  // namespace satchel::eval
