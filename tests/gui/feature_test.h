#pragma once
// The fixture of tests of single features: a page of the test profile, with the settings of pipelines at
// their defaults.
#include "views/pages/parts/layout/facts.h"
#include "views/pages/parts/tables/data_table.h"
#include "views/shell/look/picture.h"
#include "window_test.h"

namespace pipescope::testing {

class FeatureTest : public WindowTest {
 protected:
  void openPage(const QString& page, const FixtureOptions& options = {}) {
    shell::WindowSettings().setValue(QStringLiteral("pipeline/as_grid"), 0);
    shell::WindowSettings().setValue(QStringLiteral("pipeline/colours"), 0);
    shell::WindowSettings().setValue(QStringLiteral("pipeline/critical"), false);
    fixture = std::make_unique<ProfileFixture>(options);
    open(fixture->profile(), page);
  }
  pages::DataTable* table(const QString& title) const {
    for (pages::DataTable* found : window->currentPage()->findChildren<pages::DataTable*>()) {
      if (found->title().startsWith(title)) return found;
    }
    return nullptr;
  }
  QString fact(const QString& label) const { return child<pages::FactGrid>()->value(label); }
  /// The picture as a file of this name would hold it.
  QByteArray drawnAs(const shell::Picture& shown, bool whole, const QString& caption,
                     const char* name) const {
    const auto format = shell::pictureFormatOf(QLatin1String(name), true);
    if (!format.ok()) return {};
    const auto bytes = shell::pictureOf(shown, whole, caption, *format, *palette);
    return bytes.ok() ? *bytes : QByteArray();
  }
  QAction* action(const QString& what) const {
    for (const auto& entry : window->actions().entries()) {
      if (entry.what == what) return entry.action;
    }
    return nullptr;
  }

  std::unique_ptr<ProfileFixture> fixture;
};

}  // namespace pipescope::testing
