#pragma once
// A test fixture that opens the test profile in a window and drives it by mouse and keyboard.
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

/// Gives the fixture's rows. It records which threads read them and can make a table fail.
class WatchedProfile : public record::MemoryProfile {
 public:
  explicit WatchedProfile(const FixtureOptions& options = {});
  std::set<std::thread::id> threads() const;
  /// Every later read of the table fails with this message.
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

/// Opens files with profiler/store.
base::Result<shell::OpenedSource> openFile(const std::string& path);

class WindowTest : public ::testing::Test {
 protected:
  void SetUp() override;
  void TearDown() override;

  /// Opens the source, shows the page and waits until it has loaded.
  void open(std::shared_ptr<const model::ProfileSource> source, const QString& page = {});
  void showPage(const QString& page);
  /// Runs the event loop until the window has loaded its page. Returns false after ten seconds.
  bool settle();
  /// Runs the event loop until the condition holds. Returns false after ten seconds.
  static bool waitFor(const std::function<bool()>& condition);

  template <class Widget>
  Widget* child(const QString& accessibleName = {}) const {
    for (Widget* widget : window->currentPage()->findChildren<Widget*>()) {
      if (accessibleName.isEmpty() || widget->accessibleName() == accessibleName) return widget;
    }
    return nullptr;
  }
  /// Drags with the left button held. QTest::mouseMove does not reach an offscreen window.
  static void dragTo(QWidget* widget, const QPoint& at, Qt::KeyboardModifiers modifiers = {});
  /// Moves the mouse without a button.
  static void hover(QWidget* widget, const QPoint& at);
  /// Chooses an entry and emits the signals that a user's choice emits.
  static void choose(QComboBox* box, int index);
  /// Saves a picture of the window to the folder that PIPESCOPE_GUI_PICTURES names, if it is set.
  void picture(const char* name);

  std::unique_ptr<shell::Palette> palette;
  std::unique_ptr<shell::PageRegistry> registry;
  std::unique_ptr<shell::MainWindow> window;
};

}  // namespace pipescope::testing
