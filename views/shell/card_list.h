#pragma once
#include <QListWidget>

#include "views/shell/profile_card.h"

class QMenu;

namespace pipescope::shell {

class Palette;

/// Profiles as cards with small pictures of their pipelines. The list is as high as its cards: the page that
/// it stands on scrolls.
class CardList : public QListWidget {
  Q_OBJECT

 public:
  explicit CardList(const Palette& palette, QWidget* parent = nullptr);
  void add(const QString& text, const QString& path, const QString& tip);
  void setCard(const QString& path, const ProfileCard& card);
  static QString pathOf(const QListWidgetItem& item);
  static ProfileCard cardOf(const QListWidgetItem& item);
  /// The menu of the right button on a card.
  virtual QMenu* makeMenu(const QListWidgetItem& item) = 0;
  /// Pixels right of the last card of a row: its gap, and a margin that keeps the cards in their row.
  static constexpr int kListMargin = 2, kTrailing = 10 + kListMargin;
  /// The number of cards that have room side by side, and the width of so many.
  static int columnsIn(int width);
  static int widthOf(int columns);
  /// The height that shows all cards at this width.
  int heightFor(int width) const;

 Q_SIGNALS:
  void openWanted(const QString& path);

 protected:
  void wheelEvent(QWheelEvent* event) override;
};

}  // namespace pipescope::shell
Q_DECLARE_METATYPE(pipescope::shell::ProfileCard)
