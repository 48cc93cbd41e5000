#pragma once
#include "views/shell/card_list.h"

namespace pipescope::shell {

/// Recent profiles as cards. One that is dragged onto another is compared with it; dragged elsewhere it is a
/// file. Files from other programs are left to the window, which opens them. The menu of the right button
/// copies its path, opens its folder, or takes it from the list.
class RecentList : public CardList {
  Q_OBJECT

 public:
  explicit RecentList(const Palette& palette, QWidget* parent = nullptr);
  QMenu* makeMenu(const QListWidgetItem& item) override;

 Q_SIGNALS:
  void comparisonWanted(const QString& source, const QString& target);
  void removeWanted(const QString& path);

 protected:
  QMimeData* mimeData(const QList<QListWidgetItem*> items) const override;
  void dragEnterEvent(QDragEnterEvent* event) override;
  void dragMoveEvent(QDragMoveEvent* event) override;
  void dropEvent(QDropEvent* event) override;

 private:
  void addComparisons(QMenu& menu, const QString& path);
  QListWidgetItem* targetOf(const QDropEvent& event) const;
};

}  // namespace pipescope::shell
