#pragma once
#include <QFile>
#include <QHash>
#include <QObject>
#include <QProcess>
#include <functional>
#include <memory>
#include <vector>

#include "views/remote/remote_place.h"
#include "views/remote/sftp_packets.h"

namespace pipescope::remote {

/// Command that starts ssh.
struct SshProgram {
  QString program = QStringLiteral("ssh");
  QStringList options = {};                  ///< options before the destination, such as -F and a file
  QHash<QString, QString> environment = {};  ///< added to that of this process, such as SSH_ASKPASS
};

struct RemoteEntry {
  QByteArray name;
  SftpAttributes attributes;
};

/// A connection to a host by the system's ssh, which uses its own configuration: keys, agent, jumps, known
/// hosts. It never sees a password; ssh asks for what it needs with the program in SSH_ASKPASS. One request
/// is under way at a time. All functions return at once, and a signal tells what came of them.
class SftpSession : public QObject {
  Q_OBJECT

 public:
  SftpSession(SshProgram ssh, RemoteCache cache, QObject* parent = nullptr);
  /// Ends the connection. A file that is being fetched is dropped.
  ~SftpSession() override;

  void connectTo(const RemoteHost& host);
  /// Lists a folder; "." is the folder in which the host begins.
  void list(const QByteArray& folder);
  /// Makes a copy of a file, unless the cache holds one.
  void fetch(const QByteArray& path);
  /// Ends what is under way, and the connection with it.
  void cancel();

  const RemoteHost& host() const { return host_; }
  bool isConnected() const { return ready_; }
  bool isBusy() const { return task_ != Task::none; }

 Q_SIGNALS:
  void connected();
  /// Folders first, then by name. `folder` is the whole path.
  void listed(const QByteArray& folder, const std::vector<RemoteEntry>& entries);
  void progressed(qint64 done, qint64 all);
  void fetched(const QString& copy, bool wasKept);
  /// A request failed, and the connection goes on.
  void refused(const QString& sentence);
  /// The connection has ended.
  void ended(const QString& sentence);

 private:
  enum class Task { none, connecting, listing, fetching };
  using Handler = std::function<void(SftpAnswer&, SftpType)>;
  struct Listing;
  struct Fetching;

  void readMore();
  void take(const QByteArray& packet);
  void send(SftpType type, const std::function<void(SftpRequest&)>& fill, Handler handler);
  void finish();
  void refuse(const QString& sentence);
  void end(const QString& sentence);
  QString reason() const;

  void readFolder();
  void addEntries(SftpAnswer& answer);
  void openFile(const SftpAttributes& attributes);
  void readFile();
  void addData(qint64 offset, quint32 wanted, SftpAnswer& answer, SftpType type);
  void checkUnchanged();
  void closeHandle(const QByteArray& handle);
  QString statusSentence(SftpAnswer& answer, SftpType type, const QString& what) const;

  SshProgram ssh_;
  RemoteCache cache_;
  RemoteHost host_;
  QProcess process_;
  SftpStream stream_;
  QByteArray said_;  ///< text that ssh wrote for people
  QHash<quint32, Handler> waiting_;
  quint32 next_ = 1;
  Task task_ = Task::none;
  bool ready_ = false, ended_ = true;
  std::unique_ptr<Listing> listing_;
  std::unique_ptr<Fetching> fetching_;
};

}  // namespace pipescope::remote
