#include "views/workbench/child_run.h"

#include <QDir>
#include <QFile>
#include <QFileInfo>
#include <QJsonDocument>
#include <QJsonObject>
#include <QProcess>
#include <csignal>

#include "profiler/base/files/output_file.h"
#include "views/shell/background.h"
#include "views/workbench/predictor.h"

namespace pipescope::workbench {
namespace {

constexpr int kLookMs = 100, kEndMs = 3000, kMostNames = 10'000;

struct RunFiles {
  QString configuration, profile;
};

/// Writes the configuration under a name that neither a configuration nor a profile of the folder has.
base::Result<RunFiles> prepareFiles(const RunRequest& request) {
  const QDir folder(request.folder);
  const std::string shown = request.folder.toStdString();
  if (!QDir().mkpath(request.folder))
    return base::ioError("The run cannot start, because the folder " + shown + " cannot be made.");
  for (int number = 1; number < kMostNames; ++number) {
    const QString name = number == 1 ? request.name : QStringLiteral("%1-%2").arg(request.name).arg(number);
    const RunFiles files{folder.filePath(name + QStringLiteral(".toml")),
                         folder.filePath(name + QStringLiteral(".pop"))};
    if (QFileInfo::exists(files.configuration) || QFileInfo::exists(files.profile)) continue;
    PIPESCOPE_ASSIGN(base::OutputFile file,
                     base::OutputFile::create(QFile::encodeName(files.configuration).toStdString(),
                                              base::FileKind::plan, {}));
    PIPESCOPE_TRY(file.write(request.toml.toStdString()));
    PIPESCOPE_TRY(file.close());
    return files;
  }
  return base::ioError("The folder " + shown + " holds too many runs of the name " +
                       request.name.toStdString() + ": choose another folder.");
}

}  // namespace

QString nameOf(RunState state) {
  switch (state) {
    case RunState::preparing:
      return QObject::tr("starting");
    case RunState::running:
      return QObject::tr("running");
    case RunState::stopping:
      return QObject::tr("stopping");
    case RunState::complete:
      return QObject::tr("complete");
    case RunState::stopped:
      return QObject::tr("stopped");
    case RunState::failed:
      break;
  }
  return QObject::tr("failed");
}

ChildRun::ChildRun(RunRequest request, QObject* parent) : QObject(parent), request_(std::move(request)) {
  look_.setInterval(kLookMs);
  connect(&look_, &QTimer::timeout, this, &ChildRun::lookForProfile);
}

ChildRun::~ChildRun() {
  if (process_.isNull() || process_->state() == QProcess::NotRunning) return;
  process_->disconnect();
  ::kill(static_cast<pid_t>(process_->processId()), SIGINT);
  if (!process_->waitForFinished(kEndMs)) process_->kill();
  process_->waitForFinished(kEndMs);
}

void ChildRun::start() {
  shell::inBackground(
      this, [request = request_] { return prepareFiles(request); },
      [this](const base::Result<RunFiles>& files) {
        if (state_ == RunState::stopping) {
          state_ = RunState::stopped;
          sentence_ = tr("Stopped before it began.");
          Q_EMIT changed();
          Q_EMIT ended();
          return;
        }
        if (!files.ok()) return fail(QString::fromStdString(files.error().message));
        configuration_ = files->configuration;
        profile_ = files->profile;
        launch();
      });
}

void ChildRun::launch() {
  process_ = new QProcess(this);
  process_->setProcessChannelMode(QProcess::MergedChannels);
  connect(process_, &QProcess::readyRead, this, &ChildRun::readOutput);
  connect(process_, &QProcess::errorOccurred, this, [this](QProcess::ProcessError error) {
    if (error == QProcess::FailedToStart)
      fail(tr("The run cannot start, because %1 cannot be started: install it beside pipescope-gui, from the "
              "same version.")
               .arg(request_.program));
  });
  connect(process_, QOverload<int, QProcess::ExitStatus>::of(&QProcess::finished), this,
          [this](int status, QProcess::ExitStatus how) { finish(status, how == QProcess::NormalExit); });
  state_ = RunState::running;
  activity_ = tr("starting");
  process_->start(request_.program, {QStringLiteral("run"), configuration_, QStringLiteral("-o"), profile_,
                                     QStringLiteral("--progress"), QStringLiteral("json")});
  look_.start();
  Q_EMIT changed();
}

void ChildRun::stop() {
  if (isOver(state_)) return;
  if (process_ && process_->processId() > 0)
    ::kill(static_cast<pid_t>(process_->processId()), state_ == RunState::stopping ? SIGKILL : SIGINT);
  state_ = RunState::stopping;
  Q_EMIT changed();
}

void ChildRun::readOutput() {
  rest_ += process_->readAll();
  for (int end = rest_.indexOf('\n'); end >= 0; end = rest_.indexOf('\n')) {
    readLine(rest_.left(end));
    rest_.remove(0, end + 1);
  }
}

void ChildRun::readLine(const QByteArray& line) {
  const QJsonObject progress = QJsonDocument::fromJson(line).object();
  if (progress.contains(QStringLiteral("fraction"))) {
    fraction_ = progress[QStringLiteral("fraction")].toDouble();
    activity_ = progress[QStringLiteral("what")].toString();
    Q_EMIT changed();
    return;
  }
  const QString text = QString::fromUtf8(line).trimmed();
  if (text.isEmpty()) return;
  log_ += text + QLatin1Char('\n');
  Q_EMIT logged();
}

void ChildRun::lookForProfile() {
  if (hasProfile_ || looking_) return;
  looking_ = true;
  shell::inBackground(
      this, [profile = profile_] { return QFileInfo::exists(profile); },
      [this](bool exists) {
        looking_ = false;
        if (!exists || hasProfile_) return;
        hasProfile_ = true;
        look_.stop();
        Q_EMIT profileStarted();
      });
}

void ChildRun::finish(int status, bool normally) {
  readOutput();
  if (!rest_.isEmpty()) readLine(rest_);
  rest_.clear();
  look_.stop();
  process_->deleteLater();
  process_.clear();
  const QString last = sentenceOf(log_.toUtf8());
  if (normally && status == 0) {
    state_ = RunState::complete;
    fraction_ = 1;
  } else if (state_ == RunState::stopping) {
    state_ = RunState::stopped;
    sentence_ = normally && !last.isEmpty() ? last : tr("The run was ended.");
  } else {
    state_ = RunState::failed;
    sentence_ = !normally ? tr("The run ended early: its process was ended from outside, or it crashed.")
                : last.isEmpty() ? tr("The run failed with exit status %1 and did not say why.").arg(status)
                                 : last;
  }
  activity_ = nameOf(state_);
  lookForProfile();
  Q_EMIT changed();
  Q_EMIT ended();
}

void ChildRun::fail(const QString& sentence) {
  look_.stop();
  if (process_) process_->deleteLater();
  process_.clear();
  state_ = RunState::failed;
  sentence_ = sentence;
  activity_ = nameOf(state_);
  log_ += sentence + QLatin1Char('\n');
  Q_EMIT logged();
  Q_EMIT changed();
  Q_EMIT ended();
}

}  // namespace pipescope::workbench
