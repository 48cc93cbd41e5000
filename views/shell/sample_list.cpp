#include "views/shell/sample_list.h"

#include <QMenu>

namespace pipescope::shell {

QMenu* SampleList::makeMenu(const QListWidgetItem& item) {
  auto* menu = new QMenu(this);
  const QString path = pathOf(item);
  menu->addAction(tr("Run and open"), this, [this, path] { Q_EMIT openWanted(path); });
  menu->addAction(tr("Edit in the workbench"), this, [this, path] { Q_EMIT editWanted(path); });
  return menu;
}

}  // namespace pipescope::shell
