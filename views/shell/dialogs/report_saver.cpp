#include "views/shell/dialogs/report_saver.h"

#include <QFileDialog>
#include <QFileInfo>
#include <QMessageBox>
#include <functional>

#include "profiler/export/html/html.h"
#include "views/shell/comparison.h"
#include "views/shell/dialogs/saved_notice.h"
#include "views/shell/look/picture.h"
#include "views/shell/main_window.h"

namespace pipescope::shell {
namespace {

using PageMaker = std::function<base::Result<std::string>()>;

base::Status makeAndWrite(const PageMaker& make, const QString& path) {
  PIPESCOPE_ASSIGN(const std::string page, make());
  return writeFile(path, QByteArray::fromStdString(page), base::FileKind::report);
}

void askAndSave(MainWindow& window, const QString& name, PageMaker make) {
  const QString profile = window.session().path();
  auto* dialog = new QFileDialog(&window, QObject::tr("Save the report"),
                                 profile.isEmpty() ? QString() : QFileInfo(profile).path(),
                                 QObject::tr("Web page (*.html)"));
  dialog->setAttribute(Qt::WA_DeleteOnClose);
  dialog->setAcceptMode(QFileDialog::AcceptSave);
  dialog->setDefaultSuffix(QStringLiteral("html"));
  dialog->selectFile(name + QStringLiteral(".html"));
  QObject::connect(dialog, &QFileDialog::fileSelected, &window,
                   [&window, make = std::move(make)](const QString& path) {
                     inBackground(
                         &window, [make, path] { return makeAndWrite(make, path); },
                         [&window, path](const base::Status& status) {
                           if (status.ok()) return window.savedNotice()->show(path);
                           QMessageBox::warning(&window, QObject::tr("Save the report"),
                                                QString::fromStdString(status.error().message));
                         });
                   });
  dialog->open();
}

}  // namespace

void saveReport(MainWindow& window) {
  const ProfileSnapshot* snapshot = window.session().snapshot();
  if (snapshot == nullptr) return;
  const QString title = window.session().title();
  askAndSave(window, QFileInfo(title).completeBaseName(),
             [held = *snapshot, executable = window.session().executable(), title] {
               base::SilentProgress progress;
               return exporting::htmlReport({*held.source, *held.catalog, executable}, title.toStdString(),
                                            progress);
             });
}

void saveComparisonReport(MainWindow& window) {
  const ProfileSnapshot *target = window.session().snapshot(), *source = window.comparison().snapshot();
  if (target == nullptr || source == nullptr || source->catalog->executables.empty()) return;
  const model::Executable* own = target->catalog->executable(window.session().executable());
  const auto same = source->catalog->findExecutable(own == nullptr ? std::string() : own->name);
  const model::ExecutableId other = same.ok() ? (*same)->id : source->catalog->executables.front().id;
  const QString before = window.comparison().title(), after = window.session().title();
  askAndSave(
      window,
      QFileInfo(before).completeBaseName() + QStringLiteral("-") + QFileInfo(after).completeBaseName(),
      [one = *source, two = *target, other, executable = window.session().executable(), before, after] {
        return exporting::htmlComparison({*one.source, *one.catalog, other},
                                         {*two.source, *two.catalog, executable}, before.toStdString(),
                                         after.toStdString());
      });
}

}  // namespace pipescope::shell
