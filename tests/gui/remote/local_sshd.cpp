#include "local_sshd.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <pwd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <QFile>
#include <QStandardPaths>

namespace pipescope::testing {
namespace {

/// A server that is not root lets in only its own user. Under root that is this user, who has no rights.
constexpr uid_t kNobody = 65534;
uid_t serverUser() {
  return getuid() == 0 ? kNobody : getuid();
}

QString programPath(const char* name, const char* variable = "") {
  if (*variable != '\0' && qEnvironmentVariableIsSet(variable)) return qEnvironmentVariable(variable);
  const QString found = QStandardPaths::findExecutable(QString::fromLatin1(name));
  return found.isEmpty()
             ? QStandardPaths::findExecutable(
                   QString::fromLatin1(name),
                   {QStringLiteral("/usr/sbin"), QStringLiteral("/usr/bin"), QStringLiteral("/sbin")})
             : found;
}

QString sshdPath() {
  return programPath("sshd", "PIPESCOPE_SSHD");
}

int freePort() {
  const int listener = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof address;
  int port = 0;
  if (bind(listener, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0 &&
      getsockname(listener, reinterpret_cast<sockaddr*>(&address), &length) == 0)
    port = ntohs(address.sin_port);
  close(listener);
  return port;
}

void put(const QString& path, const QByteArray& content) {
  QFile file(path);
  if (file.open(QIODevice::WriteOnly)) file.write(content);
}

void give(const QByteArray& path) {
  if (chown(path.constData(), serverUser(), static_cast<gid_t>(-1)) != 0) qFatal("chown fails");
}

QByteArray contentOf(const QString& path) {
  QFile file(path);
  return file.open(QIODevice::ReadOnly) ? file.readAll() : QByteArray();
}

}  // namespace

QString LocalSshd::problem() {
  if (sshdPath().isEmpty()) return QStringLiteral("sshd is missing: install openssh-server");
  for (const char* name : {"ssh", "ssh-keygen"}) {
    if (programPath(name).isEmpty())
      return QStringLiteral("%1 is missing: install openssh-client").arg(QString::fromLatin1(name));
  }
  if (getuid() == 0 && programPath("setpriv").isEmpty())
    return QStringLiteral("setpriv is missing: install util-linux");
  return {};
}

LocalSshd::LocalSshd() {
  chmod(folder().constData(), 0755);
  give(folder());
  makeKey(QStringLiteral("hostkey"));
  give(QFile::encodeName(path(QStringLiteral("hostkey"))));
  makeKey(QStringLiteral("userkey"));
  allow(QStringLiteral("userkey"));
}

LocalSshd::~LocalSshd() {
  stop();
}

void LocalSshd::makeKey(const QString& name, const QString& passphrase) {
  QProcess::execute(programPath("ssh-keygen"),
                    {QStringLiteral("-q"), QStringLiteral("-t"), QStringLiteral("ed25519"),
                     QStringLiteral("-N"), passphrase, QStringLiteral("-f"), path(name)});
}

void LocalSshd::allow(const QString& key) {
  put(path(QStringLiteral("authorized")), contentOf(path(key + QStringLiteral(".pub"))));
}

void LocalSshd::claimHostKey(const QString& key) {
  const QByteArray place = "[127.0.0.1]:" + QByteArray::number(port_) + ' ';
  put(path(QStringLiteral("known")), place + contentOf(path(key + QStringLiteral(".pub"))));
}

bool LocalSshd::start() {
  constexpr int kTries = 5, kPatienceMs = 10'000;
  for (int attempt = 0; attempt < kTries; ++attempt) {
    port_ = freePort();
    const QString configuration = path(QStringLiteral("sshd_config"));
    // PAM does not look into /etc/shadow, which the server may not read.
    put(configuration, QStringLiteral("Port %1\nListenAddress 127.0.0.1\nHostKey %2/hostkey\n"
                                      "AuthorizedKeysFile %2/authorized\nStrictModes no\nUsePAM yes\n"
                                      "PasswordAuthentication no\nKbdInteractiveAuthentication no\n"
                                      "PidFile none\nSubsystem sftp internal-sftp\n"
                                      "ForceCommand internal-sftp\nLogLevel INFO\n")
                           .arg(port_)
                           .arg(folder_.path())
                           .toUtf8());
    QStringList command{sshdPath(), QStringLiteral("-D"), QStringLiteral("-e"), QStringLiteral("-f"),
                        configuration};
    if (getuid() == 0) {
      const QString user = QString::number(kNobody);
      command = QStringList{programPath("setpriv"), QStringLiteral("--reuid=") + user,
                            QStringLiteral("--regid=") + user, QStringLiteral("--clear-groups")} +
                command;
    }
    process_.setProcessChannelMode(QProcess::MergedChannels);
    process_.start(command.first(), command.mid(1));
    QByteArray said;
    while (process_.state() != QProcess::NotRunning && !said.contains("Server listening on")) {
      if (!process_.waitForReadyRead(kPatienceMs)) break;
      said += process_.readAll();
    }
    if (said.contains("Server listening on")) return true;
    stop();
  }
  return false;
}

void LocalSshd::stop() {
  process_.kill();
  process_.waitForFinished();
}

remote::SshProgram LocalSshd::ssh(const QString& more) {
  const passwd* user = getpwuid(serverUser());
  const QString file = path(QStringLiteral("ssh_config%1").arg(configurations_++));
  put(file,
      (more + QStringLiteral("\nUser %1\nIdentityFile %2/userkey\nIdentitiesOnly yes\nIdentityAgent none\n"
                             "UserKnownHostsFile %2/known\nGlobalKnownHostsFile /dev/null\n"
                             "StrictHostKeyChecking accept-new\n")
                  .arg(QString::fromLocal8Bit(user == nullptr ? "nobody" : user->pw_name), folder_.path()))
          .toUtf8());
  return {QStringLiteral("ssh"), {QStringLiteral("-F"), file}};
}

void LocalSshd::write(const QByteArray& name, const QByteArray& content) {
  QFile file(QFile::decodeName(folder() + '/' + name));
  if (!file.open(QIODevice::WriteOnly) || file.write(content) != content.size()) qFatal("write fails");
}

}  // namespace pipescope::testing
