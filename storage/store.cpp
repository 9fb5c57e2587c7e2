#include "storage/store.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <map>
#include <ranges>
#include <system_error>
#include <utility>

#include "runtime/contract/document_cache.h"
#include "storage/folder/backups.h"
#include "storage/folder/folder.h"
#include "storage/folder/network_disk.h"
#include "storage/sqlite/cipher.h"
#include "storage/sqlite/connection.h"

namespace satchel::storage {
namespace fs = std::filesystem;

namespace {

constexpr std::int64_t kDayMs = 86'400'000;
// The chats up to here were thinned, or have nothing to give: the time of their last message.
constexpr std::string_view kThinnedUntil = "thinned_until_ms";

// "2026-11-27", by Greenwich.
std::string utc_date(std::int64_t wall_ms) {
  const std::chrono::sys_days day = std::chrono::floor<std::chrono::days>(
      std::chrono::sys_time<std::chrono::milliseconds>(std::chrono::milliseconds(wall_ms)));
  const std::chrono::year_month_day date(day);
  const auto two_digits = [](unsigned number) {
    return (number < 10 ? "0" : "") + std::to_string(number);
  };
  return std::to_string(int{date.year()}) + "-" + two_digits(unsigned{date.month()}) + "-" +
         two_digits(unsigned{date.day()});
}

bool is_among(const std::vector<KeptDocument>& kept, std::string_view hash) {
  return std::ranges::find(kept, hash, &KeptDocument::hash) != kept.end();
}

// What such a disk does to chats, for people.
std::string on_network_disk(const fs::path& folder) {
  const std::string kind(network_disk(folder).value_or("unknown"));
  return "The chats are in \"" + folder.string() + "\", on a disk that may be on the network (" +
         kind +
         "). They are saved in the slower way that suits it. Use them from one computer at a time. "
         "A folder on a local disk is safer.";
}

Error moved_away(const fs::path& library, const fs::path& caches) {
  return {ErrorKind::storage, "STORAGE",
          "The library \"" + library.string() + "\" is missing, but \"" + caches.string() +
              "\" shows that chats were saved. Put it back; else the next chat begins an empty "
              "one."};
}

// What the copy met is said of the library, which is as it was.
Error not_backed_up(const fs::path& file, const Error& why) {
  const std::string place = "\"" + file.string() + "\"";
  if (why.code == "DISK_FULL")
    return {why.kind, why.code,
            "The disk is full: " + place +
                " was not written. No backup was made. Free some space or choose another folder."};
  if (why.code == "READ_ONLY")
    return {why.kind, why.code,
            place + " may not be written. No backup was made. Choose another folder."};
  return {why.kind, why.code, why.message + " No backup was made."};
}

// The folder and those above it that are not there, the innermost first.
std::vector<fs::path> missing_folders(const fs::path& folder) {
  std::vector<fs::path> missing;
  std::error_code unknown;
  for (fs::path at = fs::absolute(folder, unknown);
       fs::symlink_status(at, unknown).type() == fs::file_type::not_found; at = at.parent_path())
    missing.push_back(at);
  return missing;
}

fs::path new_of(const fs::path& file) {
  return file.string() + "-new";
}

// The files that change, the library first, and what stands beside them under the new key.
class NewFiles {
 public:
  ~NewFiles() {
    std::error_code ignored;
    for (const fs::path& file : files_) fs::remove(new_of(file), ignored);
  }
  // What `copy` makes is deleted unless it takes the file's place.
  template <class Copy>
  Result<void> make(const fs::path& file, const Copy& copy) {
    SATCHEL_TRY(copy(new_of(file)));  // what fails leaves nothing
    files_.push_back(file);
    return {};
  }
  // Each is whole before and after. The library comes last: once it is encrypted, all is.
  Result<void> take_places() {
    for (const fs::path& file : std::views::reverse(files_)) {
      std::error_code error;
      fs::rename(new_of(file), file, error);
      if (!error) SATCHEL_TRY(sync_file(file));
      if (error)
        return Error{ErrorKind::storage, "STORAGE",
                     "\"" + new_of(file).string() + "\" could not take the place of \"" +
                         file.filename().string() + "\": " + error.message() + "."};
    }
    return {};
  }

 private:
  std::vector<fs::path> files_;
};

Result<void> copy_backup(const fs::path& backup, const StoreOptions& options,
                         const std::string& key, const fs::path& to) {
  SATCHEL_TRY_ASSIGN(Connection opened,
                     Connection::open({backup, Access::read_write, Content::library, options.vfs,
                                       options.key}));  // else what is attached is read-only too
  opened.allow_checkpoints();                           // so that closing it leaves no log
  return opened.copy_under_key(to, key);
}

}  // namespace

struct Store::State {
  StoreOptions options;
  SystemClock system_clock;
  std::optional<FolderLock> lock, cache_lock;
  std::unique_ptr<Library> library;
  std::unique_ptr<KvStore> kv;
  std::string cache_notice;
  bool ended_unclean = false;
  bool is_new_library = false;  // there was no library.db
  bool writes_kv = false;
  bool has_orphans = false;

  Result<void> make_folder_of(const std::filesystem::path& file) const;
  Result<void> open_library();
  Result<void> check_not_emptied(const std::filesystem::path& library_file) const;
  bool can_write() const;
  void open_kv();
  Result<void> try_kv();
  Result<void> prepare_cache_dir();
  Result<void> sweep_orphans();
  Result<void> spare_kept_documents(ChatId chat);
  SearchIndex search_index() const {
    return SearchIndex(search_index_of(options.cache_dir, library->library_id()), options.vfs,
                       options.key);
  }
};

Store::Store(std::unique_ptr<State> state) : state_(std::move(state)) {}

Store::~Store() {
  if (state_->library == nullptr) return;  // change_key() closed it
  // The lock says "all is well" only if it is: else the next opening checks the file.
  const bool is_well = state_->library->flush().ok() && !state_->library->found_damage() &&
                       !state_->library->owes_check();
  state_->kv.reset();
  state_->library.reset();
  if (is_well && state_->lock.has_value()) state_->lock->release();
}

Result<std::unique_ptr<Store>> Store::open(StoreOptions options) {
  auto state = std::make_unique<State>();
  state->options = std::move(options);
  if (state->options.clock == nullptr) state->options.clock = &state->system_clock;
  SATCHEL_TRY(state->open_library());
  state->open_kv();
  return std::unique_ptr<Store>(new Store(std::move(state)));
}

Result<void> Store::State::make_folder_of(const fs::path& file) const {
  SATCHEL_TRY(make_private_folder_of(file));
  if (options.folders == StoreFolders::ours) close_to_others(file.parent_path());
  return {};
}

Result<void> Store::State::open_library() {
  LibraryOptions to{.path = options.data_dir / "library.db",
                    .mode = options.mode,
                    .clock = options.clock,
                    .log = options.log,
                    .check = false,
                    .read_only_reason = std::nullopt,
                    .vfs = options.vfs,
                    .key = options.key};
  SATCHEL_TRY(check_missing_or_readable(to.path));
  std::error_code ignored;
  if (options.mode == OpenMode::read_write || fs::exists(options.data_dir, ignored))
    SATCHEL_TRY(make_folder_of(to.path));
  SATCHEL_TRY(check_key(to.path, options.key, options.vfs));  // before the lock: it writes nothing
  if (options.mode == OpenMode::read_write) {
    auto taken = FolderLock::take(options.data_dir / "library.lock");
    if (taken.ok()) {
      lock.emplace(std::move(taken).value());
      to.check = ended_unclean = lock->ended_unclean();
    } else if (taken.error().code == "LIBRARY_LOCKED" || !fs::exists(to.path, ignored)) {
      return taken.error();
    } else {  // chats on a disk that takes nothing can still be read
      to.mode = OpenMode::read_only;
      to.read_only_reason = taken.error();
    }
  }
  is_new_library = !fs::exists(to.path, ignored);
  SATCHEL_TRY(check_not_emptied(to.path));
  SATCHEL_TRY_ASSIGN(library, Library::open(std::move(to)));
  return {};
}

// A library that lost its bytes is damaged, not new. Its words may still lie in a log, which SQLite
// deletes beside an empty file; and where caches are saved, there were chats. Who writes where the
// file is gone begins another and says so; to a reader it must not look empty.
Result<void> Store::State::check_not_emptied(const fs::path& library_file) const {
  if (!is_empty_or_missing(library_file)) return {};
  if (const auto log_file = log_left_by(library_file)) return lost_library(library_file, *log_file);
  const fs::path caches = options.cache_dir / "kvcache.db";
  if (is_empty_or_missing(caches)) return {};
  if (!is_new_library) return lost_library(library_file, caches);
  return options.mode == OpenMode::read_write ? Result<void>() : moved_away(library_file, caches);
}

bool Store::State::can_write() const {
  return !library->report().read_only.has_value();
}

// Opens the saved caches, and lets them be written once the library can be. What fails is tried
// again when they are asked for next.
void Store::State::open_kv() {
  if (kv != nullptr && (writes_kv || !can_write())) return;
  const auto opened = try_kv();
  if (opened.ok() || opened.error().kind == ErrorKind::not_found) return;
  if (kv == nullptr) cache_notice = opened.error().message;
  if (options.log)
    options.log(LogLevel::warning, "store", "no saved caches code=" + opened.error().code);
}

Result<void> Store::State::prepare_cache_dir() {
  SATCHEL_TRY(make_folder_of(options.cache_dir / "kvcache.db"));
  if (cache_lock || fs::equivalent(options.cache_dir, options.data_dir)) return {};
  // Two libraries may be given one cache folder; the second does without.
  SATCHEL_TRY_ASSIGN(FolderLock taken, FolderLock::take(options.cache_dir / "kvcache.lock"));
  cache_lock.emplace(std::move(taken));
  return tag_as_cache(options.cache_dir);
}

Result<void> Store::State::try_kv() {
  const bool writing = can_write();
  if (writing) SATCHEL_TRY(prepare_cache_dir());
  if (kv != nullptr) {
    SATCHEL_TRY(kv->allow_writing());
  } else {
    SATCHEL_TRY_ASSIGN(kv,
                       KvStore::open({.path = options.cache_dir / "kvcache.db",
                                      .mode = writing ? OpenMode::read_write : OpenMode::read_only,
                                      .log = options.log,
                                      .library_id = library->library_id(),
                                      .is_new_library = is_new_library,
                                      .quota_bytes = options.quota_bytes,
                                      .vfs = options.vfs,
                                      .key = options.key}));
  }
  writes_kv = writing;
  cache_notice = kv->notice();
  if (!writing) return {};
  const auto swept = sweep_orphans();  // those that stay go at the next opening
  if (!swept.ok() && options.log)
    options.log(LogLevel::warning, "store", "orphans not deleted code=" + swept.error().code);
  return {};
}

// Saved caches of chats that are gone: a deletion that found the cache unreachable.
Result<void> Store::State::sweep_orphans() {
  SATCHEL_TRY_ASSIGN(const std::vector<SavedCache> saved, kv->list());
  if (saved.empty()) return {};
  SATCHEL_TRY_ASSIGN(const std::vector<KeptDocument> kept, library->kept_documents());
  for (const SavedCache& cache : saved) {
    const auto document = runtime::document_of(cache.key);
    if (!cache.key.owner && !document) continue;
    if (cache.key.owner) {
      const auto known = library->chat({*cache.key.owner});
      if (known.ok()) continue;
      if (known.error().code != "CHAT_NOT_FOUND") return known.error();
    }
    const bool is_kept = document && is_among(kept, *document);
    if (!is_kept)
      SATCHEL_TRY(kv->drop(cache.key));
    else if (cache.key.owner)
      SATCHEL_TRY(kv->disown(cache.key));
  }
  return {};
}

// What was saved of them stays when the chat goes that read them.
Result<void> Store::State::spare_kept_documents(ChatId chat) {
  SATCHEL_TRY_ASSIGN(const std::vector<SavedCache> saved, kv->list());
  SATCHEL_TRY_ASSIGN(const std::vector<KeptDocument> kept, library->kept_documents());
  for (const SavedCache& cache : saved) {
    const auto document = runtime::document_of(cache.key);
    if (cache.key.owner == chat.value && document && is_among(kept, *document))
      SATCHEL_TRY(kv->disown(cache.key));
  }
  return {};
}

bool Store::wants_key(const fs::path& data_dir) {
  return seems_encrypted(data_dir / "library.db");
}

bool Store::can_encrypt() {
  return has_cipher();
}

Library& Store::library() {
  return *state_->library;
}
KvStore* Store::kv() {
  state_->open_kv();
  return state_->kv.get();
}
const std::string& Store::cache_notice() const {
  return state_->kv == nullptr ? state_->cache_notice : state_->kv->notice();
}
bool Store::ended_unclean() const {
  return state_->ended_unclean;
}

std::vector<std::string> Store::notices() const {
  std::vector<std::string> notices;
  if (!state_->cache_notice.empty()) notices.push_back(state_->cache_notice);
  const LibraryReport& report = state_->library->report();
  if (report.read_only) notices.push_back(report.read_only->message);
  if (!report.has_shared_memory) notices.push_back(on_network_disk(state_->options.data_dir));
  return notices;
}

Result<std::vector<Found>> Store::search(const SearchQuery& query) {
  return state_->search_index().find(*state_->library, query);
}

Result<void> Store::delete_now(ChatId chat) {
  SATCHEL_TRY(state_->search_index().forget());
  // What could not be spared is dropped: the document is read again, its words are kept.
  if (kv() != nullptr) (void)state_->spare_kept_documents(chat);
  const bool is_dropped = kv() != nullptr && state_->kv->drop_chat(chat).ok();
  SATCHEL_TRY(state_->library->purge_chat(chat));
  // Another program may have searched meanwhile, and found the chat still there.
  SATCHEL_TRY(state_->search_index().forget());
  if (!is_dropped) state_->has_orphans = true;
  return {};
}

Result<std::vector<runtime::ShelvedDocument>> Store::shelf() {
  std::vector<runtime::ShelvedDocument> shelf;
  SATCHEL_TRY_ASSIGN(const std::vector<KeptDocument> kept, state_->library->kept_documents());
  for (const KeptDocument& document : kept)
    shelf.push_back({.hash = document.hash,
                     .title = document.title,
                     .is_kept = true,
                     .used_ms = document.used_ms});
  if (kv() == nullptr) return shelf;
  SATCHEL_TRY_ASSIGN(const std::vector<SavedCache> saved, state_->kv->list());
  for (const SavedCache& cache : saved) {
    const auto hash = runtime::document_of(cache.key);
    if (!hash || cache.model.empty()) continue;
    auto place = std::ranges::find(shelf, *hash, &runtime::ShelvedDocument::hash);
    if (place == shelf.end()) {
      if (!cache.key.owner) continue;  // it goes at the next opening
      const ChatId chat{*cache.key.owner};
      SATCHEL_TRY_ASSIGN(const auto document, state_->library->chat_document(chat, *hash));
      const Result<Chat> row = state_->library->chat(chat);
      const bool is_removed =
          row.ok() ? row->removed_ms.has_value() : row.error().code == "CHAT_NOT_FOUND";
      if (is_removed || !document) continue;  // gone for whoever looks; its bytes go in time
      SATCHEL_TRY(row);
      shelf.push_back(
          {.hash = *hash, .title = document->title, .chat = chat, .used_ms = row->used_ms});
      place = std::prev(shelf.end());
    }
    if (cache.key.owner && place->chat == ChatId{}) place->chat = {*cache.key.owner};
    place->caches.push_back(cache);
  }
  return shelf;
}

Result<void> Store::keep_document(std::string_view title, std::string_view text) {
  return state_->library->keep_document(title, text);
}

Result<std::string> Store::document_text(std::string_view hash) {
  Result<std::string> kept = state_->library->document_text(hash);
  if (kept.ok() || kept.error().code != "DOC_NOT_FOUND") return kept;
  SATCHEL_TRY_ASSIGN(const auto all, shelf());
  for (const runtime::ShelvedDocument& document : all) {
    if (document.hash != hash) continue;
    SATCHEL_TRY_ASSIGN(auto found, state_->library->chat_document(document.chat, hash));
    if (found) return std::move(found->text);
  }
  return kept;
}

Result<void> Store::remove_document(std::string_view hash) {
  bool is_there = false;
  if (kv() != nullptr) {
    SATCHEL_TRY_ASSIGN(const std::vector<SavedCache> saved, state_->kv->list());
    for (const SavedCache& cache : saved) {
      if (runtime::document_of(cache.key) != hash) continue;
      is_there = true;
      SATCHEL_TRY(state_->kv->drop(cache.key));
    }
  }
  const Result<void> purged = state_->library->purge_document(hash);
  const bool was_not_kept = !purged.ok() && purged.error().code == "DOC_NOT_FOUND";
  return is_there && was_not_kept ? Result<void>() : purged;
}

Result<fs::path> Store::back_up(const fs::path& folder) {
  const std::string date = utc_date(state_->options.clock->wall_ms());
  std::error_code unknown;
  fs::path file = folder / ("library-" + date + ".db");
  for (int n = 2; fs::exists(file, unknown); ++n)
    file = folder / ("library-" + date + "-" + std::to_string(n) + ".db");
  const std::vector<fs::path> missing = missing_folders(folder);
  Result<void> copied = make_private_folder_of(file);
  if (copied.ok()) copied = state_->library->copy_to(file);
  if (copied.ok()) return file;
  for (const fs::path& made : missing) fs::remove(made, unknown);  // those that are empty
  return not_backed_up(file, copied.error());
}

std::vector<LibraryCopy> Store::copies() const {
  std::vector<LibraryCopy> found;
  for (const fs::path& copy : backups_of(state_->options.data_dir / "library.db")) {
    std::error_code unknown;
    const std::uintmax_t bytes = fs::file_size(copy, unknown);
    found.push_back({.name = copy.filename().string(),
                     .bytes = unknown ? 0 : bytes,
                     .written_ms = written_at(copy).value_or(0)});
  }
  return found;
}

Result<void> Store::delete_copy(std::string_view name) {
  const Library& library = *state_->library;
  if (library.report().read_only) return *library.report().read_only;
  if (library.found_damage())
    return Error{
        ErrorKind::storage, "READ_ONLY",
        "The library is damaged, and this copy may be all that is left of a message. It is "
        "kept."};
  for (const fs::path& copy : backups_of(state_->options.data_dir / "library.db")) {
    if (copy.filename() != name) continue;
    std::error_code error;
    fs::remove(copy, error);
    if (!error) return {};
    return Error{ErrorKind::storage, "STORAGE",
                 "\"" + copy.string() + "\" could not be deleted: " + error.message() + "."};
  }
  return ChatStore::delete_copy(name);
}

bool Store::has_orphans() const {
  return state_->has_orphans;
}

Result<std::size_t> Store::purge_expired() {
  // Where there is damage a backup may be all that is left of a message.
  const Library& library = *state_->library;
  if (library.report().read_only || library.found_damage()) return std::size_t{0};
  SATCHEL_TRY_ASSIGN(const std::vector<ChatId> expired, state_->library->expired_chats());
  for (const ChatId chat : expired) SATCHEL_TRY(delete_now(chat));
  if (library.found_damage()) return expired.size();
  SATCHEL_TRY(state_->library->drop_expired_backups());
  constexpr std::int64_t kMonthMs = kDeletedDaysKept * kDayMs;
  const std::int64_t before_ms = state_->options.clock->wall_ms() - kMonthMs;
  delete_put_aside(state_->options.cache_dir, before_ms);
  delete_older(state_->options.cache_dir, kSearchIndexBegins, before_ms);  // of libraries now gone
  return expired.size();
}

namespace {

struct CacheToThin {
  std::int64_t used_ms;  // of its chat
  SavedCache cache;
};

// Those of chats with a last message after `since_ms`, the one used longest ago first. Not those of
// the shelf: other chats begin with them.
std::vector<CacheToThin> by_use(const std::vector<runtime::Chat>& chats,
                                const std::vector<SavedCache>& caches, std::int64_t since_ms) {
  std::map<std::int64_t, std::int64_t> used;  // by chat
  for (const runtime::Chat& chat : chats)
    if (chat.used_ms > since_ms) used[chat.id.value] = chat.used_ms;
  std::vector<CacheToThin> out;
  for (const SavedCache& cache : caches)
    if (const auto found = used.find(cache.key.owner.value_or(0));
        found != used.end() && !runtime::document_of(cache.key))
      out.push_back({found->second, cache});
  std::ranges::stable_sort(out, {}, &CacheToThin::used_ms);
  return out;
}

}  // namespace

Result<std::size_t> Store::thin_unused(std::span<const ChatId> open, const std::stop_token& stop) {
  const StoreOptions& options = state_->options;
  if (options.thin_after_days == 0 || !state_->can_write() || kv() == nullptr)
    return std::size_t{0};
  SATCHEL_TRY_ASSIGN(const auto until, library().setting(kThinnedUntil));
  SATCHEL_TRY_ASSIGN(const auto chats, library().chats());
  SATCHEL_TRY_ASSIGN(const auto caches, state_->kv->list());
  SATCHEL_TRY_ASSIGN(std::uint64_t n_taken, state_->kv->taken_bytes());
  std::int64_t since_ms = 0;
  if (until) std::from_chars(until->data(), until->data() + until->size(), since_ms);
  const double before_ms = static_cast<double>(options.clock->wall_ms()) -
                           static_cast<double>(options.thin_after_days) * kDayMs;
  const std::uint64_t quota = options.quota_bytes;
  std::size_t n_thinned = 0;
  bool is_passed_over = false;  // a chat, which has its turn when it is closed
  for (const CacheToThin& next : by_use(chats, caches, since_ms)) {
    const bool is_short = quota > 0 && n_taken > quota / 4 * 3;
    if (static_cast<double>(next.used_ms) > before_ms && !is_short) break;
    const bool is_open =
        std::ranges::find(open, ChatId{next.cache.key.owner.value_or(0)}) != open.end();
    is_passed_over = is_passed_over || is_open;
    if (is_open) continue;
    SATCHEL_TRY_ASSIGN(const kvcache::ThinReport report, state_->kv->thin(next.cache.key, stop));
    if (report.n_records > 0) ++n_thinned;
    if (report.n_records > 0) {
      SATCHEL_TRY_ASSIGN(n_taken, state_->kv->taken_bytes());
    }
    const std::int64_t until_ms = std::min(next.used_ms, options.clock->wall_ms());
    if (!is_passed_over)
      SATCHEL_TRY(library().set_setting(kThinnedUntil, std::to_string(until_ms)));
  }
  return n_thinned;
}

Result<void> Store::change_key(std::unique_ptr<Store> store, const std::string& key) {
  State& s = *store->state_;
  if (const auto& why = s.library->report().read_only) return *why;
  const fs::path library = s.options.data_dir / "library.db";
  const fs::path caches = s.options.cache_dir / "kvcache.db";
  NewFiles files;
  SATCHEL_TRY(
      files.make(library, [&](const fs::path& to) { return s.library->copy_under_key(to, key); }));
  for (const fs::path& backup : backups_of(library))
    SATCHEL_TRY(files.make(
        backup, [&](const fs::path& to) { return copy_backup(backup, s.options, key, to); }));
  const bool keeps_caches =
      store->kv() != nullptr &&
      files.make(caches, [&](const fs::path& to) { return s.kv->copy_under_key(to, key); }).ok();
  SATCHEL_TRY(s.search_index().forget());
  s.kv.reset();
  s.library.reset();  // its log goes into the file
  for (const fs::path& file : {library, caches})
    if (!is_empty_or_missing(file.string() + "-wal"))
      return Error{
          ErrorKind::storage, "LIBRARY_LOCKED",
          "Another program reads these chats. Close it and try again. Nothing was changed."};
  std::error_code ignored;
  for (const fs::path& file : {library, caches})
    for (const char* suffix : {"-wal", "-shm"}) fs::remove(file.string() + suffix, ignored);
  if (!keeps_caches) fs::remove(caches, ignored);
  SATCHEL_TRY(files.take_places());
  s.lock->release();
  return {};
}

}  // namespace satchel::storage
