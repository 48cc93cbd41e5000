#pragma once
// Place of a remote file, and of its copy on this machine.
#include <QString>
#include <optional>

#include "profiler/base/result.h"
#include "views/remote/sftp_packets.h"

namespace pipescope::remote {

struct RemoteHost {
  QString destination;  ///< name as ssh takes it: node7, me@node7, or a Host of ~/.ssh/config
  int port = 0;         ///< 0: what the configuration of ssh says
  friend bool operator==(const RemoteHost&, const RemoteHost&) = default;
};

/// Reads "me@node7" or "me@node7:2222". The error says what is wrong.
base::Result<RemoteHost> parseHost(const QString& text);
QString toString(const RemoteHost& host);

/// A file on a host. The path is bytes, because names need not be UTF-8.
struct RemoteFile {
  RemoteHost host;
  QByteArray path;
  friend bool operator==(const RemoteFile&, const RemoteFile&) = default;
};
/// "me@node7:/home/me/profile.pop"; what cannot be shown is replaced.
QString toString(const RemoteFile& file);
/// A name as people read it: control characters become visible marks.
QString shownName(const QByteArray& name);

/// The copies of remote files in a folder of this machine. Each has the name of its file, and a folder of its
/// own. A copy belongs to the path, size and time of its
/// file, so a file that has changed is fetched again.
class RemoteCache {
 public:
  explicit RemoteCache(QString folder) : folder_(std::move(folder)) {}
  /// The path of the copy, which need not exist.
  QString pathOf(const RemoteFile& file, const SftpAttributes& attributes) const;
  /// True if the copy exists and is whole.
  bool holds(const RemoteFile& file, const SftpAttributes& attributes) const;
  /// Makes the folder; the error says why it cannot be made.
  base::Status makeFolder() const;
  /// Remembers where a copy comes from, and removes the oldest copies.
  void keep(const RemoteFile& file, const QString& copy) const;
  /// The file that a copy comes from; none: the path is no copy.
  std::optional<RemoteFile> originOf(const QString& copy) const;

 private:
  QString folder_;
};

}  // namespace pipescope::remote
