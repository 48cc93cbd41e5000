#include "views/pages/parts/tables/row_menu.h"

#include <QApplication>
#include <QClipboard>
#include <QMenu>
#include <algorithm>
#include <utility>
#include <vector>

#include "views/pages/parts/data/text.h"
#include "views/pages/parts/tables/row_subject.h"
#include "views/shell/main_window.h"

namespace pipescope::pages {
namespace {

using SubjectKind = shell::Selected::Kind;

bool isShown(const shell::Page& page) {
  if (page.showsSelection()) return true;
  const QList<RowSelection*> tables = page.findChildren<RowSelection*>();
  return std::ranges::any_of(tables, [](const RowSelection* table) { return table->isMarked(); });
}

QString nameOf(shell::MainWindow* window, const shell::Selected& subject) {
  if (!subject.name.isEmpty()) return subject.name;
  const shell::ProfileSnapshot* snapshot = window == nullptr ? nullptr : window->session().snapshot();
  const model::Device* device = snapshot == nullptr ? nullptr : snapshot->catalog->device(subject.device);
  if (subject.stage >= 0) return tr("stage %1").arg(subject.stage);
  return device == nullptr ? QString() : text(device->name);
}

/// Pages that can show a subject.
std::vector<std::pair<QString, QString>> pagesFor(const shell::Selected& subject) {
  std::vector<std::pair<QString, QString>> pages;
  const auto add = [&](const char* id, const QString& title) {
    pages.emplace_back(QString::fromLatin1(id), title);
  };
  const bool isNamed = !subject.name.isEmpty() || subject.program.valid(),
             isPlaced = subject.device.valid() || subject.stage >= 0;
  if (isNamed || isPlaced) add("trace", tr("Trace"));
  if (isPlaced && !isNamed) add("pipeline", tr("Pipeline")), add("stages", tr("Stages"));
  if (isPlaced && !isNamed) add("waits", tr("Waits"));
  if (isNamed)
    add("operations", tr("Operations")), add("programs", tr("Programs")), add("graph", tr("Graph"));
  if (isNamed || subject.device.valid()) add("memory", tr("Memory")), add("liveness", tr("Liveness"));
  if (isPlaced && !isNamed && subject.device.valid()) add("system", tr("System"));
  return pages;
}

}  // namespace

void showSubject(QWidget& from, const shell::Selected& subject, const QString& page) {
  auto* window = qobject_cast<shell::MainWindow*>(from.window());
  if (window == nullptr || subject.kind == SubjectKind::none) return;
  shell::Place place;
  place.page = page;
  // A recorded wait has a time, which tells the trace the call to show.
  if (subject.end > subject.start && page == QLatin1String("trace")) place.time = subject.start;
  window->go(place);
  window->selection().set(withDevice(subject, window->session()));
  if (!subject.name.isEmpty())
    window->findOn(page, subject.name, [shown = window->currentPage()] { return isShown(*shown); });
}

void addCopyName(QMenu& menu, QWidget& from, const QString& name) {
  if (name.isEmpty()) return;
  menu.addAction(tr("Copy name"), &from, [name] { QApplication::clipboard()->setText(name); });
}

void addSubjectActions(QMenu& menu, QWidget& from, const shell::Selected& subject) {
  if (subject.kind == SubjectKind::none) return;
  auto* window = qobject_cast<shell::MainWindow*>(from.window());
  addCopyName(menu, from, nameOf(window, subject));
  addPageActions(menu, from, subject);
  menu.addSeparator();
}

void addPageActions(QMenu& menu, QWidget& from, const shell::Selected& subject) {
  const auto* window = qobject_cast<shell::MainWindow*>(from.window());
  if (window == nullptr || subject.kind == SubjectKind::none) return;
  QMenu* pages = menu.addMenu(tr("Show in"));
  for (const auto& [page, title] : pagesFor(subject)) {
    if (page == window->currentPageId()) continue;
    pages->addAction(title, &from, [&from, subject, id = page] { showSubject(from, subject, id); });
  }
}

void popUpSubjectMenu(QWidget& from, const shell::Selected& subject, const QPoint& at) {
  auto* menu = new QMenu(&from);
  menu->setAttribute(Qt::WA_DeleteOnClose);
  addSubjectActions(*menu, from, subject);
  // A chart that can be saved as a picture offers that here, too.
  for (const QWidget* owner = &from; owner != nullptr && !owner->isWindow(); owner = owner->parentWidget()) {
    if (owner->contextMenuPolicy() == Qt::ActionsContextMenu) menu->addActions(owner->actions());
  }
  menu->isEmpty() ? menu->deleteLater() : menu->popup(at);
}

}  // namespace pipescope::pages
