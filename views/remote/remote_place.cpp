#include "views/remote/remote_place.h"

#include <QCryptographicHash>
#include <QDir>
#include <QFile>
#include <QFileInfo>
#include <QJsonDocument>
#include <QJsonObject>
#include <QRegularExpression>
#include <QSaveFile>

namespace pipescope::remote {
namespace {

constexpr int kMostKept = 20;
const auto kOriginSuffix = QStringLiteral(".origin");

/// The last part of a path, with what a name may have on every file system.
QString plainName(const QByteArray& path) {
  QString name = QString::fromUtf8(path.mid(path.lastIndexOf('/') + 1));
  name.replace(QRegularExpression(QStringLiteral("[^A-Za-z0-9._-]")), QStringLiteral("_"));
  while (name.startsWith(QLatin1Char('-')) || name.startsWith(QLatin1Char('.'))) name.remove(0, 1);
  return name.isEmpty() ? QStringLiteral("file") : name.right(60);
}

}  // namespace

base::Result<RemoteHost> parseHost(const QString& text) {
  RemoteHost host;
  host.destination = text.trimmed();
  const int colon = static_cast<int>(host.destination.lastIndexOf(QLatin1Char(':')));
  // An address of IPv6 has several colons, and no port.
  if (colon >= 0 && host.destination.indexOf(QLatin1Char(':')) == colon) {
    bool isNumber = false;
    host.port = host.destination.mid(colon + 1).toInt(&isNumber);
    if (!isNumber || host.port < 1 || host.port > 65535)
      return base::badInput("The port after the colon is a number from 1 to 65535.");
    host.destination.truncate(colon);
  }
  if (host.destination.isEmpty()) return base::badInput("Name the host: node7, me@node7 or me@node7:2222.");
  static const QRegularExpression possible(
      QStringLiteral("^[^\\s\\x00-\\x1F'\"`$;&|<>()\\\\-]"
                     "[^\\s\\x00-\\x1F'\"`$;&|<>()\\\\]*$"));
  if (!possible.match(host.destination).hasMatch())
    return base::badInput("\"" + host.destination.toStdString() +
                          "\" is no host: write node7, me@node7 or me@node7:2222.");
  return host;
}

QString toString(const RemoteHost& host) {
  return host.port == 0 ? host.destination : QStringLiteral("%1:%2").arg(host.destination).arg(host.port);
}

QString toString(const RemoteFile& file) {
  return toString(file.host) + QLatin1Char(':') + shownName(file.path);
}

QString shownName(const QByteArray& name) {
  QString shown = QString::fromUtf8(name);
  for (QChar& letter : shown) {
    // The marks for control characters of Unicode have the same order.
    if (letter < QLatin1Char(' ')) letter = QChar(0x2400 + letter.unicode());
    if (letter == QChar(0x7F)) letter = QChar(0x2421);
  }
  return shown;
}

QString RemoteCache::pathOf(const RemoteFile& file, const SftpAttributes& attributes) const {
  QCryptographicHash hash(QCryptographicHash::Sha256);
  hash.addData(toString(file.host).toUtf8() + '\0' + file.path + '\0');
  hash.addData(QByteArray::number(attributes.size) + ' ' + QByteArray::number(attributes.modified));
  return QDir(folder_).filePath(QString::fromLatin1(hash.result().toHex().left(16)) + QLatin1Char('/') +
                                plainName(file.path));
}

bool RemoteCache::holds(const RemoteFile& file, const SftpAttributes& attributes) const {
  const QFileInfo copy(pathOf(file, attributes));
  return attributes.size >= 0 && attributes.modified >= 0 && copy.isFile() && copy.size() == attributes.size;
}

base::Status RemoteCache::makeFolder() const {
  if (QDir().mkpath(folder_)) return {};
  return base::ioError("Nothing can be fetched, because the folder " + folder_.toStdString() +
                       " cannot be made.");
}

void RemoteCache::keep(const RemoteFile& file, const QString& copy) const {
  QSaveFile origin(copy + kOriginSuffix);
  if (origin.open(QIODevice::WriteOnly)) {
    const QJsonObject facts{{QStringLiteral("destination"), file.host.destination},
                            {QStringLiteral("port"), file.host.port},
                            {QStringLiteral("path"), QString::fromLatin1(file.path.toHex())}};
    origin.write(QJsonDocument(facts).toJson());
    origin.commit();
  }
  // Newest first. Copies that older versions fetched lie in the folder itself.
  const QFileInfoList kept =
      QDir(folder_).entryInfoList(QDir::Files | QDir::Dirs | QDir::NoDotAndDotDot, QDir::Time);
  int copies = 0;
  for (const QFileInfo& each : kept) {
    if (each.absoluteFilePath() == QFileInfo(copy).absolutePath()) continue;
    if (each.isDir() && ++copies < kMostKept) continue;
    if (each.isDir()) {
      QDir(each.filePath()).removeRecursively();
    } else {
      QFile::remove(each.filePath());
    }
  }
}

std::optional<RemoteFile> RemoteCache::originOf(const QString& copy) const {
  if (QFileInfo(QFileInfo(copy).absolutePath()).absolutePath() != QFileInfo(folder_).absoluteFilePath())
    return {};
  QFile origin(copy + kOriginSuffix);
  if (!origin.open(QIODevice::ReadOnly)) return {};
  const QJsonObject facts = QJsonDocument::fromJson(origin.readAll()).object();
  RemoteFile file;
  file.host.destination = facts[QStringLiteral("destination")].toString();
  file.host.port = facts[QStringLiteral("port")].toInt();
  file.path = QByteArray::fromHex(facts[QStringLiteral("path")].toString().toLatin1());
  if (file.host.destination.isEmpty() || file.path.isEmpty()) return {};
  return file;
}

}  // namespace pipescope::remote
