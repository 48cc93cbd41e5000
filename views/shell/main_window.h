#pragma once
#include <QMainWindow>
#include <memory>

#include "views/shell/history.h"
#include "views/shell/page.h"

class QLabel;
class QStackedWidget;

namespace pipescope::shell {

class BesidePages;
class Comparison;
class FindBar;
class ElidedLabel;
class Header;
class Home;
class NoticeBar;
class SavedNotice;
class Sidebar;
class Tour;
class WindowDialogs;
class WindowMenus;

/// A window with one profile and its pages.
class MainWindow : public QMainWindow {
  Q_OBJECT

 public:
  /// `registry` and `palette` must outlive the window.
  MainWindow(const PageRegistry& registry, Palette& palette, Opener opener, QWidget* parent = nullptr);
  ~MainWindow() override;

  /// True for a configuration or an ONNX model, by its name: profiles and traces are known by their content,
  /// but any text may be a configuration.
  static bool runs(const QString& path);
  void open(const QString& path, const QString& executable = {});
  /// Opens recent profiles for their cards on the start page.
  void setCardOpener(Opener opener);
  /// Makes the profile of a sample, or of the demo for an empty name, and calls back with its path or with
  /// the error.
  using SampleMade = std::function<void(base::Result<QString>)>;
  using SampleRunner = std::function<void(const QString& sample, SampleMade done)>;
  void setSampleRunner(SampleRunner runner);
  /// The command line that opens this place again.
  QString link() const;
  FindBar* findBar() const { return find_; }
  WindowSettings& settings() { return settings_; }
  Palette& colours() { return palette_; }
  SavedNotice* savedNotice() const { return saved_; }
  /// Shows everything again after a setting has changed.
  void showAgain();
  // Commands of the menus.
  void selectPage(int index);
  void saveCurrentPicture(bool whole);
  void showFind();
  /// Shows a page and looks for a text on it, once its content has been read, unless that has become
  /// needless.
  void findOn(const QString& page, const QString& text, const std::function<bool()>& isNeedless = {});
  /// Runs a sample and opens its profile; an empty name is that of the demo.
  void openSample(const QString& sample);
  void openDemo() { openSample({}); }
  /// Opens the demo and leads through it.
  void takeTour();
  Tour* tour() const { return tour_; }
  void setTheme(Theme theme);
  void setTimeUnit(bool time);
  void openSource(OpenedSource source, const QString& title);
  /// Shows a profile that a page of another window has made, and compares it with what it was made from.
  void openMade(const MadeProfile& made);
  /// Compares the window's profile with the one at `path`, and shows the page that compares them.
  void compareWith(const QString& path);
  Comparison& comparison() { return *comparison_; }
  /// Opens the target and compares it with the source.
  void compare(const QString& source, const QString& target);
  /// Returns false if there is no such page.
  bool showPage(const QString& id);
  QStringList pageIds() const;
  void go(const Place& place);
  /// Selects something and shows it on a page.
  void select(const QString& page, const Selected& selected);
  /// Returns to the place that was left last, or to the one that was left by goBack().
  void goBack();
  void goForward();
  const History& history() const { return history_; }

  /// True when the window reads nothing and shows everything that was asked for.
  bool isSettled() const;
  Page* currentPage() const;
  QString currentPageId() const { return visit().page; }
  Home* home() const { return home_; }
  ProfileSession& session() { return *session_; }
  Actions& actions() { return *actions_; }
  Selection& selection() { return *selection_; }
  TimeRange& timeRange() { return *timeRange_; }
  /// The notice below the menu, or on the start page; empty: none.
  QString notice() const;

 Q_SIGNALS:
  void newWindowRequested();
  void newRunRequested();
  /// The file to open runs, and is no profile.
  void configurationGiven(const QString& file);
  /// Several files were dropped. The program knows which of them belong together.
  void filesGiven(const QStringList& files);
  /// The settings of the window's profile are wanted in the workbench, with these changes of them.
  void runAgainRequested(const QStringList& changes);
  /// A page has made a profile, which wants a window of its own.
  void profileMade(const MadeProfile& made);
  void closed();

 protected:
  void dragEnterEvent(QDragEnterEvent* event) override;
  void dragMoveEvent(QDragMoveEvent* event) override;
  void dragLeaveEvent(QDragLeaveEvent* event) override;
  void dropEvent(QDropEvent* event) override;
  void closeEvent(QCloseEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;

 private:
  void makePages(const PageRegistry& registry);
  void makeStatusLine();
  void followLacks();
  void followSession();
  void followPalette();
  void rememberComparison();
  Visit visit() const;
  void leave();
  void goTo(const std::optional<Visit>& visit);

  Palette& palette_;
  WindowSettings settings_;
  std::unique_ptr<ProfileSession> session_;
  std::unique_ptr<Comparison> comparison_;
  std::unique_ptr<Selection> selection_;
  std::unique_ptr<TimeRange> timeRange_;
  std::unique_ptr<Actions> actions_;
  std::unique_ptr<PageContext> context_;
  std::unique_ptr<BesidePages> beside_;
  std::vector<PageDefinition> definitions_;
  std::vector<Page*> pages_;
  std::optional<Place> pending_;  ///< shown as soon as the profile is open

  QStackedWidget *outer_ = nullptr, *stack_ = nullptr;
  Home* home_ = nullptr;
  Sidebar* sidebar_ = nullptr;
  NoticeBar* bar_ = nullptr;
  FindBar* find_ = nullptr;
  SampleRunner samples_;
  Tour* tour_ = nullptr;
  /// Says if the tour begins when the next profile has been opened.
  enum class TourWanted { no, once, yes };
  TourWanted tourWanted_ = TourWanted::no;
  Header* header_ = nullptr;
  QLabel* emulated_ = nullptr;
  ElidedLabel* path_ = nullptr;
  SavedNotice* saved_ = nullptr;
  WindowDialogs* dialogs_ = nullptr;
  WindowMenus* menus_ = nullptr;
  bool offeringKey_ = false;
  History history_;
  bool isFinding_ = false;
  bool isReturning_ = false;  ///< a move through the history is no new place
};

}  // namespace pipescope::shell
