#include "profiler/import/read/source/trace_files.h"

#include <archive.h>
#include <archive_entry.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <optional>
#include <system_error>
#include <vector>

#include "profiler/import/read/source/inflated_source.h"

namespace pipescope::importing {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kBlockBytes = 256 * 1024;
/// A tar file within a zip file within a tar file is still opened.
constexpr int kDeepestArchive = 3;
/// A gzip file within a gzip file is still opened. There is one that holds itself.
constexpr int kMostGzips = 4;

struct ArchiveCloser {
  void operator()(archive* handle) const { archive_read_free(handle); }
};
using ArchiveHandle = std::unique_ptr<archive, ArchiveCloser>;

std::string reasonOf(archive* handle) {
  const char* stated = archive_error_string(handle);
  std::string text = stated != nullptr ? stated : "its content is damaged";
  // The message goes into a sentence of ours, so a full stop at its end has to go.
  while (text.ends_with('.')) text.pop_back();
  return text;
}

/// An archive reader that knows the formats in which traces are kept. libarchive's other filters start
/// programs, which a trace must not be able to do. Its gzip filter loses the last 64 KB of a file that is cut
/// short, so InflatedSource does that work.
ArchiveHandle newArchive() {
  ArchiveHandle handle(archive_read_new());
  archive_read_support_filter_bzip2(handle.get());
  archive_read_support_filter_xz(handle.get());
  archive_read_support_filter_zstd(handle.get());
  archive_read_support_format_zip(handle.get());
  archive_read_support_format_tar(handle.get());
  archive_read_support_format_gnutar(handle.get());
  archive_read_support_format_raw(handle.get());
  archive_read_support_format_empty(handle.get());
  return handle;
}

/// The bytes of the member that the archive stands at.
class MemberSource : public ByteSource {
 public:
  MemberSource(archive* handle, std::string name) : handle_(handle), name_(std::move(name)) {}
  base::Result<std::size_t> read(std::span<char> buffer) override {
    // Readers look at the first bytes twice; an error must not get lost in between.
    if (failed_) return *failed_;
    if (ended_) return std::size_t{0};
    const la_ssize_t count = archive_read_data(handle_, buffer.data(), buffer.size());
    if (count > 0) return static_cast<std::size_t>(count);
    ended_ = true;
    if (count == 0) return std::size_t{0};
    failed_ = base::badInput(fmt::format("{} ends early or is damaged: {}.", name_, reasonOf(handle_)));
    return *failed_;
  }

 private:
  archive* handle_;
  std::string name_;
  bool ended_ = false;
  std::optional<base::Error> failed_;
};

constexpr std::size_t kMagicBytes = 512;

bool looksPacked(std::string_view head) {
  using namespace std::string_view_literals;
  for (const std::string_view magic : {"PK\x03\x04"sv, "\x28\xb5\x2f\xfd"sv, "\xfd\x37zXZ"sv, "BZh"sv})
    if (head.starts_with(magic)) return true;
  return head.size() > 262 && head.substr(257, 5) == "ustar";
}

/// Reads what is no plain file, such as a pipe, and stops waiting for its bytes when the user cancels.
class PipeSource : public ByteSource {
 public:
  PipeSource(const fs::path& path, const base::Progress& progress) : path_(path), progress_(progress) {}
  ~PipeSource() override {
    if (file_ >= 0) ::close(file_);
  }
  PipeSource(const PipeSource&) = delete;
  PipeSource& operator=(const PipeSource&) = delete;

  base::Result<std::size_t> read(std::span<char> buffer) override {
    constexpr int kMilliseconds = 100;
    // O_NONBLOCK lets a pipe open at once, although it has no writer yet.
    if (file_ < 0) file_ = ::open(path_.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (file_ < 0) return failure();
    for (;;) {
      if (progress_.cancelled()) return base::cancelled("The import was stopped.");
      pollfd waiting{file_, POLLIN, 0};
      const int ready = ::poll(&waiting, 1, kMilliseconds);
      if (ready < 0 && errno != EINTR) return failure();
      if (ready <= 0) continue;
      const ssize_t count = ::read(file_, buffer.data(), buffer.size());
      if (count >= 0) return static_cast<std::size_t>(count);
      if (errno != EINTR && errno != EAGAIN) return failure();
    }
  }

 private:
  base::Error failure() const {
    return base::ioError(fmt::format("{} cannot be read: {}.", path_.string(), std::strerror(errno)));
  }
  const fs::path path_;
  const base::Progress& progress_;
  int file_ = -1;
};

class Walk {
 public:
  Walk(const fs::path& path, const std::function<base::Status(const TraceFile&)>& visit,
       std::vector<std::string>& damages, const base::Progress& progress)
      : path_(path), visit_(visit), damages_(damages), progress_(progress) {}

  base::Status file() {
    std::error_code failed;
    const bool regular = fs::is_regular_file(path_, failed);
    PipeSource pipe(path_, progress_);
    auto fed = std::make_unique<Feed>(Feed{pipe});
    const ArchiveHandle handle = newArchive();
    if (regular) bytes_ = static_cast<double>(fs::file_size(path_, failed));
    const int opened = regular ? archive_read_open_filename(handle.get(), path_.c_str(), kBlockBytes)
                               : archive_read_open(handle.get(), fed.get(), nullptr, feed, nullptr);
    if (progress_.cancelled()) return base::cancelled("The import was stopped.");
    if (opened != ARCHIVE_OK)
      return base::ioError(fmt::format("{} cannot be read: {}.", path_.string(), reasonOf(handle.get())));
    outermost_ = handle.get();
    base::Status visited = members(handle.get(), path_.string(), 1);
    return progress_.cancelled() ? base::cancelled("The import was stopped.") : visited;
  }

 private:
  /// Source from which libarchive reads an inner archive.
  struct Feed {
    ByteSource& source;
    std::array<char, 64 * 1024> buffer{};
  };
  static la_ssize_t feed(archive* handle, void* data, const void** block) {
    auto* feed = static_cast<Feed*>(data);
    auto count = feed->source.read(feed->buffer);
    *block = feed->buffer.data();
    if (count.ok()) return static_cast<la_ssize_t>(*count);
    archive_set_error(handle, EILSEQ, "%s", count.error().message.c_str());
    return ARCHIVE_FATAL;
  }

  base::Status members(archive* handle, const std::string& name, int depth) {
    for (archive_entry* entry = nullptr;;) {
      const int status = archive_read_next_header(handle, &entry);
      if (status == ARCHIVE_EOF) return {};
      if (status < ARCHIVE_WARN) {
        damages_.push_back(fmt::format("{} is damaged: {}.", name, reasonOf(handle)));
        return {};
      }
      const bool plain = archive_format(handle) == ARCHIVE_FORMAT_RAW;
      const char* inner = archive_entry_pathname(entry);
      const std::string member = inner != nullptr ? inner : "";
      if (!plain && (archive_entry_filetype(entry) != AE_IFREG || hidden(member))) continue;
      PIPESCOPE_TRY(content(handle, plain ? name : name + "/" + member, depth));
    }
  }

  static bool hidden(const std::string& member) {
    return fs::path(member).filename().string().starts_with(".");
  }

  base::Status content(archive* handle, const std::string& name, int depth) {
    MemberSource member(handle, name);
    const bool plain = archive_format(handle) == ARCHIVE_FORMAT_RAW;
    return stream(member, name, plain, depth, 0);
  }

  /// `plain`: the stream is the whole content of its file; `depth`: how many archives enclose it, at least 1;
  /// `gzips`: how often it was compressed.
  base::Status stream(ByteSource& source, const std::string& name, bool plain, int depth, int gzips) {
    std::string head = readHead(source, kMagicBytes);
    const bool gzipped = InflatedSource::looksGzipped(head), packed = looksPacked(head);
    PeekedSource whole(std::move(head), source);
    if (gzipped && gzips == kMostGzips)
      return base::badInput(
          fmt::format("{} is compressed more than {} times: unpack it first.", name, gzips));
    if (gzipped) {
      InflatedSource unpacked(whole, name);
      return stream(unpacked, name, plain, depth, gzips + 1);
    }
    if (!packed) return visit_(TraceFile{name, path_, whole, [this] { return fraction(); }});
    // A compressed archive is one archive.
    const int inner = plain && gzips > 0 ? depth : depth + 1;
    if (inner > kDeepestArchive)
      return base::badInput(
          fmt::format("{} is an archive within {} archives: unpack it first.", name, depth));
    const ArchiveHandle nested = newArchive();
    auto fed = std::make_unique<Feed>(Feed{whole});
    if (archive_read_open(nested.get(), fed.get(), nullptr, feed, nullptr) == ARCHIVE_OK)
      return members(nested.get(), name, inner);
    damages_.push_back(fmt::format("{} is damaged: {}.", name, reasonOf(nested.get())));
    return {};
  }

  double fraction() const {
    return bytes_ > 0 ? std::min(1.0, static_cast<double>(archive_filter_bytes(outermost_, -1)) / bytes_) : 1;
  }

  const fs::path path_;
  const std::function<base::Status(const TraceFile&)>& visit_;
  std::vector<std::string>& damages_;
  const base::Progress& progress_;
  archive* outermost_ = nullptr;
  double bytes_ = 0;
};

base::Result<std::vector<fs::path>> filesOf(const fs::path& folder) {
  std::vector<fs::path> files;
  std::error_code failed;
  for (fs::recursive_directory_iterator at(folder, failed), end; !failed && at != end; at.increment(failed)) {
    const bool hidden = at->path().filename().string().starts_with(".");
    std::error_code unknown;
    if (at->is_directory(unknown)) {
      if (hidden) at.disable_recursion_pending();
    } else if (!hidden && at->is_regular_file(unknown)) {
      files.push_back(at->path());
    }
  }
  if (failed)
    return base::ioError(fmt::format("The folder {} cannot be read: {}.", folder.string(), failed.message()));
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace

base::Result<std::vector<fs::path>> traceFilesOf(const fs::path& path) {
  std::error_code failed;
  const fs::file_status status = fs::status(path, failed);
  if (!fs::exists(status))
    return base::ioError(
        fmt::format("{} does not exist: name a trace or a folder of traces.", path.string()));
  if (!fs::is_directory(status)) return std::vector<fs::path>{path};
  PIPESCOPE_ASSIGN(std::vector<fs::path> files, filesOf(path));
  if (files.empty())
    return base::badInput(
        fmt::format("The folder {} holds no files: name a folder of traces.", path.string()));
  return files;
}

base::Status visitTraceFiles(const fs::path& path, const std::function<base::Status(const TraceFile&)>& visit,
                             std::vector<std::string>& damages, const base::Progress& progress) {
  PIPESCOPE_ASSIGN(const std::vector<fs::path> files, traceFilesOf(path));
  for (const fs::path& file : files) PIPESCOPE_TRY(Walk(file, visit, damages, progress).file());
  return {};
}

}  // namespace pipescope::importing
