#include "app/gui/demo.h"

#include <QCoreApplication>
#include <QDir>
#include <QDirIterator>
#include <QFile>
#include <QFileInfo>
#include <QProcess>
#include <QStandardPaths>
#include <algorithm>
#include <memory>

#include "views/shell/background.h"

namespace pipescope::gui {
namespace {

struct Found {
  QString sample, profile;
};

base::Result<Found> find(const DemoPlaces& places) {
  Found found;
  for (const QString& folder : places.samples) {
    const QString file = QDir(folder).filePath(QStringLiteral("mnist/pipelined.toml"));
    if (found.sample.isEmpty() && QFileInfo::exists(file)) found.sample = file;
  }
  if (found.sample.isEmpty())
    return base::ioError(
        "The demo profile could not be made: the sample mnist/pipelined.toml is missing. Install Pipescope "
        "again.");
  if (!QDir().mkpath(places.folder))
    return base::ioError("The demo profile could not be made: the folder " + places.folder.toStdString() +
                         " cannot be written to: make it writable, or set XDG_CACHE_HOME to another folder.");
  found.profile = QDir(places.folder).filePath(QStringLiteral("demo.pop"));
  return found;
}

void start(QObject* owner, const QString& program, const Found& found,
           const std::shared_ptr<std::function<void(base::Result<QString>)>>& done) {
  auto* run = new QProcess(owner);
  run->setProcessChannelMode(QProcess::MergedChannels);
  QObject::connect(run, &QProcess::errorOccurred, run, [run, program, done](QProcess::ProcessError error) {
    if (error != QProcess::FailedToStart) return;
    run->deleteLater();
    (*done)(base::ioError("The demo profile could not be made: " + program.toStdString() +
                          " cannot be started: install it beside pipescope-gui, from the same version."));
  });
  QObject::connect(run, QOverload<int, QProcess::ExitStatus>::of(&QProcess::finished), run,
                   [run, profile = found.profile, done](int status, QProcess::ExitStatus how) {
                     const std::string said = run->readAll().trimmed().toStdString();
                     run->deleteLater();
                     if (status == 0 && how == QProcess::NormalExit) return (*done)(profile);
                     (*done)(base::ioError("The demo profile could not be made: " +
                                           (said.empty() ? "the run ended early." : said)));
                   });
  run->start(program, {QStringLiteral("run"), found.sample, QStringLiteral("-o"), found.profile,
                       QStringLiteral("--no-numerics"), QStringLiteral("--progress"), QStringLiteral("off")});
}

}  // namespace

QStringList sampleFolders() {
  const QDir beside(QCoreApplication::applicationDirPath());
  QStringList folders;
  for (const char* place : {"../share/pipescope/samples", "../../samples", "../samples", PIPESCOPE_SAMPLES})
    folders << beside.filePath(QLatin1String(place));
  return folders;
}

std::vector<shell::Sample> listSamples() {
  for (const QString& folder : sampleFolders()) {
    std::vector<shell::Sample> samples;
    for (QDirIterator files(folder, {QStringLiteral("*.toml")}, QDir::Files, QDirIterator::Subdirectories);
         files.hasNext();) {
      const QString path = files.next();
      QFile file(path);
      if (!file.open(QIODevice::ReadOnly)) continue;
      QString doc;
      for (QString line = QString::fromUtf8(file.readLine()); line.startsWith(QLatin1Char('#'));
           line = QString::fromUtf8(file.readLine()))
        doc += line.mid(1).simplified() + QLatin1Char(' ');
      samples.push_back({QDir(folder).relativeFilePath(path), doc.remove(QLatin1Char('`')).trimmed(), path});
    }
    std::sort(samples.begin(), samples.end(),
              [](const shell::Sample& a, const shell::Sample& b) { return a.title < b.title; });
    if (!samples.empty()) return samples;
  }
  return {};
}

DemoPlaces demoPlaces() {
  const QDir beside(QCoreApplication::applicationDirPath());
  DemoPlaces places;
  places.program = beside.filePath(QStringLiteral("pipescope"));
  places.samples = sampleFolders();
  places.folder = QStandardPaths::writableLocation(QStandardPaths::CacheLocation);
  return places;
}

void makeDemo(QObject* owner, const DemoPlaces& places, std::function<void(base::Result<QString>)> done) {
  const auto told = std::make_shared<std::function<void(base::Result<QString>)>>(std::move(done));
  shell::inBackground(
      owner, [places] { return find(places); },
      [owner, program = places.program, told](base::Result<Found>&& found) {
        if (!found.ok()) return (*told)(found.error());
        start(owner, program, *found, told);
      });
}

}  // namespace pipescope::gui
