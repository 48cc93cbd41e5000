#include "views/pages/parts/trace/trace_menu.h"

#include <QApplication>
#include <QClipboard>
#include <QMenu>

#include "views/pages/parts/data/text.h"
#include "views/pages/parts/trace/trace_details.h"

namespace pipescope::pages {

void addItemActions(QMenu& menu, timeline::TimelineCanvas& canvas, const geometry::TimelineItem& item,
                    const QString& name, shell::PageContext& context) {
  const shell::Selected selected = selectedOf(canvas.scene(), item);
  const QString path = text(canvas.scene().pathOf(item));
  const auto add = [&](const QString& what, bool possible, std::function<void()> run) {
    QAction* action = menu.addAction(what);
    action->setEnabled(possible);
    QObject::connect(action, &QAction::triggered, &canvas, [run = std::move(run)] { run(); });
  };
  const auto show = [&context, selected](const QString& page) {
    context.go({page, {}, -1, {}});
    context.selection.set(selected);
  };
  add(tr("Zoom to (F)"), item.end > item.start,
      [&canvas, item] { canvas.zoomTo(item.start, item.end, 0.1); });
  add(tr("Copy name"), !name.isEmpty(), [name] { QApplication::clipboard()->setText(name); });
  add(tr("Find the same"), !path.isEmpty(), [&context, path] { context.find(path); });
  add(tr("Show in memory"), selected.device.valid(), [show] { show(QStringLiteral("memory")); });
  add(tr("Show in liveness"), selected.program.valid(), [show] { show(QStringLiteral("liveness")); });
  menu.addSeparator();
}

}  // namespace pipescope::pages
