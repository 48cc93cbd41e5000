#pragma once
// A layer over SQLite's file access that breaks on command: it kills the process, fills the disk or fails.
#include <sqlite3.h>

#include <functional>
#include <string>

namespace pipescope::store::testing {

/// While an object lives, SQLite opens files through it. Only one may live at a time.
class FaultVfs {
 public:
  enum class Fault {
    none,
    kill,     ///< SIGKILL in the middle of the operation, with half of a write done
    full,     ///< SQLITE_FULL
    ioError,  ///< SQLITE_IOERR
  };

  FaultVfs();
  ~FaultVfs();
  FaultVfs(const FaultVfs&) = delete;
  FaultVfs& operator=(const FaultVfs&) = delete;

  /// Makes `fault` happen at the n-th changing operation from now (1 is the next one): a write, sync,
  /// truncation or deletion.
  void failAt(Fault fault, int operation);
  /// A full disk: no file can grow, but existing bytes can be overwritten.
  void setDiskFull(bool full) { diskFull_ = full; }
  /// Opening for writing fails.
  void setReadOnly(bool readOnly) { readOnly_ = readOnly; }
  /// Sets a function that is called before every changing operation.
  void setObserver(std::function<void()> observer) { observer_ = std::move(observer); }
  /// True if the requested fault has happened.
  bool happened() const { return happened_; }

  // The C functions that SQLite calls need these.
  sqlite3_vfs* real() const { return real_; }
  Fault next();
  bool diskFull() const { return diskFull_; }
  bool readOnly() const { return readOnly_; }

 private:
  sqlite3_vfs* real_;
  sqlite3_vfs vfs_;
  Fault fault_ = Fault::none;
  int countdown_ = 0;
  bool happened_ = false;
  bool diskFull_ = false;
  bool readOnly_ = false;
  std::function<void()> observer_;
};

}  // namespace pipescope::store::testing
