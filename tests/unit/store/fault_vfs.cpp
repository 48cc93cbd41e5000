#include "fault_vfs.h"

#include <signal.h>
#include <unistd.h>

#include <utility>

namespace pipescope::store::testing {
namespace {

FaultVfs* current = nullptr;

struct FaultFile {
  sqlite3_file base;
  sqlite3_file* real;  // data of the file follow this struct
};

sqlite3_file* real(sqlite3_file* file) {
  return reinterpret_cast<FaultFile*>(file)->real;
}
const sqlite3_io_methods& methods(sqlite3_file* file) {
  return *real(file)->pMethods;
}

// The error code of an operation that fails now, or SQLITE_OK if it may continue.
template <class BeforeDeath>
int fault(BeforeDeath&& beforeDeath) {
  switch (current->next()) {
    case FaultVfs::Fault::none:
      return SQLITE_OK;
    case FaultVfs::Fault::full:
      return SQLITE_FULL;
    case FaultVfs::Fault::ioError:
      return SQLITE_IOERR;
    case FaultVfs::Fault::kill:
      beforeDeath();
      kill(getpid(), SIGKILL);
      _exit(1);
  }
  return SQLITE_OK;
}
int fault() {
  return fault([] {});
}

int closeFaultFile(sqlite3_file* file) {
  return methods(file).xClose(real(file));
}
int readFaultFile(sqlite3_file* file, void* buffer, int count, sqlite3_int64 at) {
  return methods(file).xRead(real(file), buffer, count, at);
}
int writeFaultFile(sqlite3_file* file, const void* buffer, int count, sqlite3_int64 at) {
  const int code = fault([&] { methods(file).xWrite(real(file), buffer, count / 2, at); });
  if (code != SQLITE_OK) return code;
  sqlite3_int64 size = 0;
  methods(file).xFileSize(real(file), &size);
  if (current->diskFull() && at + count > size) return SQLITE_FULL;
  return methods(file).xWrite(real(file), buffer, count, at);
}
int truncateFaultFile(sqlite3_file* file, sqlite3_int64 size) {
  const int code = fault();
  return code != SQLITE_OK ? code : methods(file).xTruncate(real(file), size);
}
int syncFaultFile(sqlite3_file*, int) {
  return fault();
}  // only a power failure would lose anything
int fileSize(sqlite3_file* file, sqlite3_int64* size) {
  return methods(file).xFileSize(real(file), size);
}
int lockFaultFile(sqlite3_file* file, int level) {
  return methods(file).xLock(real(file), level);
}
int unlockFaultFile(sqlite3_file* file, int level) {
  return methods(file).xUnlock(real(file), level);
}
int checkReserved(sqlite3_file* file, int* out) {
  return methods(file).xCheckReservedLock(real(file), out);
}
int controlFaultFile(sqlite3_file* file, int operation, void* argument) {
  return methods(file).xFileControl(real(file), operation, argument);
}
int sectorSize(sqlite3_file* file) {
  return methods(file).xSectorSize(real(file));
}
int characteristics(sqlite3_file* file) {
  return methods(file).xDeviceCharacteristics(real(file));
}

constexpr sqlite3_io_methods kMethods = {1,
                                         closeFaultFile,
                                         readFaultFile,
                                         writeFaultFile,
                                         truncateFaultFile,
                                         syncFaultFile,
                                         fileSize,
                                         lockFaultFile,
                                         unlockFaultFile,
                                         checkReserved,
                                         controlFaultFile,
                                         sectorSize,
                                         characteristics,
                                         nullptr,
                                         nullptr,
                                         nullptr,
                                         nullptr,
                                         nullptr,
                                         nullptr};

int openFile(sqlite3_vfs*, const char* name, sqlite3_file* file, int flags, int* outFlags) {
  file->pMethods = nullptr;
  if (current->readOnly() && (flags & SQLITE_OPEN_READWRITE) != 0) return SQLITE_CANTOPEN;
  auto* mine = reinterpret_cast<FaultFile*>(file);
  mine->real = reinterpret_cast<sqlite3_file*>(mine + 1);
  const int code = current->real()->xOpen(current->real(), name, mine->real, flags, outFlags);
  if (code == SQLITE_OK) file->pMethods = &kMethods;
  return code;
}
int removeFile(sqlite3_vfs*, const char* name, int syncFolder) {
  const int code = fault();
  return code != SQLITE_OK ? code : current->real()->xDelete(current->real(), name, syncFolder);
}

}  // namespace

FaultVfs::FaultVfs() : real_(sqlite3_vfs_find(nullptr)), vfs_(*real_) {
  current = this;
  vfs_.zName = "faults";
  vfs_.szOsFile = static_cast<int>(sizeof(FaultFile)) + real_->szOsFile;
  vfs_.xOpen = openFile;
  vfs_.xDelete = removeFile;
  sqlite3_vfs_register(&vfs_, 1);
}

FaultVfs::~FaultVfs() {
  sqlite3_vfs_unregister(&vfs_);
  sqlite3_vfs_register(real_, 1);
  current = nullptr;
}

void FaultVfs::failAt(Fault fault, int operation) {
  fault_ = fault;
  countdown_ = operation;
  happened_ = false;
}

FaultVfs::Fault FaultVfs::next() {
  if (observer_) observer_();
  if (countdown_ == 0 || --countdown_ > 0) return Fault::none;
  happened_ = true;
  return fault_;
}

}  // namespace pipescope::store::testing
