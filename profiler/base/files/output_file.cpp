#include "profiler/base/files/output_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <utility>

namespace pipescope::base {
namespace fs = std::filesystem;
namespace {

/// The first bytes of a plain file.
Result<std::string> headOf(const fs::path& path) {
  std::ifstream stream(path, std::ios::binary);
  std::string head(kHeadBytes, '\0');
  stream.read(head.data(), static_cast<std::streamsize>(head.size()));
  head.resize(static_cast<std::size_t>(stream.gcount()));
  if (!stream.bad() && (stream.eof() || !head.empty())) return head;
  return ioError(path.string() +
                 " cannot be read to see whether it may be replaced: " + std::strerror(errno) + ".");
}

Status checkFolder(const fs::path& path) {
  std::error_code failed;
  const fs::path folder = fs::absolute(path, failed).lexically_normal().parent_path();
  if (fs::is_directory(folder, failed)) return {};
  return ioError(path.string() + " cannot be written: " + folder.string() +
                 " is not a folder. Make it first, or choose another path.");
}

/// Something exists at the path.
Status checkReplaceable(const fs::path& path, const fs::file_status& status, FileKind kind,
                        const OutputRules& rules) {
  const auto refuse = [&](const std::string& what) {
    return badInput(path.string() + " exists and is " + what + "; it is left untouched. " + rules.advice);
  };
  if (!fs::is_regular_file(status)) {
    return badInput(path.string() + " exists and is not a plain file; it is left untouched. " +
                    (canBeStreamed(kind) ? "Use - for standard output, or choose another name."
                                         : "Choose another name."));
  }
  constexpr fs::perms kWrite = fs::perms::owner_write | fs::perms::group_write | fs::perms::others_write;
  if (rules.overwrite) return {};
  if ((status.permissions() & kWrite) == fs::perms::none) return refuse("protected against writing");
  PIPESCOPE_ASSIGN(const std::string head, headOf(path));
  if (head.empty() || isOfKind(kind, head)) return {};
  return refuse("not " + std::string(nameOf(kind)));
}

Error cannotCreate(const fs::path& path, int number) {
  return ioError(path.string() + " cannot be written: " + std::strerror(number) +
                 ". Choose a folder that exists and can be written to.");
}

}  // namespace

bool isStandardOutput(const fs::path& path) {
  return path == "-";
}

Result<fs::path> followLinks(const fs::path& path) {
  constexpr int kMostLinks = 40;  // limit of the Linux kernel
  std::error_code failed;
  fs::path target = path;
  for (int number = 0; number < kMostLinks; ++number) {
    if (!fs::is_symlink(target, failed)) return target;
    target = target.parent_path() / fs::read_symlink(target, failed);  // an absolute link takes it all
  }
  return ioError(path.string() + " is a link that leads to no file, because it leads back to itself. " +
                 "Choose another name.");
}

bool isSameFile(const fs::path& a, const fs::path& b) {
  std::error_code failed;
  if (fs::equivalent(a, b, failed) && !failed) return true;
  // A path that cannot be resolved, for example because a name is too long, is compared as it is.
  const auto whole = [](const fs::path& path) {
    std::error_code unresolved;
    const Result<fs::path> target = followLinks(path);
    const fs::path absolute = fs::absolute(target.ok() ? *target : path, unresolved).lexically_normal();
    const fs::path resolved = fs::weakly_canonical(absolute, unresolved);
    return unresolved ? absolute : resolved;
  };
  return !a.empty() && !b.empty() && whole(a) == whole(b);
}

Status refuseInputs(const fs::path& path, const OutputRules& rules) {
  for (const fs::path& input : rules.inputs) {
    if (input.empty() || !isSameFile(path, input)) continue;
    return badInput(path.string() +
                    " is an input of the same command; it is left untouched. Choose another " +
                    "name for what is written.");
  }
  return {};
}

Status checkOutput(const fs::path& path, FileKind kind, const OutputRules& rules) {
  if (path.empty()) return badInput("The name of a file to write is empty.");
  if (isStandardOutput(path)) {
    if (canBeStreamed(kind)) return {};
    std::string what(nameOf(kind));
    what.front() = 'A';  // all names begin with an article
    return badInput(what +
                    " cannot be written to standard output, because it is not written from its "
                    "beginning to its end: name a file.");
  }
  PIPESCOPE_ASSIGN(const fs::path target, followLinks(path));
  std::error_code failed;
  const fs::file_status status = fs::status(target, failed);
  if (fs::is_directory(status) || !path.has_filename()) {
    return ioError(path.string() + " is a folder; name a file in it.");
  }
  PIPESCOPE_TRY(checkFolder(target));
  if (!fs::exists(status)) return {};
  PIPESCOPE_TRY(refuseInputs(path, rules));
  return checkReplaceable(path, status, kind, rules);
}

namespace {

bool isAt(int descriptor, const fs::path& path) {
  struct stat opened {
  }, named{};
  return fstat(descriptor, &opened) == 0 && lstat(path.c_str(), &named) == 0 &&
         opened.st_ino == named.st_ino && opened.st_dev == named.st_dev;
}

/// Removes a file that a killed program left. Who writes to one holds its lock. A link, or a file with two
/// names, is none of ours.
void removeIfAbandoned(const fs::path& path) {
  const int descriptor = open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (descriptor < 0) return;
  struct stat status {};
  const bool plain = fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode) && status.st_nlink == 1;
  if (plain && flock(descriptor, LOCK_EX | LOCK_NB) == 0 && isAt(descriptor, path)) unlink(path.c_str());
  ::close(descriptor);
}

/// A new file with a lock. Another program may take it for abandoned before the lock is there; -2 says so.
int createLocked(const fs::path& path) {
  const int descriptor = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (descriptor < 0) return -1;
  (void)flock(descriptor, LOCK_EX | LOCK_NB);  // not every file system has locks
  if (isAt(descriptor, path)) return descriptor;
  ::close(descriptor);
  return -2;
}

}  // namespace

Result<PendingFile> PendingFile::create(const fs::path& path) {
  PendingFile file;
  file.path_ = path;
  PIPESCOPE_ASSIGN(file.target_, followLinks(path));
  constexpr int kMostTries = 100;        // one for each program that writes the same file now
  constexpr std::size_t kOfSqlite = 10;  // bytes of "-journal", by which SQLite names a file beside it
  for (int number = 0; number < kMostTries; ++number) {
    const fs::path name = besidePath(file.target_, ".", "." + std::to_string(number) + ".partial", kOfSqlite);
    removeIfAbandoned(name);
    const SignalsWait named;
    const int descriptor = createLocked(name);
    if (descriptor == -2 || (descriptor < 0 && errno == EEXIST)) continue;
    if (descriptor < 0) return cannotCreate(path, errno);
    file.temporary_ = name;
    file.name_ = TemporaryName(name);
    file.lock_ = descriptor;
    // Removes the files of programs that wrote at the same time.
    for (int next = number + 1; next < kMostTries; ++next) {
      const fs::path other =
          besidePath(file.target_, ".", "." + std::to_string(next) + ".partial", kOfSqlite);
      if (std::error_code failed; !fs::exists(fs::symlink_status(other, failed))) break;
      removeIfAbandoned(other);
    }
    return file;
  }
  return cannotCreate(path, EEXIST);
}

PendingFile::PendingFile(PendingFile&& other) noexcept
    : path_(std::move(other.path_)),
      target_(std::move(other.target_)),
      temporary_(std::exchange(other.temporary_, {})),
      name_(std::move(other.name_)),
      lock_(std::exchange(other.lock_, -1)) {}

PendingFile& PendingFile::operator=(PendingFile&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(target_, other.target_);
  std::swap(temporary_, other.temporary_);
  std::swap(name_, other.name_);
  std::swap(lock_, other.lock_);
  return *this;
}

PendingFile::~PendingFile() {
  std::error_code ignored;
  if (!temporary_.empty()) fs::remove(temporary_, ignored);
  close();
}

void PendingFile::close() {
  name_.forget();
  if (lock_ >= 0) ::close(lock_);
  lock_ = -1;
}

Status PendingFile::publish() {
  std::error_code failed;
  const fs::file_status old = fs::status(target_, failed);
  if (fs::is_regular_file(old)) fs::permissions(temporary_, old.permissions(), failed);
  fs::rename(temporary_, target_, failed);
  if (failed) return ioError(path_.string() + " cannot be written: " + failed.message() + ".");
  temporary_.clear();
  close();
  return {};
}

Result<OutputFile> OutputFile::create(const fs::path& path, FileKind kind, const OutputRules& rules) {
  PIPESCOPE_TRY(checkOutput(path, kind, rules));
  OutputFile file;
  if (isStandardOutput(path)) {
    file.shown_ = "Standard output";
    file.file_ = stdout;
    file.published_ = true;
    return file;
  }
  file.shown_ = path.string();
  PIPESCOPE_ASSIGN(file.pending_, PendingFile::create(path));
  file.file_ = std::fopen(file.pending_.temporary().c_str(), "wb");
  if (file.file_ == nullptr) return cannotCreate(path, errno);
  return file;
}

OutputFile::OutputFile(OutputFile&& other) noexcept
    : shown_(std::move(other.shown_)),
      pending_(std::move(other.pending_)),
      file_(std::exchange(other.file_, nullptr)),
      published_(other.published_) {}

OutputFile& OutputFile::operator=(OutputFile&& other) noexcept {
  std::swap(shown_, other.shown_);
  std::swap(pending_, other.pending_);
  std::swap(file_, other.file_);
  std::swap(published_, other.published_);
  return *this;
}

OutputFile::~OutputFile() {
  if (file_ != nullptr && file_ != stdout) std::fclose(file_);
}

Error OutputFile::failure() const {
  return machineError(shown_ + " cannot be written to its end: " + std::strerror(errno) +
                      (published_ ? "." : "; what stood there before is left."));
}

Status OutputFile::write(std::string_view bytes) {
  return std::fwrite(bytes.data(), 1, bytes.size(), file_) == bytes.size() ? Status() : failure();
}

Status OutputFile::flush() {
  return std::fflush(file_) == 0 ? Status() : failure();
}

Status OutputFile::publish() {
  PIPESCOPE_TRY(flush());
  if (published_) return {};
  // The content must be on the disk before the name is, in case the power fails.
  fsync(fileno(file_));
  PIPESCOPE_TRY(pending_.publish());
  published_ = true;
  return {};
}

Status OutputFile::close() {
  Status status = publish();
  std::FILE* file = std::exchange(file_, nullptr);
  if (file != stdout && std::fclose(file) != 0 && status.ok()) status = failure();
  return status;
}

}  // namespace pipescope::base
