#include "views/pages/parts/trace/trace_menu.h"

#include <QApplication>
#include <QClipboard>
#include <QMenu>

#include "views/pages/parts/data/text.h"
#include "views/pages/parts/tables/row_menu.h"
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
  add(tr("Zoom to (F)"), item.end > item.start,
      [&canvas, item] { canvas.zoomTo(item.start, item.end, 0.1); });
  add(tr("Copy name"), !name.isEmpty(), [name] { QApplication::clipboard()->setText(name); });
  add(tr("Find the same"), !path.isEmpty(), [&context, path] { context.find(path); });
  addPageActions(menu, canvas, selected);
  menu.addSeparator();
}

}  // namespace pipescope::pages
