#include "failing_vfs.h"

#include <unistd.h>

#include <climits>
#include <stdexcept>
#include <utility>

#include "forwarded_file.h"

namespace satchel::storage {
namespace {

FailingVfs& owner(sqlite3_file* file) {
  return *static_cast<FailingVfs*>(ForwardedFile::of(file).owner);
}
bool fails(sqlite3_file* file) {
  return owner(file).fails_now();
}
int code(sqlite3_file* file, int io_error) {
  return owner(file).code(io_error);
}

int write(sqlite3_file* f, const void* from, int n, sqlite3_int64 at) {
  if (fails(f)) {  // half of it arrives, as disks do
    (void)real(f)->pMethods->xWrite(real(f), from, n / 2, at);
    return code(f, SQLITE_IOERR_WRITE);
  }
  return real(f)->pMethods->xWrite(real(f), from, n, at);
}
int truncate(sqlite3_file* f, sqlite3_int64 size) {
  if (fails(f)) return code(f, SQLITE_IOERR_TRUNCATE);
  return real(f)->pMethods->xTruncate(real(f), size);
}
int sync(sqlite3_file* f, int flags) {
  if (fails(f)) return code(f, SQLITE_IOERR_FSYNC);
  return real(f)->pMethods->xSync(real(f), flags);
}
int shm_map(sqlite3_file* f, int page, int n, int extend, void volatile** out) {
  if (fails(f)) return code(f, SQLITE_IOERR_SHMMAP);
  return real(f)->pMethods->xShmMap(real(f), page, n, extend, out);
}

const sqlite3_io_methods kMethods = [] {
  sqlite3_io_methods methods = forwarding_methods();
  methods.xWrite = write;
  methods.xTruncate = truncate;
  methods.xSync = sync;
  methods.xShmMap = shm_map;
  return methods;
}();

const sqlite3_io_methods kWithoutMemory = [] {
  sqlite3_io_methods methods = kMethods;
  methods.iVersion = 1;
  methods.xShmMap = nullptr;
  return methods;
}();

FailingVfs& owner(sqlite3_vfs* vfs) {
  return *static_cast<FailingVfs*>(vfs->pAppData);
}

int open(sqlite3_vfs* vfs, sqlite3_filename name, sqlite3_file* file, int flags, int* out) {
  file->pMethods = nullptr;  // else SQLite closes what was not opened
  if (owner(vfs).fails_now()) return owner(vfs).code(SQLITE_CANTOPEN);
  const sqlite3_io_methods& methods =
      owner(vfs).memory() == FailingVfs::Memory::shared ? kMethods : kWithoutMemory;
  const int opened =
      open_forwarded(owner(vfs).real(), &owner(vfs), methods, name, file, flags, out);
  owner(vfs).count_opened();
  return opened;
}
int erase(sqlite3_vfs* vfs, const char* name, int sync_folder) {
  if (owner(vfs).fails_now()) return owner(vfs).code(SQLITE_IOERR_DELETE);
  return owner(vfs).real()->xDelete(owner(vfs).real(), name, sync_folder);
}
int access(sqlite3_vfs* vfs, const char* name, int flags, int* out) {
  return owner(vfs).real()->xAccess(owner(vfs).real(), name, flags, out);
}
int full_name(sqlite3_vfs* vfs, const char* name, int n, char* out) {
  return owner(vfs).real()->xFullPathname(owner(vfs).real(), name, n, out);
}
int randomness(sqlite3_vfs* vfs, int n, char* out) {
  return owner(vfs).real()->xRandomness(owner(vfs).real(), n, out);
}
int sleep(sqlite3_vfs* vfs, int us) {
  return owner(vfs).real()->xSleep(owner(vfs).real(), us);
}
int time_ms(sqlite3_vfs* vfs, sqlite3_int64* out) {
  return owner(vfs).real()->xCurrentTimeInt64(owner(vfs).real(), out);
}
int last_error(sqlite3_vfs*, int, char*) {
  return 0;
}  // ours are not the system's
}  // namespace

FailingVfs::FailingVfs(std::string name, Memory memory)
    : name_(std::move(name)), real_(sqlite3_vfs_find(nullptr)), memory_(memory) {
  vfs_.iVersion = 2;
  vfs_.szOsFile = ForwardedFile::bytes(*real_);
  vfs_.mxPathname = real_->mxPathname;
  vfs_.zName = name_.c_str();
  vfs_.pAppData = this;
  vfs_.xOpen = open;
  vfs_.xDelete = erase;
  vfs_.xAccess = access;
  vfs_.xFullPathname = full_name;
  vfs_.xRandomness = randomness;
  vfs_.xSleep = sleep;
  vfs_.xGetLastError = last_error;
  vfs_.xCurrentTimeInt64 = time_ms;
  if (sqlite3_vfs_register(&vfs_, 0) != SQLITE_OK) throw std::runtime_error("vfs not registered");
}
FailingVfs::~FailingVfs() {
  (void)sqlite3_vfs_unregister(&vfs_);
}

void FailingVfs::fail_at(int call, How how, Then then) {
  calls_ = 0;
  fail_at_ = call;
  how_ = how;
  then_ = then;
  has_failed_ = false;
}

bool FailingVfs::fails_now() {
  if (fail_at_ < 0) return false;
  const int call = calls_++;
  const int n_max = then_ == Then::once ? 1 : then_ == Then::thrice ? 3 : INT_MAX;
  const bool now = call >= fail_at_ && call - fail_at_ < n_max;
  if (now && how_ == How::killed) ::_exit(kKilled);
  has_failed_ = has_failed_ || now;
  return now;
}

}  // namespace satchel::storage
