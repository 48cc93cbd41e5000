#include "views/shell/recent_list.h"

#include <QApplication>
#include <QClipboard>
#include <QDesktopServices>
#include <QDragEnterEvent>
#include <QFileInfo>
#include <QMenu>
#include <QMimeData>
#include <QUrl>

namespace pipescope::shell {
namespace {
/// A card that is dragged has this beside its file. A file from elsewhere is opened wherever it is dropped.
const auto kCardFormat = QStringLiteral("application/x-pipescope-recent-profile");
}  // namespace

RecentList::RecentList(const Palette& palette, QWidget* parent) : CardList(palette, parent) {
  setDragEnabled(true);
  setAcceptDrops(true);
  viewport()->setAcceptDrops(true);  // cards that do not move would accept none
  setDropIndicatorShown(true);
  setDragDropMode(QAbstractItemView::DragDrop);
  setDefaultDropAction(Qt::CopyAction);
}

QMenu* RecentList::makeMenu(const QListWidgetItem& item) {
  auto* menu = new QMenu(this);
  const QString path = pathOf(item);
  menu->addAction(tr("Open"), this, [this, path] { Q_EMIT openWanted(path); });
  menu->addAction(tr("Open its folder"), this,
                  [path] { QDesktopServices::openUrl(QUrl::fromLocalFile(QFileInfo(path).path())); });
  menu->addAction(tr("Copy path"), this, [path] { QApplication::clipboard()->setText(path); });
  menu->addSeparator();
  menu->addAction(tr("Remove from this list"), this, [this, path] { Q_EMIT removeWanted(path); });
  return menu;
}

QMimeData* RecentList::mimeData(const QList<QListWidgetItem*> items) const {
  auto* dragged = new QMimeData;
  QList<QUrl> files;
  for (const QListWidgetItem* item : items) files << QUrl::fromLocalFile(pathOf(*item));
  dragged->setUrls(files);
  dragged->setData(kCardFormat, QByteArrayLiteral("1"));
  return dragged;
}

/// The profile under the pointer, if the dragged card is another one.
QListWidgetItem* RecentList::targetOf(const QDropEvent& event) const {
  QListWidgetItem* item = itemAt(event.pos());
  const QList<QUrl> files = event.mimeData()->urls();
  if (item == nullptr || !event.mimeData()->hasFormat(kCardFormat) || files.size() != 1 ||
      !files.front().isLocalFile())
    return nullptr;
  return files.front().toLocalFile() == pathOf(*item) ? nullptr : item;
}

void RecentList::dragEnterEvent(QDragEnterEvent* event) {
  event->mimeData()->hasFormat(kCardFormat) ? event->acceptProposedAction() : event->ignore();
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
