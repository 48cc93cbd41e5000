#include "app/gui/import_trace.h"

#include <QCoreApplication>
#include <QCryptographicHash>
#include <QDateTime>
#include <QDir>
#include <QDirIterator>
#include <QFile>
#include <QFileInfo>
#include <QJsonDocument>
#include <QJsonObject>
#include <QProcess>
#include <QStandardPaths>

namespace pipescope::gui {
namespace {

constexpr int kMostKept = 20;

QStringList filesAt(const QString& path) {
  if (!QFileInfo(path).isDir()) return {path};
  QStringList files;
  for (QDirIterator at(path, QDir::Files, QDirIterator::Subdirectories); at.hasNext();) files << at.next();
  files.sort();
  return files;
}

/// Removes the profiles that were made longest ago.
void removeOldest(const QString& folder) {
  const QFileInfoList kept =
      QDir(folder).entryInfoList({QStringLiteral("*.pop")}, QDir::Files, QDir::Time);  // newest first
  for (int i = kMostKept; i < kept.size(); ++i) QFile::remove(kept[i].filePath());
}

/// The output of the import: lines of progress as JSON, and sentences.
class ImportOutput {
 public:
  ImportOutput(QString name, const std::function<void(const QString&)>& tell)
      : name_(std::move(name)), tell_(tell) {}

  void add(const QByteArray& bytes) {
    rest_ += bytes;
    for (int end = rest_.indexOf('\n'); end >= 0; end = rest_.indexOf('\n')) {
      line(rest_.left(end));
      rest_.remove(0, end + 1);
    }
  }
  /// The last sentence that is no remark.
  QString sentence() const { return sentence_; }

 private:
  void line(const QByteArray& text) {
    const QJsonObject progress = QJsonDocument::fromJson(text).object();
    if (progress.contains(QStringLiteral("fraction"))) {
      const int percent = static_cast<int>(100 * progress[QStringLiteral("fraction")].toDouble());
      return tell_(
          QCoreApplication::translate("pipescope::gui", "Importing %1: %2 %").arg(name_).arg(percent));
    }
    const QString said = QString::fromUtf8(text).trimmed();
    if (!said.isEmpty() && !said.startsWith(QStringLiteral("note: "))) sentence_ = said;
  }

  const QString name_;
  const std::function<void(const QString&)>& tell_;
  QByteArray rest_;
  QString sentence_;
};

}  // namespace

ImportPlaces importPlaces() {
  return {QDir(QCoreApplication::applicationDirPath()).filePath(QStringLiteral("pipescope")),
          QDir(QStandardPaths::writableLocation(QStandardPaths::CacheLocation))
              .filePath(QStringLiteral("imports"))};
}

bool mayBeTrace(const std::string& path) {
  for (const QString& name : filesAt(QString::fromStdString(path))) {
    QFile file(name);
    if (!file.open(QIODevice::ReadOnly)) continue;
    const QByteArray head = file.read(16);
    // A name of its own says that it was meant as a profile, however damaged it is.
    if (!head.isEmpty() && !head.startsWith("SQLite format 3") && !name.endsWith(QStringLiteral(".pop")))
      return true;
  }
  return false;
}

QString importedName(const std::string& path) {
  const QFileInfo asked(QString::fromStdString(path));
  QCryptographicHash hash(QCryptographicHash::Sha256);
  hash.addData(asked.absoluteFilePath().toUtf8());
  hash.addData(QCoreApplication::applicationVersion().toUtf8());
  for (const QString& name : filesAt(asked.absoluteFilePath())) {
    const QFileInfo file(name);
    hash.addData(name.toUtf8());
    hash.addData(QByteArray::number(file.size()) + ' ' +
                 QByteArray::number(file.lastModified().toMSecsSinceEpoch()) + '\n');
  }
  const QString stem = asked.fileName().section(QLatin1Char('.'), 0, 0).left(60);
  return stem + QLatin1Char('-') + QString::fromLatin1(hash.result().toHex().left(12)) +
         QStringLiteral(".pop");
}

base::Result<std::string> importTrace(const std::string& path, const ImportPlaces& places,
                                      const std::function<void(const QString&)>& tell,
                                      const std::function<bool()>& stopped) {
  constexpr int kLookMs = 50, kEndMs = 2000;
  const QString profile = QDir(places.cache).filePath(importedName(path));
  if (QFileInfo::exists(profile)) return profile.toStdString();
  if (!QDir().mkpath(places.cache))
    return base::ioError("The trace cannot be imported, because the folder " + places.cache.toStdString() +
                         " cannot be written to: make it writable, or set XDG_CACHE_HOME to another folder.");
  const QString unfinished = profile + QStringLiteral(".importing");
  ImportOutput output(QFileInfo(QString::fromStdString(path)).fileName(), tell);
  QProcess process;
  process.setProcessChannelMode(QProcess::MergedChannels);
  process.start(places.program,
                {QStringLiteral("import"), QString::fromStdString(path), QStringLiteral("-o"), unfinished,
                 QStringLiteral("--overwrite"), QStringLiteral("--progress"), QStringLiteral("json")});
  if (!process.waitForStarted())
    return base::ioError("The trace cannot be imported, because " + places.program.toStdString() +
                         " cannot be started: install it beside pipescope-gui, from the same version.");
  while (!process.waitForFinished(kLookMs) && process.state() != QProcess::NotRunning) {
    output.add(process.readAll());
    if (!stopped()) continue;
    process.terminate();
    if (!process.waitForFinished(kEndMs)) process.kill();
    QFile::remove(unfinished);
    return base::cancelled("The import of the trace was stopped.");
  }
  output.add(process.readAll() + '\n');
  tell({});
  if (process.exitStatus() == QProcess::NormalExit && process.exitCode() == 0 &&
      QFile::rename(unfinished, profile)) {
    removeOldest(places.cache);
    return profile.toStdString();
  }
  QFile::remove(unfinished);
  QString said = output.sentence();
  if (said.startsWith(QStringLiteral("pipescope: "))) said.remove(0, 11);
  return base::badInput(said.isEmpty() ? path + " could not be imported: the import ended early."
                                       : said.toStdString());
}

}  // namespace pipescope::gui
