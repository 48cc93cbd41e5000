#include "views/shell/comparison.h"

#include <QFileInfo>
#include <tuple>
#include <utility>

#include "profiler/sections/frame/section.h"
#include "views/shell/background.h"

namespace pipescope::shell {
namespace {

struct ComparedProfile {
  OpenedSource opened;
  std::shared_ptr<const analysis::Catalog> catalog;
};

base::Result<ComparedProfile> openCompared(const std::function<base::Result<OpenedSource>()>& opener) {
  ComparedProfile made;
  PIPESCOPE_ASSIGN(made.opened, opener());
  PIPESCOPE_ASSIGN(made.catalog, analysis::loadCatalog(*made.opened.source));
  return made;
}

}  // namespace

Comparison::Comparison(Opener opener, QObject* parent) : QObject(parent), opener_(std::move(opener)) {}

void Comparison::open(const QString& path) {
  const QFileInfo name(path);  // uses the name only, without reading the disk
  path_ = name.isAbsolute() ? path : name.absoluteFilePath();
  title_ = name.fileName();
  start([opener = opener_, file = path_.toStdString()] { return opener(file); });
}

void Comparison::openSource(OpenedSource source, const QString& title) {
  path_.clear();
  title_ = title;
  start([source = std::move(source)]() -> base::Result<OpenedSource> { return source; });
}

void Comparison::clear() {
  ++generation_;
  opening_ = false;
  drop();
  path_.clear();
  title_.clear();
  error_.clear();
  Q_EMIT changed();
}

/// Lets go of the other profile and of what was computed from it.
void Comparison::drop() {
  dropInBackground(
      std::tuple(std::exchange(opened_, {}), std::exchange(snapshot_, {}), std::exchange(reports_, {})));
}

std::shared_ptr<sections::ReportCache> Comparison::reports(model::ExecutableId executable) {
  std::shared_ptr<sections::ReportCache>& kept = reports_[executable];
  if (!kept) kept = sections::makeReportCache();
  return kept;
}

void Comparison::start(std::function<base::Result<OpenedSource>()> opener) {
  opening_ = true;
  error_.clear();
  const int generation = ++generation_;
  Q_EMIT changed();
  inBackground(
      this, [opener = std::move(opener)] { return openCompared(opener); },
      [this, generation](const base::Result<ComparedProfile>& made) {
        if (generation != generation_) return;
        opening_ = false;
        drop();
        if (made.ok()) {
          opened_ = made->opened;
          snapshot_ = {made->opened.source, made->catalog};
        } else {
          error_ = QString::fromStdString(made.error().message);
        }
        Q_EMIT changed();
      });
}

}  // namespace pipescope::shell
