#include "views/shell/profile_session.h"

#include <QDateTime>
#include <QFileInfo>
#include <QPointer>
#include <utility>

#include "profiler/sections/frame/section.h"
#include "views/shell/background.h"

namespace pipescope::shell {
namespace {
constexpr int kRefreshMs = 1000;
}  // namespace

struct ProfileSession::Attempt {
  OpenedSource opened;
  std::shared_ptr<const analysis::Catalog> catalog;
  std::string error;
  bool unchanged = false;
  Stamp stamp;
};

ProfileSession::ProfileSession(Opener opener, QObject* parent) : QObject(parent), opener_(std::move(opener)) {
  timer_.setInterval(kRefreshMs);
  connect(&timer_, &QTimer::timeout, this, &ProfileSession::poll);
  watch_.setInterval(kRefreshMs);
  connect(&watch_, &QTimer::timeout, this, &ProfileSession::watch);
}

ProfileSession::Stamp ProfileSession::stampOf(const QString& path) {
  const QFileInfo file(path);
  if (path.isEmpty() || !file.exists()) return {};
  return {true, file.size(), file.lastModified().toMSecsSinceEpoch()};
}

void ProfileSession::open(const QString& path, const QString& executable) {
  const QFileInfo name(path);  // uses the name only, without reading the disk
  path_ = name.isAbsolute() ? path : name.absoluteFilePath();
  title_ = name.fileName();
  start([opener = opener_, file = path_.toStdString()] { return opener(file); }, executable);
}

void ProfileSession::openSource(OpenedSource source, const QString& title) {
  path_.clear();
  title_ = title;
  start([source = std::move(source)]() -> base::Result<OpenedSource> { return source; }, {});
}

void ProfileSession::reload() {
  if (path_.isEmpty()) return;
  const model::Executable* row = snapshot() != nullptr ? snapshot_.catalog->executable(executable_) : nullptr;
  open(path_, row != nullptr ? QString::fromStdString(row->name) : QString());
}

void ProfileSession::start(std::function<base::Result<OpenedSource>()> opener, const QString& executable) {
  timer_.stop();
  watch_.stop();
  opening_ = true;
  error_.clear();
  const int generation = ++generation_;
  Q_EMIT stateChanged();
  inBackground(
      this,
      [opener = std::move(opener), path = path_] {
        Attempt attempt;
        attempt.stamp = stampOf(path);
        base::Result<OpenedSource> opened = opener();
        if (!opened.ok()) {
          attempt.error = opened.error().message;
          return attempt;
        }
        attempt.opened = *std::move(opened);
        if (!attempt.opened.path.empty())
          attempt.stamp = stampOf(QString::fromStdString(attempt.opened.path));
        auto catalog = analysis::loadCatalog(*attempt.opened.source);
        if (catalog.ok()) {
          attempt.catalog = *catalog;
        } else {
          attempt.error = catalog.error().message;
        }
        return attempt;
      },
      [this, generation, executable](const Attempt& attempt) {
        if (generation != generation_) return;
        finish(attempt, executable);
      });
}

void ProfileSession::share(const ProfileSnapshot& snapshot, const QString& title) {
  ++generation_;
  opened_ = {snapshot.source, {}, {}};
  show(snapshot);
  shownPath_ = path_;
  title_ = shownTitle_ = title;
  executable_ = snapshot_.catalog->executables.empty() ? model::ExecutableId()
                                                       : snapshot_.catalog->executables.front().id;
  Q_EMIT opened();
  Q_EMIT stateChanged();
}

void ProfileSession::finish(const Attempt& attempt, const QString& executable) {
  opening_ = false;
  if (!attempt.catalog) {
    watchFrom(attempt.stamp);
    return fail(QString::fromStdString(attempt.error));
  }
  dropInBackground(std::exchange(opened_, attempt.opened));  // drops also what the source keeps of the file
  if (!opened_.path.empty()) {
    const QFileInfo file(QString::fromStdString(opened_.path));
    path_ = file.isAbsolute() ? file.filePath() : file.absoluteFilePath();
    title_ = opened_.title.empty() ? file.fileName() : QString::fromStdString(opened_.title);
  }
  shownPath_ = path_;
  shownTitle_ = title_;
  show({attempt.opened.source, attempt.catalog});
  executable_ = snapshot_.catalog->executables.empty() ? model::ExecutableId()
                                                       : snapshot_.catalog->executables.front().id;
  watchFrom(attempt.stamp);
  const auto wanted = snapshot_.catalog->findExecutable(executable.toStdString());
  if (wanted.ok()) executable_ = (*wanted)->id;
  if (!executable.isEmpty() && !wanted.ok()) error_ = QString::fromStdString(wanted.error().message);
  if (snapshot_.catalog->state.state == model::ProfileState::running) {
    timer_.start();
    watch_.stop();  // a running profile changes all the time
  }
  Q_EMIT opened();
  Q_EMIT stateChanged();
}

/// A file that cannot be opened leaves the profile that is shown, so its name stays, too.
QString ProfileSession::folder() const {
  if (snapshot() != nullptr && !opened_.folder.empty()) return QString::fromStdString(opened_.folder);
  return path().isEmpty() ? QString() : QFileInfo(path()).path();
}

QString ProfileSession::path() const {
  return snapshot() != nullptr ? shownPath_ : path_;
}
QString ProfileSession::title() const {
  return snapshot() != nullptr ? shownTitle_ : title_;
}

/// Reports of an older snapshot are out of date.
void ProfileSession::show(ProfileSnapshot snapshot) {
  dropInBackground(std::pair(std::exchange(snapshot_, std::move(snapshot)),
                             std::exchange(reports_, sections::makeReportCache())));
}

void ProfileSession::fail(const QString& sentence) {
  error_ = sentence;
  Q_EMIT stateChanged();
}

/// Checks whether a growing profile has more, and reads it.
void ProfileSession::poll() {
  if (polling_ || opening_ || !snapshot_.catalog) return;
  polling_ = true;
  inBackground(
      this,
      [opened = opened_, revision = snapshot_.catalog->revision, path = path_] {
        Attempt attempt;
        attempt.stamp = stampOf(path);
        if (opened.refresh) {
          if (const auto moved = opened.refresh(); !moved.ok()) attempt.error = moved.error().message;
        }
        if (attempt.error.empty()) {
          attempt.unchanged = opened.source->revision() == revision;
          const auto state = opened.source->state();
          if (state.ok() && state->state != model::ProfileState::running) attempt.unchanged = false;
        }
        if (!attempt.error.empty() || attempt.unchanged) return attempt;
        auto catalog = analysis::loadCatalog(*opened.source);
        if (catalog.ok()) {
          attempt.catalog = *catalog;
        } else {
          attempt.error = catalog.error().message;
        }
        return attempt;
      },
      [this, generation = generation_](const Attempt& attempt) {
        polling_ = false;
        if (generation != generation_ || attempt.unchanged) return;
        if (!attempt.catalog) {
          timer_.stop();
          watchFrom(attempt.stamp);
          return fail(QString::fromStdString(attempt.error));
        }
        show({snapshot_.source, attempt.catalog});
        if (!executable_.valid() && !snapshot_.catalog->executables.empty())
          executable_ = snapshot_.catalog->executables.front().id;
        if (snapshot_.catalog->state.state != model::ProfileState::running) {
          timer_.stop();
          watchFrom(attempt.stamp);
        }
        Q_EMIT grown();
        Q_EMIT stateChanged();
      });
}

void ProfileSession::watchFrom(const Stamp& stamp) {
  if (path_.isEmpty()) return;
  stamp_ = changed_ = stamp;
  watch_.start();
}

/// Opens the file again once it is another one and has not changed for a while, because a run commits more
/// than once.
void ProfileSession::watch() {
  if (watching_ || opening_) return;
  watching_ = true;
  inBackground(
      this, [path = path_] { return stampOf(path); },
      [this, generation = generation_](const Stamp& now) {
        watching_ = false;
        if (generation != generation_ || opening_ || !watch_.isActive() || now == stamp_) return;
        const bool settled = now == changed_;
        changed_ = now;
        if (settled) reload();
      });
}

void ProfileSession::keepNotes(QObject* context, std::vector<model::Note> notes,
                               std::function<void(const base::Status&)> done) {
  if (!opened_.keepNotes) return done(base::badInput("Notes cannot be kept in this profile."));
  const auto stamp = std::make_shared<Stamp>();
  watch_.stop();  // this process changes the file now
  inBackground(
      this,
      [opened = opened_, notes = std::move(notes), path = path_, stamp]() -> base::Status {
        PIPESCOPE_TRY(opened.keepNotes(notes));
        if (opened.refresh) {
          PIPESCOPE_TRY(opened.refresh());
        }
        *stamp = stampOf(path);
        return {};
      },
      [this, guard = QPointer<QObject>(context), stamp, done = std::move(done)](const base::Status& status) {
        if (!opening_ && snapshot_.catalog && snapshot_.catalog->state.state != model::ProfileState::running)
          watchFrom(stamp->exists ? *stamp : stamp_);
        if (!guard.isNull()) done(status);
      });
}

void ProfileSession::setExecutable(model::ExecutableId executable) {
  if (executable == executable_ || snapshot() == nullptr ||
      snapshot_.catalog->executable(executable) == nullptr)
    return;
  executable_ = executable;
  reports_ = sections::makeReportCache();
  Q_EMIT executableChanged();
}

bool ProfileSession::setExecutableByName(const QString& name) {
  if (snapshot() == nullptr) return false;
  const auto found = snapshot_.catalog->findExecutable(name.toStdString());
  if (!found.ok()) return false;
  setExecutable((*found)->id);
  return true;
}

}  // namespace pipescope::shell
