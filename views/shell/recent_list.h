#pragma once
#include <QListWidget>

namespace pipescope::shell {

/// A list of recent profiles. One that is dragged onto another is compared with it; dragged elsewhere it is a
/// file.
class RecentList : public QListWidget {
  Q_OBJECT

 public:
  explicit RecentList(QWidget* parent = nullptr);
  void add(const QString& text, const QString& path, const QString& tip);
  static QString pathOf(const QListWidgetItem& item);

 Q_SIGNALS:
  void comparisonWanted(const QString& source, const QString& target);

 protected:
  QMimeData* mimeData(const QList<QListWidgetItem*> items) const override;
  void dragEnterEvent(QDragEnterEvent* event) override;
  void dragMoveEvent(QDragMoveEvent* event) override;
  void dropEvent(QDropEvent* event) override;

 private:
  QListWidgetItem* targetOf(const QDropEvent& event) const;
};

}  // namespace pipescope::shell
