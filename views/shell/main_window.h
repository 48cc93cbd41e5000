#pragma once
#include <QMainWindow>
#include <memory>

#include "views/shell/page.h"

class QLabel;
class QMenu;
class QStackedWidget;

namespace pipescope::shell {

class FindBar;
class ElidedLabel;
class Header;
class Home;
class NoticeBar;
class SavedNotice;
class Sidebar;
class WindowDialogs;

/// A window with one profile and its pages.
class MainWindow : public QMainWindow {
  Q_OBJECT

 public:
  /// `registry` and `palette` must outlive the window.
  MainWindow(const PageRegistry& registry, Palette& palette, Opener opener, QWidget* parent = nullptr);
  ~MainWindow() override;

  void open(const QString& path, const QString& executable = {});
  /// Makes the demo profile and calls back with its path, or with the error.
  using Demo = std::function<void(std::function<void(base::Result<QString>)>)>;
  void setDemo(Demo demo);
  /// The command line that opens this place again.
  QString link() const;
  FindBar* findBar() const { return find_; }
  Settings& settings() { return settings_; }
  Palette& colours() { return palette_; }
  SavedNotice* savedNotice() const { return saved_; }
  /// Shows everything again after a setting has changed.
  void showAgain();
  void openSource(OpenedSource source, const QString& title);
  /// Returns false where there is no such page.
  bool showPage(const QString& id);
  QStringList pageIds() const;
  void go(const Place& place);

  /// True when the window reads nothing and shows everything that was asked for.
  bool isSettled() const;
  Page* currentPage() const;
  QWidget* home() const;
  ProfileSession& session() { return *session_; }
  Actions& actions() { return *actions_; }
  Selection& selection() { return *selection_; }
  TimeRange& timeRange() { return *timeRange_; }
  /// The notice below the menu, or on the start page; empty: none.
  QString notice() const;

 Q_SIGNALS:
  void newWindowRequested();
  void closed();

 protected:
  void dragEnterEvent(QDragEnterEvent* event) override;
  void dropEvent(QDropEvent* event) override;
  void closeEvent(QCloseEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;

 private:
  void makeActions();
  void makeMenus();
  void makePages(const PageRegistry& registry);
  void makeStatusLine();
  void enableCommands();
  void saveCurrentPicture(bool whole);
  void showFind();
  void openDemo();
  void setTheme(Theme theme);
  void setTimeUnit(bool time);
  void followSession();
  void followPalette();
  void fillRecent();
  void selectPage(int index);

  Palette& palette_;
  Settings settings_;
  std::unique_ptr<ProfileSession> session_;
  std::unique_ptr<Selection> selection_;
  std::unique_ptr<TimeRange> timeRange_;
  std::unique_ptr<Actions> actions_;
  std::unique_ptr<PageContext> context_;
  std::vector<PageDefinition> definitions_;
  std::vector<Page*> pages_;
  std::optional<Place> pending_;  ///< shown as soon as the profile is open

  QStackedWidget *outer_ = nullptr, *stack_ = nullptr;
  Home* home_ = nullptr;
  Sidebar* sidebar_ = nullptr;
  NoticeBar* bar_ = nullptr;
  FindBar* find_ = nullptr;
  Demo demo_;
  Header* header_ = nullptr;
  QLabel* emulated_ = nullptr;
  ElidedLabel* path_ = nullptr;
  SavedNotice* saved_ = nullptr;
  WindowDialogs* dialogs_ = nullptr;
  QMenu* recent_ = nullptr;
  QAction *cyclesAction_ = nullptr, *timeAction_ = nullptr, *switchUnit_ = nullptr;
  QAction *reload_ = nullptr, *demoAction_ = nullptr, *picture_ = nullptr, *wholePicture_ = nullptr,
          *link_ = nullptr, *findAction_ = nullptr;
  QList<QAction*> themeActions_, pageActions_;
  bool offeringKey_ = false;
  std::vector<std::pair<QAction*, QString>> icons_;
};

}  // namespace pipescope::shell
