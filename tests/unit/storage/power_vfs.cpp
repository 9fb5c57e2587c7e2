#include "power_vfs.h"

#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <utility>

#include "forwarded_file.h"

namespace satchel::storage {
namespace {
namespace fs = std::filesystem;

std::atomic<PowerVfs*> g_recording = nullptr;  // that fsync() tells

PowerVfs& owner(const ForwardedFile& file) {
  return *static_cast<PowerVfs*>(file.owner);
}

int write(sqlite3_file* f, const void* from, int n, sqlite3_int64 at) {
  const int code = real(f)->pMethods->xWrite(real(f), from, n, at);
  const ForwardedFile& file = ForwardedFile::of(f);
  if (code == SQLITE_OK && file.path != nullptr) owner(file).wrote(file.path, from, n, at);
  return code;
}
int truncate(sqlite3_file* f, sqlite3_int64 size) {
  const int code = real(f)->pMethods->xTruncate(real(f), size);
  const ForwardedFile& file = ForwardedFile::of(f);
  if (code == SQLITE_OK && file.path != nullptr) owner(file).truncated(file.path, size);
  return code;
}
int sync(sqlite3_file* f, int flags) {
  const int code = real(f)->pMethods->xSync(real(f), flags);
  const ForwardedFile& file = ForwardedFile::of(f);
  if (code == SQLITE_OK && file.path != nullptr) owner(file).synced(file.path);
  return code;
}

const sqlite3_io_methods kMethods = [] {
  sqlite3_io_methods methods = forwarding_methods();
  methods.xWrite = write;
  methods.xTruncate = truncate;
  methods.xSync = sync;
  return methods;
}();

PowerVfs& owner(sqlite3_vfs* vfs) {
  return *static_cast<PowerVfs*>(vfs->pAppData);
}

int open(sqlite3_vfs* vfs, sqlite3_filename name, sqlite3_file* file, int flags, int* out) {
  return open_forwarded(owner(vfs).real(), &owner(vfs), kMethods, name, file, flags, out);
}

Names list(const fs::path& folder, std::map<std::uint64_t, FileId>& ids, FileId& next_id) {
  Names names;
  std::map<std::uint64_t, FileId> here;
  std::error_code gone;  // a name may go meanwhile
  for (fs::recursive_directory_iterator it(folder, gone), end; !gone && it != end;
       it.increment(gone)) {
    struct stat found {};
    if (::lstat(it->path().c_str(), &found) != 0) continue;
    const std::string name = it->path().lexically_relative(folder).string();
    if (S_ISDIR(found.st_mode)) {
      names[name] = kFolder;
      continue;
    }
    const auto known = ids.find(found.st_ino);
    const FileId id = known == ids.end() ? next_id++ : known->second;
    names[name] = here[found.st_ino] = id;
  }
  ids = std::move(here);  // a number that is used again is of another file
  return names;
}

std::string contents(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

void put(std::string& into, std::uint64_t at, std::string_view bytes) {
  if (into.size() < at + bytes.size()) into.resize(at + bytes.size());
  std::ranges::copy(bytes, into.begin() + static_cast<std::ptrdiff_t>(at));
}

void apply(std::string& into, const DiskEvent& event) {
  if (event.kind == DiskEvent::Kind::write)
    put(into, event.at, event.bytes);
  else
    into.resize(event.at);
}

bool half(Rng& rng) {
  return rng.uniform() < 0.5;
}

// Sector by sector; those of which none came leave no length behind.
void apply_torn(std::string& into, const DiskEvent& event, Rng& rng) {
  constexpr std::size_t kSector = 512;
  for (std::size_t done = 0; done < event.bytes.size();) {
    const std::size_t n =
        std::min(event.bytes.size() - done, kSector - (event.at + done) % kSector);
    if (half(rng)) put(into, event.at + done, std::string_view(event.bytes).substr(done, n));
    done += n;
  }
}

// In `names`, what lies in one folder is as it is now.
void take_over(Names& names, const std::string& folder, const Names& now) {
  const auto lies_there = [&](const auto& entry) {
    return fs::path(entry.first).parent_path() == folder;
  };
  std::erase_if(names, lies_there);
  std::ranges::copy_if(now, std::inserter(names, names.end()), lies_there);
}

}  // namespace

std::string_view name_of(Left left) {
  switch (left) {
    case Left::nothing:
      return "nothing unsynced";
    case Left::everything:
      return "everything";
    case Left::some_writes:
      return "some writes, reordered";
    case Left::torn_sectors:
      return "torn sectors";
    case Left::in_order:
      return "writes in order up to one";
  }
  return "?";
}

PowerVfs::PowerVfs(std::string name) : name_(std::move(name)), real_(sqlite3_vfs_find(nullptr)) {
  vfs_ = *real_;
  vfs_.iVersion = 2;
  vfs_.pNext = nullptr;
  vfs_.szOsFile = ForwardedFile::bytes(*real_);
  vfs_.zName = name_.c_str();
  vfs_.pAppData = this;
  vfs_.xOpen = open;
  vfs_.xDelete = [](sqlite3_vfs* vfs, const char* path, int sync_folder) {
    sqlite3_vfs* below = owner(vfs).real();
    return below->xDelete(below, path, sync_folder);
  };
  vfs_.xAccess = [](sqlite3_vfs* vfs, const char* path, int flags, int* out) {
    sqlite3_vfs* below = owner(vfs).real();
    return below->xAccess(below, path, flags, out);
  };
  vfs_.xFullPathname = [](sqlite3_vfs* vfs, const char* path, int n, char* out) {
    sqlite3_vfs* below = owner(vfs).real();
    return below->xFullPathname(below, path, n, out);
  };
  if (sqlite3_vfs_register(&vfs_, 0) != SQLITE_OK) throw std::runtime_error("vfs not registered");
}

PowerVfs::~PowerVfs() {
  g_recording = nullptr;
  (void)sqlite3_vfs_unregister(&vfs_);
}

void PowerVfs::record(const fs::path& folder) {
  folder_ = fs::canonical(folder);
  events_.clear();
  files_before_.clear();
  ids_.clear();
  next_id_ = 1;
  names_ = names_before_ = list(folder_, ids_, next_id_);
  for (const auto& [name, file] : names_)
    if (file != kFolder) files_before_[file] = contents(folder_ / name);
  records_ = true;
  g_recording = this;
}

std::size_t PowerVfs::now() {
  if (records_) note_names();
  return events_.size();
}

void PowerVfs::note_names() {
  Names now = list(folder_, ids_, next_id_);
  if (now == names_) return;
  std::vector<DiskEvent> texts;  // of files that came with some, such as a lock's
  for (const auto& [name, file] : now) {
    const auto same = [&](const auto& entry) { return entry.second == file; };
    if (file == kFolder || std::ranges::any_of(names_, same)) continue;
    if (std::string text = contents(folder_ / name); !text.empty())
      texts.push_back({.kind = DiskEvent::Kind::write, .file = file, .bytes = std::move(text)});
  }
  names_ = now;
  events_.push_back({.kind = DiskEvent::Kind::names, .names = std::move(now)});
  std::ranges::move(texts, std::back_inserter(events_));
}

FileId PowerVfs::file_at(const std::string& path) {
  const auto found = names_.find(fs::path(path).lexically_relative(folder_).string());
  return found == names_.end() ? kFolder : found->second;
}

void PowerVfs::wrote(const std::string& path, const void* bytes, int n, std::int64_t at) {
  if (!records_) return;
  note_names();
  if (const FileId file = file_at(path); file != kFolder)
    events_.push_back({.kind = DiskEvent::Kind::write,
                       .file = file,
                       .at = static_cast<std::uint64_t>(at),
                       .bytes = {static_cast<const char*>(bytes), static_cast<std::size_t>(n)}});
}

void PowerVfs::truncated(const std::string& path, std::int64_t length) {
  if (!records_) return;
  note_names();
  if (const FileId file = file_at(path); file != kFolder)
    events_.push_back({.kind = DiskEvent::Kind::truncate,
                       .file = file,
                       .at = static_cast<std::uint64_t>(length)});
}

void PowerVfs::synced(const std::string& path) {
  if (!records_) return;
  note_names();
  std::error_code unknown;
  if (fs::is_directory(path, unknown)) {
    const std::string folder = fs::path(path).lexically_relative(folder_).string();
    if (folder.starts_with("..")) return;  // above what is recorded
    events_.push_back(
        {.kind = DiskEvent::Kind::sync_folder, .folder = folder == "." ? "" : folder});
  } else if (const FileId file = file_at(path); file != kFolder) {
    events_.push_back({.kind = DiskEvent::Kind::sync, .file = file});
  }
}

PowerDisk::PowerDisk(const PowerVfs& vfs)
    : names_on_disk_(vfs.names_before()), names_since_{vfs.names_before()} {
  for (const auto& [id, text] : vfs.files_before()) files_[id].on_disk = text;
}

void PowerDisk::pass(const DiskEvent& event) {
  File& file = files_[event.file];
  switch (event.kind) {
    case DiskEvent::Kind::write:
    case DiskEvent::Kind::truncate:
      file.since.push_back(&event);
      return;
    case DiskEvent::Kind::sync:
      for (const DiskEvent* write : file.since) apply(file.on_disk, *write);
      file.since.clear();
      return;
    case DiskEvent::Kind::names:
      names_since_.push_back(event.names);
      return;
    case DiskEvent::Kind::sync_folder: {
      const Names now = names_since_.back();
      take_over(names_on_disk_, event.folder, now);
      for (Names& names : names_since_) take_over(names, event.folder, now);
      if (names_on_disk_ == now) names_since_ = {now};
      return;
    }
  }
}

std::string PowerDisk::left_of(const File& file, Left how, Rng& rng) {
  std::string left = file.on_disk;
  if (how == Left::nothing) return left;
  const auto n = static_cast<double>(file.since.size() + 1);
  const auto n_in_order = static_cast<std::size_t>(rng.uniform() * n);
  for (std::size_t i = 0; i < file.since.size(); ++i) {
    const DiskEvent& event = *file.since[i];
    if (how == Left::in_order && i >= n_in_order) return left;
    if (how == Left::torn_sectors && event.kind == DiskEvent::Kind::write)
      apply_torn(left, event, rng);
    else if (how == Left::everything || how == Left::in_order || half(rng))
      apply(left, event);
  }
  return left;
}

void PowerDisk::cut(Left how, Rng& rng, const fs::path& into) const {
  const auto which =
      static_cast<std::size_t>(rng.uniform() * static_cast<double>(names_since_.size() + 1));
  const Names& names = how == Left::nothing      ? names_on_disk_
                       : how == Left::everything ? names_since_.back()
                       : which == 0              ? names_on_disk_
                                    : names_since_[std::min(which, names_since_.size()) - 1];
  for (const auto& [name, id] : names) {  // folders come before what is in them
    const fs::path path = into / name;
    if (!fs::exists(path.parent_path())) continue;  // the folder's own name is not on the disk
    if (id == kFolder) {
      fs::create_directory(path);
      continue;
    }
    const auto found = files_.find(id);
    std::ofstream out(path, std::ios::binary);
    if (found != files_.end()) out << left_of(found->second, how, rng);
  }
}

// What fsync() of this program, and of SQLite's library, is told.
void tell_synced(int descriptor) {
  PowerVfs* const recording = g_recording;
  if (recording == nullptr) return;
  std::error_code gone;
  const fs::path path = fs::read_symlink("/proc/self/fd/" + std::to_string(descriptor), gone);
  if (!gone) recording->synced(path.string());
}

}  // namespace satchel::storage

// In place of the C library's, for all of this program.
extern "C" {
int fsync(int descriptor) {
  const int result = static_cast<int>(::syscall(SYS_fsync, descriptor));
  if (result == 0) satchel::storage::tell_synced(descriptor);
  return result;
}
int fdatasync(int descriptor) {
  const int result = static_cast<int>(::syscall(SYS_fdatasync, descriptor));
  if (result == 0) satchel::storage::tell_synced(descriptor);
  return result;
}
}
