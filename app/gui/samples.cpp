#include "app/gui/samples.h"

#include <QCoreApplication>
#include <QDateTime>
#include <QDir>
#include <QDirIterator>
#include <QElapsedTimer>
#include <QFile>
#include <QFileInfo>
#include <QPointer>
#include <QProcess>
#include <QStandardPaths>
#include <algorithm>
#include <memory>
#include <utility>

#include "views/shell/background.h"
#include "views/shell/main_window.h"

namespace pipescope::gui {
namespace {

const auto kDemo = QStringLiteral("mnist/pipelined.toml");
const auto kSeconds = QStringLiteral("samples/%1/seconds");

struct Found {
  QString sample, profile;
  bool isFresh = false;  ///< the profile need not be made anew
};

base::Result<Found> find(const SamplePlaces& places, const QString& sample) {
  const std::string failed = "The profile of the sample " + sample.toStdString() + " could not be made: ";
  Found found;
  for (const QString& folder : places.samples) {
    const QString file = QDir(folder).filePath(sample);
    if (found.sample.isEmpty() && QFileInfo::exists(file)) found.sample = file;
  }
  if (found.sample.isEmpty()) return base::ioError(failed + "its file is missing. Install Pipescope again.");
  if (!QDir().mkpath(places.folder))
    return base::ioError(failed + "the folder " + places.folder.toStdString() +
                         " cannot be written to: make it writable, or set XDG_CACHE_HOME to another folder.");
  QString name = QFileInfo(sample).path() + QLatin1Char('-') + QFileInfo(sample).completeBaseName();
  found.profile =
      QDir(places.folder).filePath(name.replace(QLatin1Char('/'), QLatin1Char('-')) + QStringLiteral(".pop"));
  const QFileInfo profile(found.profile);
  found.isFresh = profile.exists() && profile.lastModified() > QFileInfo(places.program).lastModified() &&
                  profile.lastModified() > QFileInfo(found.sample).lastModified();
  return found;
}

using Done = std::shared_ptr<std::function<void(base::Result<QString>)>>;

/// Runs pipescope. QProcess ends its program when it is destroyed, and says so while parts of its owner are
/// gone, so this class says nothing then.
class SampleRun : public QProcess {
 public:
  using QProcess::QProcess;
  SampleRun(const SampleRun&) = delete;
  SampleRun& operator=(const SampleRun&) = delete;
  ~SampleRun() override {
    disconnect();
    kill();
    waitForFinished();
  }
};

void start(QObject* owner, const QString& program, const Found& found, const Done& done) {
  auto* run = new SampleRun(owner);
  run->setProcessChannelMode(QProcess::MergedChannels);
  const std::string failed =
      "The profile of the sample " + found.sample.toStdString() + " could not be made: ";
  QObject::connect(run, &QProcess::errorOccurred, run,
                   [run, program, failed, done](QProcess::ProcessError error) {
                     if (error != QProcess::FailedToStart) return;
                     run->deleteLater();
                     (*done)(base::ioError(failed + program.toStdString() +
                                           " cannot be started: install it beside pipescope-gui, from the "
                                           "same version."));
                   });
  QObject::connect(run, QOverload<int, QProcess::ExitStatus>::of(&QProcess::finished), run,
                   [run, profile = found.profile, failed, done](int status, QProcess::ExitStatus how) {
                     const std::string said = run->readAll().trimmed().toStdString();
                     run->deleteLater();
                     if (status == 0 && how == QProcess::NormalExit) return (*done)(profile);
                     (*done)(base::ioError(failed + (said.empty() ? "the run ended early." : said)));
                   });
  run->start(program, {QStringLiteral("run"), found.sample, QStringLiteral("-o"), found.profile,
                       QStringLiteral("--no-numerics"), QStringLiteral("--progress"), QStringLiteral("off")});
}

/// Makes the cards of the samples, one after the other. It stops while the start page is hidden or waits for
/// a profile, because the user then has other work for the machine.
class Gallery : public QObject {
 public:
  Gallery(shell::MainWindow& window, SamplePlaces places, shell::Opener opener,
          std::vector<shell::Sample> samples)
      : QObject(&window),
        window_(window),
        places_(std::move(places)),
        opener_(std::move(opener)),
        samples_(std::move(samples)) {}

  void makeNext() {
    if (next_ == samples_.size() || busy_ || !window_.home()->isVisible() || window_.session().isOpening())
      return;
    busy_ = true;
    const shell::Sample sample = samples_[next_++];
    QElapsedTimer clock;
    clock.start();
    runSample(this, places_, sample.title, [this, sample, clock](const base::Result<QString>& made) {
      if (!made.ok()) return goOn();  // a click on the card says why
      const QString key = kSeconds.arg(sample.title);
      const double took = static_cast<double>(clock.elapsed()) / 1'000;
      double seconds = window_.settings().value(key, 0).toDouble();
      if (took > seconds) window_.settings().setValue(key, seconds = took);
      shell::inBackground(
          this, [profile = *made, opener = opener_] { return shell::readCard(profile, opener); },
          [this, sample, seconds](shell::ProfileCard&& card) {
            card.sentence = sample.doc;
            card.system = tr("ran in %1 s").arg(std::max(seconds, 0.1), 0, 'f', 1);
            window_.home()->setSampleCard(sample.path, card);
            goOn();
          });
    });
  }

 private:
  void goOn() {
    busy_ = false;
    makeNext();
  }

  shell::MainWindow& window_;
  SamplePlaces places_;
  shell::Opener opener_;
  std::vector<shell::Sample> samples_;
  std::size_t next_ = 0;
  bool busy_ = false;
};

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

SamplePlaces samplePlaces() {
  const QDir beside(QCoreApplication::applicationDirPath());
  SamplePlaces places;
  places.program = beside.filePath(QStringLiteral("pipescope"));
  places.samples = sampleFolders();
  places.folder = QDir(QStandardPaths::writableLocation(QStandardPaths::CacheLocation))
                      .filePath(QStringLiteral("samples"));
  return places;
}

void runSample(QObject* owner, const SamplePlaces& places, const QString& sample,
               std::function<void(base::Result<QString>)> done) {
  const auto told = std::make_shared<std::function<void(base::Result<QString>)>>(std::move(done));
  shell::inBackground(
      owner, [places, sample] { return find(places, sample); },
      [owner, program = places.program, told](base::Result<Found>&& found) {
        if (!found.ok()) return (*told)(found.error());
        if (found->isFresh) return (*told)(found->profile);
        start(owner, program, *found, told);
      });
}

void offerSamples(shell::MainWindow& window, const SamplePlaces& places, const shell::Opener& opener,
                  bool withCards) {
  window.setSampleRunner([&window, places](const QString& sample, shell::MainWindow::SampleMade done) {
    runSample(&window, places, sample.isEmpty() ? kDemo : sample, std::move(done));
  });
  shell::inBackground(
      &window, listSamples, [&window, places, opener, withCards](std::vector<shell::Sample>&& samples) {
        window.home()->setSamples(samples);
        if (!withCards) return;
        auto* gallery = new Gallery(window, places, opener, std::move(samples));
        QObject::connect(window.home(), &shell::Home::shown, gallery, [gallery] { gallery->makeNext(); });
        QObject::connect(&window.session(), &shell::ProfileSession::stateChanged, gallery,
                         [gallery] { gallery->makeNext(); });
        gallery->makeNext();
      });
}

}  // namespace pipescope::gui
