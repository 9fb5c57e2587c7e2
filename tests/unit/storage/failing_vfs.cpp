#include "failing_vfs.h"

#include <unistd.h>

#include <climits>
#include <stdexcept>
#include <utility>

namespace satchel::storage {
namespace {

// Ours first, as SQLite sees it; the real file lies behind it in the same memory.
struct File {
  sqlite3_file base;
  FailingVfs* owner;
  sqlite3_file* real;
};
File& of(sqlite3_file* file) {
  return *reinterpret_cast<File*>(file);
}
sqlite3_file* real(sqlite3_file* file) {
  return of(file).real;
}
bool fails(sqlite3_file* file) {
  return of(file).owner->fails_now();
}
int code(sqlite3_file* file, int io_error) {
  return of(file).owner->code(io_error);
}

int close(sqlite3_file* f) {
  return real(f)->pMethods->xClose(real(f));
}
int read(sqlite3_file* f, void* to, int n, sqlite3_int64 at) {
  return real(f)->pMethods->xRead(real(f), to, n, at);
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
int size(sqlite3_file* f, sqlite3_int64* out) {
  return real(f)->pMethods->xFileSize(real(f), out);
}
int lock(sqlite3_file* f, int level) {
  return real(f)->pMethods->xLock(real(f), level);
}
int unlock(sqlite3_file* f, int level) {
  return real(f)->pMethods->xUnlock(real(f), level);
}
int reserved(sqlite3_file* f, int* out) {
  return real(f)->pMethods->xCheckReservedLock(real(f), out);
}
int control(sqlite3_file* f, int what, void* with) {
  return real(f)->pMethods->xFileControl(real(f), what, with);
}
int sector(sqlite3_file* f) {
  return real(f)->pMethods->xSectorSize(real(f));
}
int traits(sqlite3_file* f) {
  return real(f)->pMethods->xDeviceCharacteristics(real(f));
}
int shm_map(sqlite3_file* f, int page, int n, int extend, void volatile** out) {
  if (fails(f)) return code(f, SQLITE_IOERR_SHMMAP);
  return real(f)->pMethods->xShmMap(real(f), page, n, extend, out);
}
int shm_lock(sqlite3_file* f, int at, int n, int flags) {
  return real(f)->pMethods->xShmLock(real(f), at, n, flags);
}
void shm_barrier(sqlite3_file* f) {
  real(f)->pMethods->xShmBarrier(real(f));
}
int shm_unmap(sqlite3_file* f, int erase) {
  return real(f)->pMethods->xShmUnmap(real(f), erase);
}

constexpr sqlite3_io_methods kMethods = {
    2,       close,  read,   write,   truncate, sync,        size,      lock,    unlock, reserved,
    control, sector, traits, shm_map, shm_lock, shm_barrier, shm_unmap, nullptr, nullptr};

FailingVfs& owner(sqlite3_vfs* vfs) {
  return *static_cast<FailingVfs*>(vfs->pAppData);
}

int open(sqlite3_vfs* vfs, sqlite3_filename name, sqlite3_file* file, int flags, int* out) {
  File& ours = of(file);
  ours.base.pMethods = nullptr;  // else SQLite closes what was not opened
  ours.owner = &owner(vfs);
  ours.real = reinterpret_cast<sqlite3_file*>(&ours + 1);
  if (owner(vfs).fails_now()) return owner(vfs).code(SQLITE_CANTOPEN);
  sqlite3_vfs* below = owner(vfs).real();
  const int opened = below->xOpen(below, name, ours.real, flags, out);
  owner(vfs).count_opened();
  if (opened == SQLITE_OK) ours.base.pMethods = &kMethods;
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

FailingVfs::FailingVfs(std::string name)
    : name_(std::move(name)), real_(sqlite3_vfs_find(nullptr)) {
  vfs_.iVersion = 2;
  vfs_.szOsFile = static_cast<int>(sizeof(File)) + real_->szOsFile;
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
