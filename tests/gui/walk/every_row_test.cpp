// Walks through all pages of several kinds of profiles: each row of a table or tree has a menu that copies
// its name, and rows about an operation, a variable, a device, a stage or a wait lead to other pages.
#include <QMenu>
#include <algorithm>
#include <filesystem>

#include "app/run/execute/run.h"
#include "app/run/request/configuration_keys.h"
#include "profiler/import/trace_import.h"
#include "profiler/record/memory_profile.h"
#include "profiler/store/profile_reader.h"
#include "views/pages/parts/tables/data_table.h"
#include "views/pages/parts/tables/section_table_model.h"
#include "views/pages/parts/tables/tree_table.h"
#include "window_test.h"

namespace pipescope::testing {
namespace {

using WalkedSource = std::shared_ptr<const model::ProfileSource>;

std::string sampleFile(const std::string& name) {
  return std::string(PIPESCOPE_SOURCE_DIR) + "/samples/" + name;
}

WalkedSource ranSample(const std::string& sample) {
  auto read = app::readConfiguration(sampleFile(sample));
  if (!read.ok()) return ADD_FAILURE() << read.error().message, nullptr;
  config::Configuration configuration = std::move(read).value();
  EXPECT_TRUE(configuration.setText("execution.numerics", "false", config::Origin::flag).ok());
  const auto file = std::filesystem::temp_directory_path() / ("walk_" + std::to_string(getpid()) + ".pop");
  base::SilentProgress progress;
  const auto ran = app::runConfiguration(configuration, {file.string(), "test"}, progress);
  if (!ran.ok()) return ADD_FAILURE() << ran.error().message, nullptr;
  auto opened = store::ProfileReader::open(file.string());
  std::filesystem::remove(file);  // the reader keeps it open
  return opened.ok() ? WalkedSource(std::move(opened).value()) : nullptr;
}

WalkedSource importedSample(const std::string& sample) {
  auto profile = std::make_shared<record::MemoryProfile>();
  record::Recorder recorder(*profile);
  importing::ImportRequest request;
  request.paths = {sampleFile(sample)};
  request.temporaryFolder = std::filesystem::temp_directory_path();
  base::SilentProgress progress;
  EXPECT_TRUE(importing::importTraces(request, recorder, progress).ok());
  return profile;
}

/// Tables whose rows are about settings, sums, sentences or the host, which no other page shows.
const std::set<std::string> kAboutNothingElse = {
    "addresses", "bands",       "call_tree",   "code",    "coverage",   "cycles",
    "details",   "detail_tree", "executables", "figures", "grades",     "kinds",
    "names",     "options",     "outcomes",    "series",  "iterations", "data_parallel_ranks",
    "axes"};
/// Tables whose rows may name a stage or a device, but not in every profile.
const std::set<std::string> kSometimes = {"insights", "critical_path", "categories"};

class EveryRow : public WindowTest {
 protected:
  static QAction* entry(const QMenu& menu, const QString& text) {
    const auto actions = menu.actions();
    const auto found =
        std::ranges::find_if(actions, [&](const QAction* action) { return action->text() == text; });
    return found == actions.end() ? nullptr : *found;
  }
  /// The pages of the menu "Show in"; −1: there is no such menu.
  static int pagesIn(const QMenu& menu) {
    const QAction* in = entry(menu, QStringLiteral("Show in"));
    return in == nullptr ? -1 : static_cast<int>(in->menu()->actions().size());
  }
  /// Looks at the menus of the first rows of a table.
  template <class Table>
  void check(Table& table, std::size_t rows, const std::string& key) {
    SCOPED_TRACE(key);
    constexpr std::size_t kMostRows = 30;
    int pages = -1;
    for (std::size_t row = 0; row < std::min(rows, kMostRows); ++row) {
      const std::unique_ptr<QMenu> menu(table.makeRowMenu(static_cast<int>(row)));
      EXPECT_NE(entry(*menu, QStringLiteral("Copy name")), nullptr) << "row " << row;
      pages = std::max(pages, pagesIn(*menu));
    }
    if (kAboutNothingElse.contains(key)) {
      EXPECT_EQ(pages, -1) << "it leads somewhere: take it off the list";
    } else if (!kSometimes.contains(key)) {
      EXPECT_GE(pages, 1);
    }
  }
  void walk(const WalkedSource& source) {
    ASSERT_NE(source, nullptr);
    open(source, QStringLiteral("summary"));
    int walked = 0;
    for (const QString& page : window->pageIds()) {
      SCOPED_TRACE(page.toStdString());
      showPage(page);
      ASSERT_TRUE(settle());
      if (!window->currentPage()->showsContent()) continue;
      for (pages::DataTable* table : window->currentPage()->findChildren<pages::DataTable*>()) {
        if (table->model()->table().rows.empty()) continue;
        check(*table, table->model()->table().rows.size(), table->model()->table().key);
        ++walked;
      }
      for (pages::TreeTable* tree : window->currentPage()->findChildren<pages::TreeTable*>()) {
        if (tree->ownRows().parents.empty()) continue;
        check(*tree, tree->ownRows().parents.size(), tree->ownRows().table.key);
        ++walked;
      }
    }
    EXPECT_GE(walked, 8);
  }
};

TEST_F(EveryRow, OfAPipelineOnIpusHasAMenu) {
  walk(ranSample("mnist/pipelined.toml"));
}
TEST_F(EveryRow, OfReplicasOnGaudisHasAMenu) {
  walk(ranSample("mnist/eight_gaudis.toml"));
}
TEST_F(EveryRow, OfStatedCostsHasAMenu) {
  walk(ranSample("fixed/imbalanced.toml"));
}
TEST_F(EveryRow, OfRecordedRanksHasAMenu) {
  walk(importedSample("traces/pipeline_1f1b"));
}
TEST_F(EveryRow, OfRecordedNodesHasAMenu) {
  walk(importedSample("traces/gaudi3.csv.gz"));
}
TEST_F(EveryRow, OfARunWithLossesHasAMenu) {
  walk(ProfileFixture(FixtureOptions{}).profile());
}

}  // namespace
}  // namespace pipescope::testing
