// Tests the widths, heights and texts of tables: in the smallest window that the program is made for, and on
// large screens.
#include <set>

#include <QHeaderView>
#include <QLabel>
#include <QLineEdit>
#include <QPixmap>
#include <QScrollBar>
#include <QTableView>
#include <QToolButton>
#include <QTreeView>
#include <QWheelEvent>

#include "views/pages/parts/layout/columns_area.h"
#include "views/pages/parts/layout/panel.h"
#include "views/pages/parts/tables/data_table.h"
#include "views/pages/parts/tables/data_table_cells.h"
#include "views/pages/parts/tables/range_table.h"
#include "views/pages/parts/tables/section_table_model.h"
#include "views/pages/parts/tables/table_menu.h"
#include "views/pages/parts/tables/tree_table.h"
#include "views/shell/help/help_mark.h"
#include "window_test.h"

namespace pipescope::testing {
namespace {

class TableLayoutTest : public WindowTest {
 protected:
  void openAt(const QSize& size, const QString& page, const FixtureOptions& options = {}) {
    window->resize(size);
    open(ProfileFixture(options).profile(), page);
    QCoreApplication::processEvents();
  }
};

TEST_F(TableLayoutTest, ColumnsOfFiguresLieSideBySide) {
  pages::DataTable table(*palette);
  table.resize(900, 200);
  table.show();
  sections::SectionTable figures{"figures", "Figures", "", {}, {{}}};
  for (const char* key : {"a", "b", "c", "d"}) {
    figures.columns.push_back({key, key, sections::Format::count, ""});
    figures.rows[0].emplace_back(std::int64_t{12});
  }
  table.setTable(figures);
  QCoreApplication::processEvents();
  const QHeaderView* header = table.view()->horizontalHeader();
  for (int column = 1; column < 4; ++column)
    EXPECT_NEAR(header->sectionSize(column), header->sectionSize(0), 8) << column;
}

sections::SectionTable timesTable(std::int64_t longest) {
  sections::SectionTable table{"times", "Times", "µs per iteration", {}, {}};
  table.columns = {{"name", "Name", sections::Format::plain, ""},
                   {"cycles", "Time", sections::Format::ticks, ""},
                   {"other_cycles", "Other", sections::Format::ticks, ""}};
  table.rows = {{std::string("a"), longest, std::int64_t{5'000'000}},
                {std::string("b"), longest / 4, std::int64_t{250'000}}};
  return table;
}

/// A million ticks are a microsecond, as on Gaudis.
TEST_F(TableLayoutTest, ATableOfLongTimesIsInMillisecondsOrSeconds) {
  constexpr double kPerMicrosecond = 1'000'000;
  pages::DataTable table(*palette);
  const auto shown = [&](int row, int column) { return table.model()->index(row, column).data().toString(); };
  table.setTable(timesTable(99'000'000'000), kPerMicrosecond);
  EXPECT_EQ(shown(0, 1), QStringLiteral("99,000"));
  table.setTable(timesTable(419'447'000'000), kPerMicrosecond);
  EXPECT_EQ(shown(0, 1), QStringLiteral("419.45"));
  EXPECT_EQ(shown(1, 1), QStringLiteral("104.86"));
  EXPECT_EQ(shown(0, 2), QStringLiteral("0.0050"));
  QStringList words;
  for (const QLabel* label : table.findChildren<QLabel*>()) words << label->text();
  EXPECT_TRUE(words.contains(QStringLiteral("ms per iteration")))
      << words.join(QLatin1Char('|')).toStdString();
  table.setTable(timesTable(31'700'000'000'000), kPerMicrosecond);
  EXPECT_EQ(shown(0, 1), QStringLiteral("31,700"));
  table.setTable(timesTable(317'000'000'000'000), kPerMicrosecond);
  EXPECT_EQ(shown(0, 1), QStringLiteral("317.00"));
}

TEST_F(TableLayoutTest, ManySmallSharesHaveBarsToTheLargest) {
  sections::SectionTable shares{
      "shares", "Shares", "", {{"share", "Share", sections::Format::fraction, ""}}, {}};
  shares.rows = {{0.012}, {0.006}};
  pages::DataTable whole(*palette), largest(*palette);
  largest.setBarsToLargest();
  whole.setTable(shares);
  largest.setTable(shares);
  const auto bar = [](const pages::DataTable& table, int row) {
    return table.model()->index(row, 0).data(pages::SectionTableModel::kShareRole).toDouble();
  };
  EXPECT_DOUBLE_EQ(bar(whole, 0), 0.012);
  EXPECT_DOUBLE_EQ(bar(largest, 0), 1);
  EXPECT_DOUBLE_EQ(bar(largest, 1), 0.5);
}

/// Turns the wheel over a widget by one notch down.
void turnWheel(QWidget* over) {
  const QPoint at = over->rect().center();
  QWheelEvent event(at, over->mapToGlobal(at), {}, {0, -120}, Qt::NoButton, Qt::NoModifier, Qt::NoScrollPhase,
                    false);
  QApplication::sendEvent(over, &event);
}

TEST_F(TableLayoutTest, AScrollingPageKeepsTheWheelUntilATableIsChosen) {
  openAt({1100, 600}, QStringLiteral("summary"));
  auto* area = child<pages::ColumnsArea>();
  pages::DataTable* options = nullptr;
  for (auto* table : window->currentPage()->findChildren<pages::DataTable*>())
    if (table->isVisible() && table->title() == QLatin1String("Options")) options = table;
  ASSERT_NE(options, nullptr);
  QScrollBar *page = area->verticalScrollBar(), *rows = options->view()->verticalScrollBar();
  ASSERT_GT(page->maximum(), 0);
  ASSERT_GT(rows->maximum(), 0);
  window->setFocus();
  turnWheel(options->view()->viewport());
  EXPECT_GT(page->value(), 0);
  EXPECT_EQ(rows->value(), 0);
  const int before = page->value();
  window->activateWindow();
  options->view()->setFocus();
  ASSERT_TRUE(QTest::qWaitFor([&] { return options->view()->hasFocus(); }));
  turnWheel(options->view()->viewport());
  EXPECT_GT(rows->value(), 0);
  EXPECT_EQ(page->value(), before);
  // A table that cannot scroll further gives the wheel back.
  rows->setValue(rows->maximum());
  turnWheel(options->view()->viewport());
  EXPECT_GT(page->value(), before);
}

TEST_F(TableLayoutTest, ABarOfAShareLiesBesideItsOwnFigureAndNotBesideTheOneBefore) {
  pages::DataTable table(*palette);
  table.resize(600, 150);
  table.show();
  table.setTable(
      {"shares",
       "Shares",
       "",
       {{"count", "Count", sections::Format::count, ""}, {"share", "Share", sections::Format::fraction, ""}},
       {{std::int64_t{12}, 0.25}}});
  QCoreApplication::processEvents();
  const QTableView* view = table.view();
  const QRect cell = view->visualRect(view->model()->index(0, 1));
  ASSERT_GT(cell.width(), 160) << "the bar must lie in the second half";
  const QImage picture = view->viewport()->grab(cell).toImage();
  ASSERT_EQ(picture.width(), cell.width());
  std::vector<int> filled, rest;  // columns of the bar
  for (int x = 0; x < picture.width(); ++x) {
    const QColor colour = picture.pixelColor(x, picture.height() / 2);
    if (colour == palette->ui(shell::Ui::accent)) filled.push_back(x);
    if (colour == palette->ui(shell::Ui::grid)) rest.push_back(x);
  }
  ASSERT_EQ(filled.size(), pages::kBarWidth / 4U);
  EXPECT_GT(filled.front(), cell.width() / 2);
  ASSERT_GE(rest.size(), pages::kBarWidth * 3U / 4) << "the rest of the whole; a line may end the cell";
  EXPECT_EQ(rest.front(), filled.back() + 1);
}

TEST_F(TableLayoutTest, OfSeveralWidgetsOnlyTheOneShownNeedsRoom) {
  pages::OneOf widgets;
  auto *low = new QWidget, *tall = new QWidget;
  low->setMinimumSize(30, 40);
  tall->setMinimumSize(50, 600);
  widgets.add(low);
  widgets.add(tall);
  widgets.show();
  EXPECT_EQ(widgets.minimumSizeHint(), QSize(30, 40));
  widgets.showOnly(1);
  EXPECT_TRUE(tall->isVisible() && !low->isVisible());
  EXPECT_EQ(widgets.minimumSizeHint(), QSize(50, 600));
  widgets.showOnly(0);
  EXPECT_EQ(widgets.current(), low);
  EXPECT_EQ(widgets.minimumSizeHint(), QSize(30, 40));
}

TEST_F(TableLayoutTest, TablesDoNotScrollSidewaysInASmallWindow) {
  openAt({1024, 700}, QStringLiteral("stages"));
  for (const char* page : {"stages", "engines", "pipeline", "trace", "what-if"}) {
    showPage(QLatin1String(page));
    QCoreApplication::processEvents();
    for (const QTableView* view : window->currentPage()->findChildren<QTableView*>()) {
      if (!view->isVisible() || view->model()->rowCount() == 0) continue;
      EXPECT_LE(view->horizontalHeader()->length(), view->viewport()->width() + 1)
          << page << ": " << view->accessibleName().toStdString();
    }
  }
}

TEST_F(TableLayoutTest, TheProportionsOfATraceGiveWayBeforeTheTableScrollsSideways) {
  openAt({1024, 700}, QStringLiteral("trace"));
  auto* table = child<pages::RangeTable>();
  constexpr int kStillReadable = 90, kStep = 5;
  for (int width = table->width(); table->columnWidth(pages::RangeModel::proportions) > kStillReadable;
       width -= kStep) {
    ASSERT_GT(width, 300);
    table->resize(width, table->height());
    ASSERT_LE(table->horizontalHeader()->length(), table->viewport()->width() + 1) << width;
  }
}

/// A table with a column of names and some of large numbers.
sections::SectionTable wideTable(const std::vector<std::string>& columns) {
  sections::SectionTable table{"wide", "Wide", "", {{"name", "Name", sections::Format::plain, ""}}, {{}}};
  table.rows[0].emplace_back(std::string("encoder/layer11/feed_forward/out"));
  for (const std::string& key : columns) {
    table.columns.push_back({key, key, sections::Format::count, ""});
    table.rows[0].emplace_back(std::int64_t{123'456'789'012});
  }
  return table;
}

TEST_F(TableLayoutTest, ColumnsGiveWayBeforeATableScrollsSideways) {
  pages::DataTable table(*palette);
  table.setYielding({"d", "b"});
  table.resize(900, 200);
  table.show();
  table.setTable(wideTable({"a", "b", "c", "d"}));
  auto* view = table.view();
  const auto hidden = [&] {
    QCoreApplication::processEvents();
    std::string keys;
    for (int c = 0; c < 5; ++c) keys += view->isColumnHidden(c) ? std::string(1, "nabcd"[c]) : "";
    return keys;
  };
  const auto fits = [&] { return view->horizontalHeader()->length() <= view->viewport()->width() + 1; };
  const QToolButton* menu = nullptr;
  for (const auto* button : table.findChildren<QToolButton*>())
    if (qobject_cast<const shell::HelpMark*>(button) == nullptr) menu = button;
  ASSERT_NE(menu, nullptr);
  EXPECT_EQ(hidden(), "");
  EXPECT_EQ(menu->text(), QStringLiteral("⋯"));
  int width = 900;
  while (width > 300 && hidden().empty()) table.resize(width -= 10, 200);
  EXPECT_EQ(hidden(), "d");
  EXPECT_TRUE(fits());
  EXPECT_EQ(menu->text().toStdString(), "+1 ⋯");
  EXPECT_TRUE(menu->toolTip().contains(QStringLiteral("the columns d."))) << menu->toolTip().toStdString();
  EXPECT_EQ(table.csv().section(QLatin1Char('\n'), 0, 0).toStdString(), "Name,a,b,c,d");
  table.resize(900, 200);
  EXPECT_EQ(hidden(), "");
  table.resize(width, 200);
  ASSERT_EQ(hidden(), "d");
  view->setColumnHidden(4, false);  // as its menu does
  table.resize(width - 1, 200);
  EXPECT_EQ(hidden(), "b") << "what the user has shown stays";
  table.setHidden([](const sections::SectionTable&) { return std::set<std::string>{"a"}; });
  table.setTable(wideTable({"a", "b", "c", "d"}));
  EXPECT_EQ(hidden(), "a");
  EXPECT_EQ(table.csv().section(QLatin1Char('\n'), 0, 0), QStringLiteral("Name,b,c,d"));
}

TEST_F(TableLayoutTest, ATreeGetsSmallerBeforeItScrollsSideways) {
  pages::TreeTable tree(*palette);
  tree.resize(1000, 200);
  tree.show();
  const auto fits = [&] {
    QCoreApplication::processEvents();
    return tree.view()->header()->length() <= tree.view()->viewport()->width() + 1;
  };
  const auto size = [&] { return tree.view()->font().pointSizeF(); };
  tree.setRows({wideTable({"a", "a rather long heading", "c"}), {-1}, {0}});
  EXPECT_TRUE(fits());
  const double usual = size();
  const int needed = tree.view()->header()->length() - tree.view()->columnWidth(0) + 300;
  tree.resize(needed - 20, 200);
  EXPECT_TRUE(fits());
  EXPECT_LT(size(), usual);
  EXPECT_GE(tree.view()->columnWidth(0), 240);
  for (int c = 1; c < 4; ++c)
    EXPECT_GT(tree.view()->columnWidth(c),
              tree.view()->header()->fontMetrics().horizontalAdvance(
                  tree.model()->headerData(c, Qt::Horizontal, Qt::DisplayRole).toString()));
  tree.resize(needed + 20, 200);
  EXPECT_TRUE(fits());
  EXPECT_EQ(size(), usual);
  // The figures come nearer to the names in a wide window.
  const int narrow = tree.view()->columnWidth(1);
  tree.resize(3600, 200);
  EXPECT_TRUE(fits());
  EXPECT_GT(tree.view()->columnWidth(1), narrow + 50);
  tree.resize(needed + 20, 200);
  EXPECT_TRUE(fits());
  EXPECT_EQ(tree.view()->columnWidth(1), narrow);
}

/// A table with one row: a name, and a sentence that has the given number of words.
sections::SectionTable sentences(int words) {
  sections::SectionTable table{
      "sentences",
      "Sentences",
      "",
      {{"name", "Name", sections::Format::plain, ""}, {"meaning", "Meaning", sections::Format::plain, ""}},
      {}};
  std::string sentence = "word";
  for (int i = 1; i < words; ++i) sentence += " word";
  for (const char* name : {"first", "second"}) table.rows.push_back({std::string(name), sentence});
  return table;
}

TEST_F(TableLayoutTest, SentencesOfAShortTableContinueInTheNextLine) {
  pages::DataTable table(*palette);
  table.setRowsShown(5);
  table.resize(400, 300);
  table.show();
  const auto* view = table.view();
  const auto height = [&](int words) {
    table.setTable(sentences(words));
    QCoreApplication::processEvents();
    EXPECT_LE(view->horizontalHeader()->length(), view->viewport()->width() + 1);
    EXPECT_GE(view->viewport()->height(), view->rowHeight(0) + view->rowHeight(1)) << "both rows are seen";
    return view->rowHeight(0);
  };
  const int line = view->fontMetrics().lineSpacing(), one = height(2);
  const int two = height(12), most = height(80);
  EXPECT_GE(two, one + line);
  EXPECT_LT(two, one + 2 * line);
  EXPECT_GE(most, one + 5 * line);
  EXPECT_LT(most, one + 6 * line) << "not more than six lines";
  table.resize(4'000, 300);
  QCoreApplication::processEvents();
  EXPECT_EQ(view->rowHeight(0), one);
  table.resize(400, 300);
  table.filter()->setText(QStringLiteral("second"));
  QCoreApplication::processEvents();
  EXPECT_EQ(view->rowHeight(0), most);
}

TEST_F(TableLayoutTest, RowsOfTablesTakeWhatChartsLeave) {
  openAt({1600, 900}, QStringLiteral("engines"));
  const auto rowHeight = [&] {
    QCoreApplication::processEvents();
    return child<pages::DataTable>()->view()->rowHeight(0);
  };
  const int usual = rowHeight();
  window->resize(3840, 2160);
  EXPECT_GE(rowHeight(), usual * 3 / 2);
  EXPECT_EQ(child<pages::ColumnsArea>()->verticalScrollBar()->maximum(), 0);
  const auto* table = child<pages::DataTable>();
  EXPECT_FALSE(table->view()->verticalScrollBar()->isVisible());
  window->resize(1600, 900);
  EXPECT_EQ(rowHeight(), usual);
}

TEST_F(TableLayoutTest, OnlySharesHaveBars) {
  pages::DataTable table(*palette);
  table.setTable({"checks",
                  "Checks",
                  "",
                  {{"share", "Share", sections::Format::fraction, ""},
                   {"bias", "Bias", sections::Format::fraction, ""},
                   {"delta_share", "Change", sections::Format::fraction, ""}},
                  {{0.2, 0.1, 0.3}, {0.3, -0.1, 0.4}}});
  const auto bar = [&](int column) {
    return table.model()->index(0, column).data(pages::SectionTableModel::kShareRole);
  };
  EXPECT_EQ(bar(0), QVariant(0.2));
  EXPECT_FALSE(bar(1).isValid()) << "a bias may be negative";
  EXPECT_FALSE(bar(2).isValid()) << "so may a change";
}

TEST_F(TableLayoutTest, ATableOfFewOperationsHasNoEmptyRoom) {
  openAt({1024, 700}, QStringLiteral("operations"));
  const auto* table = child<pages::DataTable>();
  ASSERT_TRUE(table->isVisible());
  EXPECT_LE(table->height(), table->sizeHint().height() + 8);
}

TEST_F(TableLayoutTest, MarksLeaveRoomForTheirTexts) {
  pages::DataTable table(*palette);
  table.resize(700, 200);
  table.show();
  sections::SectionTable rows = wideTable({"a"});
  rows.rows[0][0] = std::string("numerics");
  rows.columns.insert(rows.columns.begin() + 1, {"b", "b", sections::Format::plain, ""});
  rows.rows[0].insert(rows.rows[0].begin() + 1, std::string("a much longer text that takes the free room"));
  table.setTable(rows);
  QCoreApplication::processEvents();
  const int before = table.view()->columnWidth(0);
  table.setMarks({QPixmap(14, 14)});
  QCoreApplication::processEvents();
  EXPECT_GE(table.view()->columnWidth(0), before + 14);
}

TEST_F(TableLayoutTest, LongNamesOfRanksAreShownWithoutWhatTheyHaveInCommon) {
  sections::SectionTable ranks{"ranks", "Ranks", "", {}, {}};
  ranks.columns = {{"device_name", "Device", sections::Format::plain, ""},
                   {"sentence", "Sentence", sections::Format::plain, ""}};
  const std::string first = "DP rank [0], PP rank 0, TP rank 0", second = "DP rank [0], PP rank 1, TP rank 0";
  ranks.rows = {{first, first}, {second, second}};
  pages::SectionTableModel model;
  model.setTable(ranks);
  const QModelIndex name = model.index(1, 0), sentence = model.index(1, 1);
  EXPECT_EQ(name.data().toString(), "PP 1");
  EXPECT_EQ(name.data(Qt::ToolTipRole).toString().toStdString(), second);
  EXPECT_EQ(name.data(pages::kFullTextRole).toString().toStdString(), second);
  EXPECT_EQ(name.data(pages::SectionTableModel::kSortRole).toString().toStdString(), second);
  EXPECT_EQ(sentence.data().toString().toStdString(), second);
  pages::DataTable table(*palette);
  table.setTable(ranks);
  for (const char* wanted : {"PP 1", "PP rank 1"}) {
    table.filterBy(wanted, "device_name");
    ASSERT_EQ(table.view()->model()->rowCount(), 1) << wanted;
    EXPECT_EQ(table.view()->model()->index(0, 0).data().toString(), "PP 1") << wanted;
  }
  // Names that fit stay as they are.
  ranks.rows = {{std::string("rank 0, a"), first}, {std::string("rank 0, b"), second}};
  model.setTable(ranks);
  EXPECT_EQ(model.index(0, 0).data().toString(), "rank 0, a");
}

TEST_F(TableLayoutTest, ASingleRowIsNamedAsOne) {
  pages::DataTable table(*palette);
  table.setFilterVisible(true);
  table.setTable(wideTable({"a"}));
  QStringList words;
  for (const QLabel* label : table.findChildren<QLabel*>()) words << label->text();
  EXPECT_TRUE(words.contains(QStringLiteral("1 row"))) << words.join(QLatin1Char('|')).toStdString();
}

TEST_F(TableLayoutTest, WhereRoomIsShortTimesHaveThreeDigits) {
  pages::DataTable table(*palette);
  table.resize(300, 200);
  table.show();
  sections::SectionTable figures{"figures", "Figures", "", {}, {{}}};
  for (const char* key : {"a_cycles", "b_cycles", "c_cycles", "d_cycles"}) {
    figures.columns.push_back({key, "Exposed share", sections::Format::ticks, ""});
    figures.rows[0].emplace_back(std::int64_t{183'010'027});
  }
  figures.rows[0][1] = std::int64_t{9'999};
  table.setTable(figures);
  QCoreApplication::processEvents();
  const QAbstractItemModel& model = *table.view()->model();
  EXPECT_EQ(model.index(0, 0).data().toString(), QStringLiteral("183 M"));
  EXPECT_EQ(model.index(0, 0).data(Qt::ToolTipRole).toString(), QStringLiteral("183,010,027"));
  EXPECT_EQ(model.index(0, 1).data().toString(), QStringLiteral("9,999"));
  EXPECT_EQ(model.headerData(0, Qt::Horizontal).toString(), QStringLiteral("Exposed\nshare"));
  EXPECT_LE(table.view()->horizontalHeader()->length(), table.view()->viewport()->width() + 1);
  // Figures that leave the window are whole.
  EXPECT_TRUE(table.csv().startsWith(QStringLiteral("Exposed share (ticks),"))) << table.csv().toStdString();
  EXPECT_TRUE(table.csv().contains(QStringLiteral("183010027")));
  table.resize(900, 200);
  QCoreApplication::processEvents();
  EXPECT_EQ(model.index(0, 0).data().toString(), QStringLiteral("183,010,027"));
}

}  // namespace
}  // namespace pipescope::testing
