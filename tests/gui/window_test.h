#pragma once
// A window with the fixture's profile, driven by mouse and keyboard.
#include <gtest/gtest.h>

#include <QComboBox>
#include <QSignalSpy>
#include <QTest>
#include <memory>
#include <mutex>
#include <set>
#include <thread>

#include "profile_fixture.h"
#include "views/shell/main_window.h"

namespace pipescope::testing {

/// The fixture's rows; notes which threads read them, and can refuse a table.
class WatchedProfile : public record::MemoryProfile {
 public:
  explicit WatchedProfile(const FixtureOptions& options = {});
  std::set<std::thread::id> threads() const;
  /// From now on reading the table fails with the sentence.
  void refuse(std::size_t table, std::string sentence);
  int reads() const;

 protected:
  base::Result<std::vector<model::BlockInfo>> directory(std::size_t table) const override;
  base::Result<std::shared_ptr<const void>> decode(std::size_t table, std::size_t block) const override;

 private:
  void note() const;
  mutable std::mutex mutex_;
  mutable std::set<std::thread::id> threads_;
  mutable int reads_ = 0;
  std::size_t refused_ = model::kTableCount;
  std::string sentence_;
};

/// Files are opened by profiler/store.
base::Result<shell::OpenedSource> openFile(const std::string& path);

class WindowTest : public ::testing::Test {
 protected:
  void SetUp() override;
  void TearDown() override;

  /// Opens the source and shows the page, loaded.
  void open(std::shared_ptr<const model::ProfileSource> source, const QString& page = {});
  void showPage(const QString& page);
  /// Runs the event loop until the window has loaded what it shows; false after ten seconds.
  bool settle();
  /// Runs the event loop until the condition holds; false after ten seconds.
  static bool waitFor(const std::function<bool()>& condition);

  template <class Widget>
  Widget* child(const QString& accessibleName = {}) const {
    for (Widget* widget : window->currentPage()->findChildren<Widget*>()) {
      if (accessibleName.isEmpty() || widget->accessibleName() == accessibleName) return widget;
    }
    return nullptr;
  }
  /// Moves with the left button held; QTest's own move does not reach an offscreen window.
  static void dragTo(QWidget* widget, const QPoint& at, Qt::KeyboardModifiers modifiers = {});
  /// Moves without a button.
  static void hover(QWidget* widget, const QPoint& at);
  /// Chooses as a user does.
  static void choose(QComboBox* box, int index);
  /// Saves what the window looks like where PIPESCOPE_GUI_PICTURES names a folder.
  void picture(const char* name);

  std::unique_ptr<shell::Palette> palette;
  std::unique_ptr<shell::PageRegistry> registry;
  std::unique_ptr<shell::MainWindow> window;
};

}  // namespace pipescope::testing
