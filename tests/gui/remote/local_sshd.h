#pragma once
// An SSH server on the loopback interface with keys of its own in a temporary folder.
#include <QProcess>
#include <QString>
#include <QTemporaryDir>

#include "views/remote/sftp_session.h"

namespace pipescope::testing {

class LocalSshd {
 public:
  /// Reason why the server cannot run here; empty if it can.
  static QString problem();

  LocalSshd();
  ~LocalSshd();
  bool start();
  void stop();

  remote::RemoteHost host() const { return {QStringLiteral("127.0.0.1"), port_}; }
  /// ssh with the user's key of the server and a file of known hosts of its own. `more` are lines for its
  /// configuration, which come first.
  remote::SshProgram ssh(const QString& more = {});
  /// A file below the folder; the server's user can read it.
  QString path(const QString& name) const { return folder_.filePath(name); }
  QByteArray folder() const { return folder_.path().toUtf8(); }
  /// Writes a file for the server's user.
  void write(const QByteArray& name, const QByteArray& content);
  /// Makes a pair of keys; a passphrase protects the private one.
  void makeKey(const QString& name, const QString& passphrase = {});
  /// Lets the user in with this key only.
  void allow(const QString& key);
  /// Claims in the file of known hosts that the server has this key.
  void claimHostKey(const QString& key);

 private:
  QTemporaryDir folder_;
  QProcess process_;
  int port_ = 0, configurations_ = 0;
};

}  // namespace pipescope::testing
