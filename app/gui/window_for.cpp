#include "app/gui/window_for.h"

namespace pipescope::gui {
namespace {

shell::MainWindow* windowWith(const QString& profile,
                              const std::vector<std::unique_ptr<shell::MainWindow>>& windows) {
  for (const auto& window : windows) {
    if (window->session().wantedPath() == profile) return window.get();
  }
  return nullptr;
}

}  // namespace

shell::MainWindow& windowFor(const QString& profile,
                             const std::vector<std::unique_ptr<shell::MainWindow>>& windows,
                             const std::function<shell::MainWindow&()>& make, bool activate) {
  shell::MainWindow* window = windowWith(profile, windows);
  if (window == nullptr) {
    window = &make();
    window->open(profile);
  }
  window->setAttribute(Qt::WA_ShowWithoutActivating, !activate);
  window->show();
  if (!activate) return *window;
  window->raise();
  window->activateWindow();
  return *window;
}

}  // namespace pipescope::gui
