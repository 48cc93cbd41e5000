#pragma once
#include <QObject>
#include <utility>
#include <vector>

#include "views/shell/page.h"

class QMenu;

namespace pipescope::shell {

class MainWindow;
class WindowDialogs;

/// The commands of a window that belong to no page, and its menus.
class WindowMenus : public QObject {
  Q_OBJECT

 public:
  /// Makes the commands. All arguments must outlive this object.
  WindowMenus(MainWindow& window, Actions& actions, WindowDialogs& dialogs,
              const std::vector<PageDefinition>& pages);

  /// Makes the menus, once the pages have added their commands.
  void fill();
  /// Disables the commands that would do nothing.
  void enable();
  void fillRecent();
  void setDemoPossible(bool possible);
  void followTheme();
  /// Marks the chosen unit of time.
  void followUnit();
  bool showsTime() const;

 Q_SIGNALS:
  void recentCleared();

 private:
  void makeActions();

  MainWindow& window_;
  Actions& actions_;
  WindowDialogs& dialogs_;
  const std::vector<PageDefinition>& pages_;
  QMenu* recent_ = nullptr;
  QAction *cyclesAction_ = nullptr, *timeAction_ = nullptr, *switchUnit_ = nullptr;
  QAction *compare_ = nullptr, *report_ = nullptr, *comparisonReport_ = nullptr;
  QAction* runAgain_ = nullptr;
  QAction *reload_ = nullptr, *demoAction_ = nullptr, *tourAction_ = nullptr, *picture_ = nullptr,
          *wholePicture_ = nullptr, *link_ = nullptr, *findAction_ = nullptr, *back_ = nullptr,
          *forward_ = nullptr;
  QList<QAction*> themeActions_, pageActions_;
  std::vector<std::pair<QAction*, QString>> icons_;
};

}  // namespace pipescope::shell
