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
  const bool isThere = !cardOf(item).isMissing;
  menu->addAction(tr("Open"), this, [this, path] { Q_EMIT openWanted(path); })->setEnabled(isThere);
  QMenu* compare = menu->addMenu(tr("Compare with"));
  if (isThere) addComparisons(*compare, path);
  compare->setEnabled(!compare->isEmpty());
  menu->addAction(tr("Open its folder"), this,
                  [path] { QDesktopServices::openUrl(QUrl::fromLocalFile(QFileInfo(path).path())); });
  menu->addAction(tr("Copy path"), this, [path] { QApplication::clipboard()->setText(path); });
  menu->addSeparator();
  menu->addAction(tr("Remove from this list"), this, [this, path] { Q_EMIT removeWanted(path); });
  QStringList missing;
  for (int row = 0; row < count(); ++row)
    if (const QListWidgetItem& each = *this->item(row); cardOf(each).isMissing) missing << pathOf(each);
  if (missing.size() > (isThere ? 0 : 1)) {
    menu->addAction(tr("Remove all missing files"), this, [this, missing] {
      for (const QString& each : missing) Q_EMIT removeWanted(each);
    });
  }
  return menu;
}

/// The other profiles of the list, each as the source that this one is compared with.
void RecentList::addComparisons(QMenu& menu, const QString& path) {
  for (int row = 0; row < count(); ++row) {
    const QString other = pathOf(*item(row));
    if (other == path || cardOf(*item(row)).isMissing) continue;
    menu.addAction(
            item(row)->data(Qt::DisplayRole).toString().replace(QLatin1Char('&'), QStringLiteral("&&")), this,
            [this, other, path] { Q_EMIT comparisonWanted(other, path); })
        ->setToolTip(other);
  }
  menu.setToolTipsVisible(true);
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
