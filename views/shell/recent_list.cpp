#include "views/shell/recent_list.h"

#include <QDragEnterEvent>
#include <QMimeData>
#include <QUrl>

namespace pipescope::shell {

RecentList::RecentList(QWidget* parent) : QListWidget(parent) {
  setDragEnabled(true);
  setAcceptDrops(true);
  setDropIndicatorShown(true);
  setDragDropMode(QAbstractItemView::DragDrop);
  setDefaultDropAction(Qt::CopyAction);
}

void RecentList::add(const QString& text, const QString& path, const QString& tip) {
  auto* item = new QListWidgetItem(text, this);
  item->setData(Qt::UserRole, path);
  item->setToolTip(tip);
}

QString RecentList::pathOf(const QListWidgetItem& item) {
  return item.data(Qt::UserRole).toString();
}

QMimeData* RecentList::mimeData(const QList<QListWidgetItem*> items) const {
  auto* dragged = new QMimeData;
  QList<QUrl> files;
  for (const QListWidgetItem* item : items) files << QUrl::fromLocalFile(pathOf(*item));
  dragged->setUrls(files);
  return dragged;
}

/// The profile under the pointer, if the dragged file is another one.
QListWidgetItem* RecentList::targetOf(const QDropEvent& event) const {
  QListWidgetItem* item = itemAt(event.pos());
  const QList<QUrl> files = event.mimeData()->urls();
  if (item == nullptr || files.size() != 1 || !files.front().isLocalFile()) return nullptr;
  return files.front().toLocalFile() == pathOf(*item) ? nullptr : item;
}

void RecentList::dragEnterEvent(QDragEnterEvent* event) {
  if (event->mimeData()->hasUrls()) event->acceptProposedAction();
}

/// The window opens whatever is not dropped onto a profile.
void RecentList::dragMoveEvent(QDragMoveEvent* event) {
  QListWidgetItem* target = targetOf(*event);
  if (target == nullptr) return event->ignore();
  setCurrentItem(target, QItemSelectionModel::NoUpdate);
  event->acceptProposedAction();
}

void RecentList::dropEvent(QDropEvent* event) {
  QListWidgetItem* target = targetOf(*event);
  if (target == nullptr) return event->ignore();
  event->acceptProposedAction();
  Q_EMIT comparisonWanted(event->mimeData()->urls().front().toLocalFile(), pathOf(*target));
}

}  // namespace pipescope::shell
