// Tests how parts of pages share their room: trees and their columns, cards of the start page, names of
// columns in a matrix, and the titles of the help.
#include <QPushButton>
#include <QTreeView>

#include "views/pages/parts/tables/section_table_model.h"
#include "views/pages/parts/tables/tree_table.h"
#include "views/shell/card_list.h"
#include "views/shell/help/help_book.h"
#include "views/shell/home.h"
#include "views/shell/sample_list.h"
#include "views/timeline/wait_matrix.h"
#include "window_test.h"

namespace pipescope::testing {
namespace {

using pages::TreeRows;
using pages::TreeTable;
using sections::Format;

TreeRows programTree(std::int64_t longest) {
  TreeRows rows;
  rows.table = {"tree",
                "Program tree",
                "times in µs, without waits",
                {{"program", "Program", Format::plain, ""},
                 {"cycles", "Time", Format::ticks, ""},
                 {"programs", "Programs", Format::count, ""},
                 {"callers", "Callers", Format::count, ""}},
                {{std::string("Sequence (training)"), longest, std::int64_t{9}, {}},
                 {std::string("OnTileExecute (layer1/conv/weight/update/Moment2/Square_scaled_add)"),
                  std::int64_t{5'440},
                  std::int64_t{1},
                  {}}}};
  rows.parents = {-1, 0};
  rows.sources = {0, 1};
  return rows;
}

TEST(TreeColumns, GiveWayToNames) {
  const shell::Palette palette;
  TreeTable tree(palette);
  tree.setYielding({"callers", "programs"});
  tree.setRows(programTree(90'000));
  tree.show();
  const auto hidden = [&](int width) {
    tree.resize(width, 300);
    QCoreApplication::processEvents();
    QString keys;
    for (int c = 0; c < tree.model()->columnCount(); ++c)
      keys += tree.view()->isColumnHidden(c) ? QString::number(c) : QString();
    return keys;
  };
  EXPECT_EQ(hidden(1'200), QString());
  const QFontMetrics metrics(tree.font());
  const int name = metrics.horizontalAdvance(tree.model()->indexOf(1).data().toString());
  int width = 1'200;
  while (width > 300 && hidden(width).isEmpty()) width -= 10;
  EXPECT_EQ(hidden(width), QStringLiteral("3")) << "the first that may give way";
  EXPECT_GE(tree.view()->columnWidth(0), std::min(name, 480)) << "the name is not cut off";
  while (width > 300 && hidden(width).size() < 2) width -= 10;
  EXPECT_EQ(hidden(width), QStringLiteral("23"));
  EXPECT_EQ(hidden(1'200), QString()) << "a wide tree has all columns again";
}

TEST(TreeColumns, HaveOneUnitAndAlignedDecimals) {
  const shell::Palette palette;
  TreeTable tree(palette);
  const auto times = [&] {
    return QStringList{tree.model()->indexOf(0, 1).data().toString(),
                       tree.model()->indexOf(1, 1).data().toString()};
  };
  tree.setRows(programTree(90'000));
  EXPECT_EQ(times(), (QStringList{QStringLiteral("90,000"), QStringLiteral("5,440")}));
  tree.setRows(programTree(250'000));
  EXPECT_NE(tree.ownRows().table.basis.find("times in ms"), std::string::npos);
  EXPECT_EQ(times(), (QStringList{QStringLiteral("250.00"), QStringLiteral("5.44")}));
}

TEST(TableHeadings, OfPartsNameTheWhole) {
  pages::SectionTableModel model;
  model.setTable({"devices",
                  "Devices",
                  "",
                  {{"span", "Span", Format::ticks, ""},
                   {"idle", "Idle", Format::ticks, ""},
                   {"host", "  for the host", Format::ticks, ""},
                   {"own", "  of the device", Format::ticks, ""},
                   {"busy", "Computing", Format::ticks, ""}},
                  {}});
  QStringList headings;
  for (int c = 0; c < model.columnCount(); ++c)
    headings << model.headerData(c, Qt::Horizontal, Qt::DisplayRole).toString();
  EXPECT_EQ(headings.join(QStringLiteral(" | ")),
            QStringLiteral("Span | Idle | Idle, for the host | Idle, of the device | Computing"));
}

TEST(Cards, HaveRoomForTheirNumber) {
  using shell::CardList;
  for (const int room : {300, 806, 976, 1'100, 1'900, 3'700}) {
    const int columns = CardList::columnsIn(room);
    EXPECT_LE(CardList::widthOf(columns), std::max(room, CardList::widthOf(1)));
    EXPECT_GT(CardList::widthOf(columns + 1), room) << "one more would have room";
    EXPECT_EQ(CardList::columnsIn(CardList::widthOf(columns)), columns);
  }
}

class HomeLookTest : public WindowTest {};

TEST_F(HomeLookTest, CardsEndBelowTheButtons) {
  std::vector<shell::Sample> samples;
  for (int i = 0; i < 20; ++i)
    samples.push_back({QStringLiteral("sample%1").arg(i), QStringLiteral("A sample."),
                       QStringLiteral("/samples/%1.toml").arg(i)});
  window->home()->setSamples(samples);
  for (const QSize& size : {QSize(1024, 700), QSize(1440, 900), QSize(3840, 2160)}) {
    window->resize(size);
    window->show();
    QCoreApplication::processEvents();
    const auto* list = window->home()->findChild<shell::SampleList*>();
    ASSERT_NE(list, nullptr);
    int cards = 0, buttons = 0;
    for (int i = 0; i < list->count(); ++i) {
      const QRect card = list->visualItemRect(list->item(i));
      cards = std::max(cards, list->viewport()->mapTo(window.get(), card.topRight()).x());
    }
    for (const auto* button : window->home()->findChildren<QPushButton*>()) {
      if (button->isVisible())
        buttons = std::max(buttons, button->mapTo(window.get(), button->rect().topRight()).x());
    }
    constexpr int kGap = shell::CardList::kTrailing - shell::CardList::kListMargin;
    EXPECT_NEAR(cards - kGap, buttons, 2) << size.width();
  }
}

TEST(MatrixNames, NumbersAreEvenlyApart) {
  const shell::Palette palette;
  timeline::WaitMatrix matrix(palette);
  QStringList rows = {QStringLiteral("rank 0")}, columns;
  for (int i = 0; i < 44; ++i) columns << QString::number(i);
  matrix.setMatrix(rows, columns, {});
  matrix.resize(1'200, 200);
  matrix.show();
  const QStringList drawn = matrix.drawnColumns();
  ASSERT_GE(drawn.size(), 3);
  const int apart = drawn[1].toInt() - drawn[0].toInt();
  for (int i = 1; i < drawn.size(); ++i)
    EXPECT_EQ(drawn[i].toInt() - drawn[i - 1].toInt(), apart) << "also before the last one";
}

TEST(HelpTitles, ArePagesAsTheWindowNamesThem) {
  const shell::HelpBook& book = shell::HelpBook::builtIn();
  const auto title = [&](const char* anchor) {
    const shell::HelpSection* section = book.section(QStringLiteral("pages"), QLatin1String(anchor));
    return section == nullptr ? QString() : section->title;
  };
  EXPECT_EQ(title("what-if"), QStringLiteral("What if"));
  EXPECT_EQ(title("summary"), QStringLiteral("Summary"));
}

}  // namespace
}  // namespace pipescope::testing
