#pragma once
#include <QListWidget>

#include "views/shell/profile_card.h"

namespace pipescope::shell {

class Palette;

/// Recent profiles as cards. One that is dragged onto another is compared with it; dragged elsewhere it is a
/// file. The menu of the right button copies its path, opens its folder, or takes it from the list.
class RecentList : public QListWidget {
  Q_OBJECT

 public:
  explicit RecentList(const Palette& palette, QWidget* parent = nullptr);
  void add(const QString& text, const QString& path, const QString& tip);
  void setCard(const QString& path, const ProfileCard& card);
  static QString pathOf(const QListWidgetItem& item);
  QMenu* makeMenu(const QListWidgetItem& item);
  /// The height that shows all cards at this width.
  int heightFor(int width) const;

 Q_SIGNALS:
  void comparisonWanted(const QString& source, const QString& target);
  void openWanted(const QString& path);
  void removeWanted(const QString& path);

 protected:
  QMimeData* mimeData(const QList<QListWidgetItem*> items) const override;
  void dragEnterEvent(QDragEnterEvent* event) override;
  void dragMoveEvent(QDragMoveEvent* event) override;
  void dropEvent(QDropEvent* event) override;
  void wheelEvent(QWheelEvent* event) override;

 private:
  QListWidgetItem* targetOf(const QDropEvent& event) const;
};

}  // namespace pipescope::shell
Q_DECLARE_METATYPE(pipescope::shell::ProfileCard)
