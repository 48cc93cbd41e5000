// Tests the tables below the memory chart: they follow the selected tiles.
#include <QCheckBox>
#include <QLabel>
#include <QLineEdit>
#include <QSortFilterProxyModel>
#include <QTableView>
#include <algorithm>
#include <map>
#include <set>

#include "views/pages/parts/charts/address_map.h"
#include "views/pages/parts/charts/chart.h"
#include "views/pages/parts/data/liveness_data.h"
#include "views/pages/parts/layout/empty_states.h"
#include "views/pages/parts/tables/data_table.h"
#include "views/pages/parts/tables/section_table_model.h"
#include "views/pages/parts/tables/unit_tables.h"
#include "views/timeline/bar_chart.h"
#include "window_test.h"

namespace pipescope::testing {
namespace {

using pages::Chart;
using pages::DataTable;

constexpr int kTiles = 1472;

class MemoryPageTest : public WindowTest {
 protected:
  void openMemory(const FixtureOptions& options = {}) {
    fixture = std::make_unique<ProfileFixture>(options);
    open(fixture->profile(), QStringLiteral("memory"));
    // The tables of addresses and details include gaps, so the chart shall show them too.
    for (QCheckBox* box : window->currentPage()->findChildren<QCheckBox*>()) {
      if (box->text() == QStringLiteral("With gaps")) box->click();
    }
    ASSERT_TRUE(settle());
  }
  const sections::SectionTable& table(const std::string& key) const {
    for (const DataTable* found : window->currentPage()->findChildren<DataTable*>()) {
      if (found->model()->table().key == key) return found->model()->table();
    }
    static const sections::SectionTable none;
    ADD_FAILURE() << "no table " << key;
    return none;
  }
  static std::size_t column(const sections::SectionTable& table, const std::string& key) {
    for (std::size_t c = 0; c < table.columns.size(); ++c) {
      if (table.columns[c].key == key) return c;
    }
    ADD_FAILURE() << "no column " << key;
    return 0;
  }
  static std::int64_t sum(const sections::SectionTable& table, const std::string& key) {
    std::int64_t total = 0;
    for (const auto& row : table.rows) total += std::get<std::int64_t>(row[column(table, key)]);
    return total;
  }
  QLineEdit* units() const { return child<QLineEdit>(QStringLiteral("Selected tiles")); }
  void choose(const QString& list) {
    units()->setFocus();
    units()->setText(list);
    QTest::keyClick(units(), Qt::Key_Return);
    ASSERT_TRUE(settle());
  }
  /// The bytes of the variables on a tile of a device, and how many there are, from the profile's rows.
  std::pair<std::int64_t, std::int64_t> onTile(std::int64_t device, std::int64_t tile) const {
    std::map<std::int64_t, std::int64_t> bytes;
    for (const model::VariableUnits& row : **fixture->profile()->rows<model::VariableUnits>()) {
      if (row.firstUnit <= tile && tile < row.firstUnit + row.unitCount)
        bytes[row.variable.value] += row.bytes.count;
    }
    std::int64_t total = 0, count = 0;
    for (const model::Variable& row : **fixture->profile()->rows<model::Variable>()) {
      if (row.executable != model::ExecutableId(0) || row.space != model::MemorySpaceId(device)) continue;
      if (bytes.contains(row.id.value)) total += bytes[row.id.value], ++count;
    }
    return {total, count};
  }

  std::unique_ptr<ProfileFixture> fixture;
};

TEST_F(MemoryPageTest, TheTablesFollowTheSelectedTile) {
  openMemory();
  for (const int tile : {5, 600, kTiles + 7}) {
    choose(QString::number(tile));
    const auto [bytes, count] = onTile(tile / kTiles, tile % kTiles);
    std::int64_t listed = 0, rows = 0;
    for (const char* key : {"variables", "vertices", "exchanges"}) {
      listed += sum(table(key), "bytes");
      rows += static_cast<std::int64_t>(table(key).rows.size());
    }
    EXPECT_EQ(listed, bytes) << tile;
    EXPECT_GE(rows, count) << tile << ": a variable may lie in several pieces";
    EXPECT_EQ(table("variables").basis, "on the selected tile");
    const std::int64_t total = child<Chart>()->total(tile);
    EXPECT_EQ(sum(table("details"), "bytes"), total) << "gaps included";
    EXPECT_EQ(sum(table("categories"), "bytes"), total);
  }
  picture("memory_tile");
}

TEST_F(MemoryPageTest, ADoubleClickOnAPurposeListsItsVariables) {
  openMemory();
  DataTable *breakdown = nullptr, *variables = nullptr;
  for (DataTable* found : window->currentPage()->findChildren<DataTable*>()) {
    if (found->model()->table().key == "categories" && found->isVisible()) breakdown = found;
    if (found->model()->table().key == "variables") variables = found;
  }
  ASSERT_TRUE(breakdown != nullptr && variables != nullptr);
  const sections::SectionTable& all = variables->model()->table();
  const auto listed = [&](const std::string& purpose) {
    return static_cast<int>(std::ranges::count_if(all.rows, [&](const auto& row) {
      return std::get<std::string>(row[column(all, "category")]) == purpose;
    }));
  };
  auto* view = breakdown->findChild<QTableView*>();
  const QAbstractItemModel& rows = *view->model();
  QModelIndex chosen;
  for (int row = 0; row < rows.rowCount() && !chosen.isValid(); ++row)
    if (listed(rows.index(row, 0).data().toString().toStdString()) > 0) chosen = rows.index(row, 0);
  ASSERT_TRUE(chosen.isValid());
  const int expected = listed(chosen.data().toString().toStdString());
  view->scrollTo(chosen);
  const QPoint at = view->visualRect(chosen).center();
  QTest::mouseClick(view->viewport(), Qt::LeftButton, {}, at);
  QTest::mouseDClick(view->viewport(), Qt::LeftButton, {}, at);
  ASSERT_TRUE(settle());
  EXPECT_TRUE(variables->isVisible());
  EXPECT_EQ(variables->shown()->rowCount(), expected) << chosen.data().toString().toStdString();
}

TEST_F(MemoryPageTest, SeveralTilesAddUp) {
  openMemory();
  choose(QStringLiteral("3,10-12"));
  std::int64_t bytes = 0;
  for (const int tile : {3, 10, 11, 12}) bytes += onTile(0, tile).first;
  std::int64_t listed = 0;
  for (const char* key : {"variables", "vertices", "exchanges"}) listed += sum(table(key), "bytes");
  EXPECT_EQ(listed, bytes);
  EXPECT_EQ(table("variables").basis, "sum over the 4 selected tiles");
}

TEST_F(MemoryPageTest, VariablesSayWhenTheyAreLive) {
  openMemory();
  choose(QStringLiteral("5"));
  std::map<std::string, std::pair<std::int64_t, std::int64_t>> lives;
  const auto names = window->session().snapshot()->catalog;
  std::map<std::int64_t, std::pair<std::int64_t, std::int64_t>> byId;
  for (const model::LifeInterval& row : **fixture->profile()->rows<model::LifeInterval>()) {
    const auto [place, isNew] = byId.try_emplace(row.variable.value, row.firstStep, row.endStep - 1);
    place->second.first = std::min<std::int64_t>(place->second.first, row.firstStep);
    place->second.second = std::max<std::int64_t>(place->second.second, row.endStep - 1);
  }
  std::set<std::pair<std::int64_t, std::int64_t>> known;
  for (const auto& [id, life] : byId) known.insert(life);
  const sections::SectionTable& variables = table("variables");
  const std::size_t live = column(variables, "live"), from = column(variables, "from"),
                    until = column(variables, "until");
  int bounded = 0;
  for (const auto& row : variables.rows) {
    const bool always = std::get<std::string>(row[live]) == "always";
    EXPECT_EQ(std::holds_alternative<std::monostate>(row[from]), always);
    if (always) continue;
    EXPECT_TRUE(known.count({std::get<std::int64_t>(row[from]), std::get<std::int64_t>(row[until])}) > 0);
    ++bounded;
  }
  EXPECT_GT(bounded, 0);
}

TEST_F(MemoryPageTest, VariablesHaveOffsetsThatOnlyLivesApartShare) {
  openMemory();
  for (const sections::SectionColumn& shown : table("variables").columns)
    EXPECT_NE(shown.key, "offset") << "the offsets of several tiles differ";
  choose(QStringLiteral("12"));
  const sections::SectionTable& variables = table("variables");
  struct Piece {
    std::int64_t from, to, first, end;
  };
  std::vector<Piece> pieces;
  for (const auto& row : variables.rows) {
    const auto number = [&](const char* key, std::int64_t none) {
      const auto* value = std::get_if<std::int64_t>(&row[column(variables, key)]);
      return value == nullptr ? none : *value;
    };
    const std::int64_t offset = number("offset", -1);
    ASSERT_GE(offset, 0);
    pieces.push_back({offset, offset + number("bytes", 0), number("from", 0), number("until", INT32_MAX)});
  }
  int shared = 0;
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    for (std::size_t k = 0; k < i; ++k) {
      const Piece &a = pieces[i], &b = pieces[k];
      if (a.to <= b.from || b.to <= a.from) continue;
      EXPECT_TRUE(a.end < b.first || b.end < a.first) << i << " and " << k;
      ++shared;
    }
  }
  EXPECT_GT(shared, 10);
}

TEST_F(MemoryPageTest, VerticesHaveCountCodeAndData) {
  openMemory();
  choose(QStringLiteral("12"));
  const sections::SectionTable& vertices = table("vertices");
  ASSERT_EQ(vertices.rows.size(), 1U);
  EXPECT_EQ(std::get<std::int64_t>(vertices.rows[0][column(vertices, "count")]), 3);
  EXPECT_EQ(std::get<std::int64_t>(vertices.rows[0][column(vertices, "code")]), 31'600'000 / 700);
  EXPECT_EQ(std::get<std::int64_t>(vertices.rows[0][column(vertices, "data")]), 0);
  choose(QStringLiteral("8-12"));
  const sections::SectionTable& several = table("vertices");
  EXPECT_EQ(std::get<std::int64_t>(several.rows[0][column(several, "count")]), 15);
  EXPECT_EQ(std::get<std::int64_t>(several.rows[0][column(several, "code")]), 5 * (31'600'000 / 700) + 200);
}

TEST_F(MemoryPageTest, NoTwoRowsOfATableAreEqual) {
  openMemory();
  for (const char* list : {"", "5", "5,1480"}) {
    choose(QString::fromUtf8(list));
    for (const char* key : {"details", "variables", "vertices", "exchanges"}) {
      const sections::SectionTable& shown = table(key);
      std::set<std::string> seen;
      for (const auto& row : shown.rows) {
        std::string all;
        for (std::size_t c = 0; c < row.size(); ++c)
          all += sections::formatCell(row[c], sections::Format::plain) + "|";
        EXPECT_TRUE(seen.insert(all).second) << key << " of \"" << list << "\": " << all;
      }
    }
  }
}

TEST_F(MemoryPageTest, AddressesFollowEachOther) {
  openMemory();
  EXPECT_TRUE(table("addresses").rows.empty()) << "no tile is selected";
  choose(QStringLiteral("5"));
  const sections::SectionTable& addresses = table("addresses");
  ASSERT_GT(addresses.rows.size(), 2U);
  std::int64_t at = 0;
  for (const auto& row : addresses.rows) {
    EXPECT_EQ(std::get<std::int64_t>(row[0]), at);
    at = std::get<std::int64_t>(row[1]);
  }
  EXPECT_EQ(at, child<Chart>()->total(5)) << "the span of the tile, gaps included";
  EXPECT_EQ(addresses.basis.find("of IPU0 tile 5"), 0U) << addresses.basis;
  const auto& bars = child<timeline::BarChart>(QStringLiteral("Addresses"))->bars();
  ASSERT_EQ(bars.size(), 1U);
  EXPECT_EQ(static_cast<std::int64_t>(bars[0].total()), at);
  picture("memory_addresses");
}

TEST(EmptyStates, ARunWithoutNumericsHasNoLoss) {
  analysis::Catalog catalog;
  model::Executable training;
  training.id = model::ExecutableId(0);
  training.kind = model::ExecutableKind::training;
  catalog.executables.push_back(training);
  EXPECT_TRUE(pages::whyNoLoss(catalog, training.id).contains(QStringLiteral("no call has ended")));
  catalog.configuration.push_back({"execution.numerics", "false", "flag"});
  EXPECT_TRUE(pages::whyNoLoss(catalog, training.id).contains(QStringLiteral("no numerics")));
  catalog.state.state = model::ProfileState::running;
  EXPECT_EQ(pages::whyNoTraining(catalog, training.id), QString()) << "counters may still come";
  catalog.state.state = model::ProfileState::complete;
  EXPECT_EQ(pages::whyNoTraining(catalog, training.id), pages::whyNoLoss(catalog, training.id));
  // A counter of a device, such as its stash, belongs to other pages; one of the whole run is a loss or the
  // like.
  catalog.counters.push_back({model::CounterId(0), training.id, model::DeviceId(0), "stash_entries", ""});
  EXPECT_FALSE(pages::whyNoTraining(catalog, training.id).isEmpty());
  catalog.counters.push_back({model::CounterId(1), training.id, model::DeviceId(), "loss", ""});
  EXPECT_EQ(pages::whyNoTraining(catalog, training.id), QString());
}

TEST(LivenessLimit, IsTheCapacityOfOneTileOrOfAll) {
  pages::LivenessSpace space;
  space.units = 1472;
  space.bytesPerUnit = 624 * 1024;
  EXPECT_EQ(pages::livenessLimit(space, true, 700 * 1024), 624.0 * 1024);
  EXPECT_EQ(pages::livenessLimit(space, false, 950'000'000), 1472.0 * 624 * 1024);
  EXPECT_EQ(pages::livenessLimit(space, false, 50'000'000), std::nullopt) << "the curve would be flat";
}

TEST(AddressBasis, SaysWhatFoundNoRoomInItsKindOfMemory) {
  using base::Bytes;
  EXPECT_EQ(pages::addressBasis("IPU0 tile 5", false, Bytes(0)), "of IPU0 tile 5, by category");
  EXPECT_EQ(pages::addressBasis("IPU0 tile 5", true, Bytes(2048)),
            "of IPU0 tile 5, by category; the tab Variables has the offset of each variable; 2.00 KiB need "
            "interleaved memory, but lie elsewhere because no room was found there");
}

TEST_F(MemoryPageTest, AWrongTileStaysInItsFieldWithTheReason) {
  openMemory();
  choose(QStringLiteral("5"));
  choose(QStringLiteral("5,99999"));
  EXPECT_EQ(units()->text(), QStringLiteral("5,99999"));
  const auto reasons = [&] {
    QStringList shown;
    for (const QLabel* label : window->currentPage()->findChildren<QLabel*>()) {
      if (label->isVisible() && label->text().startsWith(QStringLiteral("There is no tile")))
        shown << label->text();
    }
    return shown;
  };
  EXPECT_EQ(reasons(), QStringList{QStringLiteral("There is no tile 99999: those shown are 0–5887.")});
  EXPECT_EQ(child<Chart>()->mark(), 5) << "what was selected stays";
  picture("memory_wrong_tile");
  choose(QStringLiteral("7"));
  EXPECT_TRUE(reasons().isEmpty());
  EXPECT_EQ(child<Chart>()->mark(), 7);
}

TEST_F(MemoryPageTest, ACapacityThatWouldFlattenTheBarsIsLeftOut) {
  const auto showsCapacity = [&](const FixtureOptions& options) {
    fixture = std::make_unique<ProfileFixture>(options);
    open(fixture->profile(), QStringLiteral("memory"));
    EXPECT_TRUE(settle());
    for (const QCheckBox* box : window->currentPage()->findChildren<QCheckBox*>()) {
      if (box->text() == QStringLiteral("Capacity")) return box->isChecked();
    }
    ADD_FAILURE() << "no box for the capacity";
    return false;
  };
  EXPECT_TRUE(showsCapacity({})) << "the tiles are filled to a third";
  const Chart* chart = child<Chart>();
  const std::int64_t most = chart->total(chart->highest());
  ASSERT_GT(most, 0);
  EXPECT_TRUE(showsCapacity({.tileBytes = 10 * most})) << "the fullest tile uses a tenth";
  EXPECT_FALSE(showsCapacity({.tileBytes = 10 * most + 10})) << "it uses less than a tenth";
}

TEST_F(MemoryPageTest, WithoutUnitMapsTheTablesSaySo) {
  openMemory({.unitMaps = false});
  EXPECT_FALSE(table("variables").rows.empty()) << "all tiles together are known";
  choose(QStringLiteral("5"));
  EXPECT_TRUE(table("variables").rows.empty());
  EXPECT_EQ(
      table("variables").basis,
      "this profile does not say which tile holds what: run again with --record steps or --record tiles");
}

}  // namespace
}  // namespace pipescope::testing
