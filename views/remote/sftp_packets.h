#pragma once
// The packets of the SFTP protocol, version 3 (draft-ietf-secsh-filexfer-02), as far as listing and reading
// need them.
#include <QByteArray>
#include <optional>

namespace pipescope::remote {

enum class SftpType : quint8 {
  init = 1,
  version = 2,
  open = 3,
  close = 4,
  read = 5,
  fstat = 8,
  opendir = 11,
  readdir = 12,
  realpath = 16,
  stat = 17,
  status = 101,
  handle = 102,
  data = 103,
  name = 104,
  attributes = 105,
};

/// The codes of a status that matter here.
enum class SftpStatus : quint32 { ok = 0, end = 1, noSuchFile = 2, permissionDenied = 3 };

/// Known properties of a file.
struct SftpAttributes {
  qint64 size = -1;      ///< −1: not told
  qint64 modified = -1;  ///< seconds since 1970; −1: not told
  quint32 mode = 0;      ///< type and permissions as in POSIX; 0: not told
  bool isFolder() const { return (mode & 0170000) == 0040000; }
  bool isFile() const { return mode == 0 || (mode & 0170000) == 0100000; }
  friend bool operator==(const SftpAttributes&, const SftpAttributes&) = default;
};

/// Builds a request. Numbers are big-endian, texts have their length before them.
class SftpRequest {
 public:
  explicit SftpRequest(SftpType type) { bytes_.append(static_cast<char>(type)); }
  SftpRequest& number(quint32 value);
  SftpRequest& longNumber(quint64 value);
  SftpRequest& text(const QByteArray& value);
  /// The packet with its length.
  QByteArray packet() const;

 private:
  QByteArray bytes_;
};

/// Reads an answer. After the end of the packet everything is 0 or empty, and ok() is false.
class SftpAnswer {
 public:
  explicit SftpAnswer(QByteArray bytes) : bytes_(std::move(bytes)) {}
  SftpType type();
  quint32 number();
  quint64 longNumber();
  QByteArray text();
  SftpAttributes attributes();
  bool ok() const { return ok_; }

 private:
  const uchar* take(int bytes);
  QByteArray bytes_;
  int at_ = 0;
  bool ok_ = true;
};

/// Cuts a stream of bytes into packets.
class SftpStream {
 public:
  void add(const QByteArray& bytes) { rest_ += bytes; }
  /// The next whole packet without its length, if there is one.
  std::optional<QByteArray> next();
  /// True if the stream is no SFTP: for example, a shell that greets the user.
  bool isForeign() const { return foreign_; }

 private:
  QByteArray rest_;
  bool foreign_ = false;
};

}  // namespace pipescope::remote
