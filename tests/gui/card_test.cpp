// Tests the pages for a Gaudi, a device without tiles. The profile records one of two replicas, with engines
// that work in parallel, and HBM.
#include <QCheckBox>
#include <QComboBox>
#include <QLabel>
#include <QLineEdit>
#include <QTabWidget>
#include <QTextLayout>
#include <set>

#include "profiler/geometry/timeline/timeline_search.h"
#include "profiler/record/recorder.h"
#include "views/pages/parts/data/text.h"
#include "views/pages/parts/layout/facts.h"
#include "views/pages/parts/layout/panel.h"
#include "views/pages/parts/tables/data_table.h"
#include "views/pages/parts/tables/range_table.h"
#include "views/pages/parts/tables/section_table_model.h"
#include "views/timeline/timeline_canvas.h"
#include "window_test.h"

namespace pipescope::testing {
namespace {

using model::LaneRole;
using model::StepKind;

/// `withHost`: the host launches work within the pass and copies samples beside it.
std::shared_ptr<record::MemoryProfile> cards(bool withHost = false) {
  auto profile = std::make_shared<record::MemoryProfile>();
  record::Recorder recorder(*profile);
  recorder.add(model::Target{"hls-gaudi2:2", "gaudi", "a box", 2, 1, model::TickMeaning::time});
  std::map<LaneRole, model::LaneId> lanes;
  model::DeviceId first;
  model::MemorySpaceId space;
  for (int d = 0; d < 2; ++d) {
    model::Device device;
    device.kind = "gaudi2";
    device.name = "HPU" + std::to_string(d);
    device.ticksPerSecond = 1'000'000'000'000;
    device.unitName = "card";
    device.clock = "MME 1.65 GHz";
    const model::DeviceId id = recorder.add(device);
    for (const LaneRole role : {LaneRole::matrix, LaneRole::vector, LaneRole::copy, LaneRole::host}) {
      if (!withHost && (role == LaneRole::copy || role == LaneRole::host)) continue;
      const model::LaneId lane = recorder.add(model::Lane{{}, id, "", role, {}});
      if (d == 0) lanes[role] = lane;
    }
    const auto memory = recorder.add(model::MemorySpace{{}, id, "hbm", 1, base::Bytes(96'000'000'000), {}});
    if (d == 0) first = id, space = memory;
  }
  model::Executable executable;
  executable.name = "training";
  executable.strategy = "pipelined";
  executable.stages = 1;
  executable.replicas = 2;
  executable.microBatches = 1;
  executable.microBatchSize = 8;
  const auto id = recorder.add(executable);
  recorder.add(model::Stage{id, 0, first, "stem layer1 layer2 layer3 head", 0, {}});
  recorder.add(model::UnitMemory{id, space, "weight", "", true, 0, 1, base::Bytes(1'000'000)});
  const auto name = recorder.add(model::DebugContext{{}, {}, "weight", "variable"});
  recorder.add(model::Variable{
      {}, id, space, name, "weight", "", base::Bytes(1'000'000), base::Bytes(1'000'000), true, 0});
  recorder.add(model::LivenessStep{id, space, 0, {}, model::Pass::forward, base::Bytes(5), base::Bytes(5)});
  model::Segment segment;
  segment.executable = id;
  segment.device = first;
  segment.lane = lanes.at(LaneRole::matrix);
  segment.stage = 0;
  segment.ticks = base::Ticks(100);
  const auto work = recorder.add(segment);
  for (const auto& [role, offset, ticks] :
       {std::tuple(LaneRole::matrix, 0, 70), {LaneRole::vector, 30, 70}}) {
    model::Step step;
    step.segment = work;
    step.lane = lanes.at(role);
    step.offset = base::Ticks(offset);
    step.ticks = step.minTicks = step.maxTicks = base::Ticks(ticks);
    step.meanTicks = ticks;
    step.activeUnits = 1;
    step.program = recorder.add(model::Program{{}, {}, id, first, "OnTileExecute", name, {}});
    recorder.add(step);
  }
  model::Placement placement;
  placement.segment = work;
  placement.device = first;
  placement.end = base::Ticks(100);
  placement.run = model::RunId(0);
  placement.stage = 0;
  placement.microBatch = placement.iteration = 0;
  recorder.add(placement);
  if (withHost) {
    model::Step launch;
    launch.segment = work;
    launch.lane = lanes.at(LaneRole::host);
    launch.ticks = base::Ticks(10);
    launch.kind = StepKind::control;
    recorder.add(launch);
    model::Segment copies = segment;
    copies.lane = lanes.at(LaneRole::host);
    copies.pass = model::Pass::hostIn;
    copies.ticks = base::Ticks(50);
    model::Placement beside = placement;
    beside.segment = recorder.add(copies);
    beside.pass = model::Pass::hostIn;
    beside.end = base::Ticks(50);
    recorder.add(beside);
  }
  model::Run run;
  run.executable = id;
  run.end = base::Ticks(100);
  recorder.add(run);
  EXPECT_TRUE(recorder.finish(model::ProfileState::complete).ok());
  return profile;
}

class CardTest : public WindowTest {
 protected:
  QString fact(const QString& label) const {
    for (const pages::FactGrid* grid : window->currentPage()->findChildren<pages::FactGrid*>()) {
      if (const QString value = grid->value(label); !value.isEmpty()) return value;
    }
    return {};
  }
};

TEST_F(CardTest, TheTraceKnowsNoTiles) {
  open(cards(), QStringLiteral("trace"));
  auto* table = child<pages::RangeTable>();
  ASSERT_TRUE(waitFor([&] { return table->ranges()->rowCount() == 1; }))
      << "HPU1 does the same as HPU0: not idle";
  EXPECT_DOUBLE_EQ(table->ranges()->rows()[0].parallelEfficiency, 1) << "engines side by side count once";
  EXPECT_TRUE(table->isColumnHidden(pages::RangeModel::balance));
  EXPECT_FALSE(table->ranges()
                   ->headerData(pages::RangeModel::efficiency, Qt::Horizontal, Qt::ToolTipRole)
                   .toString()
                   .contains(QStringLiteral("tile")));
  EXPECT_EQ(window->currentPage()->notice(),
            QStringLiteral("Replica 0 of 2 is shown: the others do the same at the same time and are not "
                           "recorded one by one."));
  auto* tabs = child<QTabWidget>();
  for (int tab = 0; tab < tabs->count(); ++tab) {
    // Nothing is looked for, and the host's threads were not recorded.
    if (tabs->tabText(tab) == QStringLiteral("Found") || tabs->tabText(tab) == QStringLiteral("Host"))
      continue;
    EXPECT_EQ(tabs->isTabVisible(tab), tabs->tabText(tab) != QStringLiteral("Tiles"));
  }
  auto* canvas = child<timeline::TimelineCanvas>();
  canvas->select(geometry::TimelineSearch(canvas->scene()).stepOf(model::ProgramId(0), 0, base::Ticks(0)));
  EXPECT_EQ(fact(QStringLiteral("Kind")), QStringLiteral("compute"));
  EXPECT_EQ(fact(QStringLiteral("Active cards")), QString());
  EXPECT_EQ(fact(QStringLiteral("Balance")), QString());
  picture("card_trace");
}

TEST_F(CardTest, LanesHaveDistinctNamesAndEmptyOnesHaveNoRow) {
  open(cards(true), QStringLiteral("trace"));
  const auto& layout = child<timeline::TimelineCanvas>()->scene().layout();
  QStringList names;
  // The first row has the name of the device.
  for (int i = 1; i < layout.groups[0].rows; ++i) {
    const geometry::TimelineRow& row = layout.rows[static_cast<std::size_t>(layout.groups[0].firstRow + i)];
    if (!row.label.empty()) names << QString::fromStdString(row.label);
  }
  EXPECT_EQ(names.removeDuplicates(), 0) << names.join(QStringLiteral(", ")).toStdString();
  EXPECT_EQ(names.filter(QStringLiteral("host")).size(), 2) << names.join(QStringLiteral(", ")).toStdString();
  EXPECT_TRUE(names.filter(QStringLiteral("DMA")).isEmpty()) << "nothing happens there";
}

TEST_F(CardTest, TheSummaryTellsItsClockAndCountsInWords) {
  open(cards(), QStringLiteral("summary"));
  EXPECT_EQ(fact(QStringLiteral("Clock")), QStringLiteral("MME 1.65 GHz"));
  EXPECT_EQ(fact(QStringLiteral("Per device")), QString());
  EXPECT_EQ(fact(QStringLiteral("Devices")), QStringLiteral("2 × gaudi2, 1 holds a stage"));
  EXPECT_EQ(fact(QStringLiteral("Memory")), QStringLiteral("89.4 GiB HBM each"));
  int stages = 0;
  for (const pages::FigureCard* card : window->currentPage()->findChildren<pages::FigureCard*>()) {
    if (card->caption() != QStringLiteral("The only stage")) continue;
    ++stages;
    EXPECT_EQ(card->accessibleDescription(), QStringLiteral("stem layer1..3 head on HPU0"));
    EXPECT_EQ(card->toolTip(), QStringLiteral("stem layer1 layer2 layer3 head on HPU0"));
  }
  EXPECT_EQ(stages, 1);
  picture("card_summary");
}

TEST_F(CardTest, MemoryInOnePieceHasNoTilesToChoose) {
  open(cards(), QStringLiteral("memory"));
  EXPECT_FALSE(child<QLineEdit>(QStringLiteral("Selected tiles"))->isVisible());
  EXPECT_FALSE(child<QComboBox>(QStringLiteral("View"))->isVisible());
  for (const pages::DataTable* table : window->currentPage()->findChildren<pages::DataTable*>()) {
    EXPECT_EQ(table->model()->table().basis.find("tile"), std::string::npos) << table->title().toStdString();
  }
  // The bar for 1 MB would be invisible on an axis up to 96 GB.
  auto* capacity = window->currentPage()->findChildren<QCheckBox*>().last();
  ASSERT_EQ(capacity->text(), QStringLiteral("Capacity"));
  EXPECT_FALSE(capacity->isChecked());
  QTest::mouseClick(capacity, Qt::LeftButton, {}, QPoint(8, capacity->height() / 2));
  EXPECT_TRUE(capacity->isChecked());
  window->currentPage()->reload();
  ASSERT_TRUE(settle());
  EXPECT_TRUE(capacity->isChecked()) << "what the user chose stays";
  picture("card_memory");
  showPage(QStringLiteral("liveness"));
  EXPECT_FALSE(child<QComboBox>(QStringLiteral("Bytes of"))->isVisible());
  picture("card_liveness");
}

TEST_F(CardTest, AFigureShowsItsWholeDetailWhereFourLinesHoldIt) {
  pages::FigureCard card(*palette, nullptr);
  const QString one = QStringLiteral("fullest tile 98.2 % full"),
                two =
                    QStringLiteral("encoder/layer0..1 on IPU1, 1.10 × the mean of all stages, gaps included");
  QString many;
  for (int i = 0; i < 40; ++i) many += two + QLatin1Char(' ');
  card.setFigure(QStringLiteral("Memory"), QStringLiteral("Fits"), one, {});
  EXPECT_EQ(card.detailShown(300).replace(QChar(0xa0), QLatin1Char(' ')), one);
  const int height = card.heightForWidth(300);
  card.setFigure(QStringLiteral("Memory"), QStringLiteral("Fits"), two, {});
  EXPECT_EQ(card.detailShown(240).replace(QChar(0xa0), QLatin1Char(' ')), two);
  EXPECT_GT(card.heightForWidth(240), height) << "grows with the lines";
  card.setFigure(QStringLiteral("Memory"), QStringLiteral("Fits"), many, {});
  EXPECT_TRUE(card.detailShown(240).endsWith(QStringLiteral("…")));
  EXPECT_GT(card.detailShown(240).size(), two.size()) << "four lines of it";
  EXPECT_LT(card.detailShown(240).size(), many.size() / 4);
}

TEST_F(CardTest, AStatementThatDoesNotFitIsLeftOutAsAWhole) {
  pages::FigureCard card(*palette, nullptr);
  const QString change = QStringLiteral("839,537 → 841,731 cycles, +2,194"),
                before = QStringLiteral("before, 80 %: 730,448 … 1,067,272 cycles"),
                now = QStringLiteral("now, 80 %: 732,357 … 1,070,061 cycles");
  const QString all = QStringList{change, before, now}.join(QStringLiteral("; "));
  card.setFigure(QStringLiteral("Step time"), QStringLiteral("+0.3 %"), all, {});
  std::set<QString> shown;
  for (int width = 100; width < 900; width += 10)
    shown.insert(card.detailShown(width).replace(QChar(0xa0), QLatin1Char(' ')));
  const QString one = change + QStringLiteral("; …"),
                two = change + QStringLiteral("; ") + before + QStringLiteral("; …");
  EXPECT_TRUE(shown.contains(one) && shown.contains(two) && shown.contains(all));
  for (const QString& words : shown) {
    EXPECT_TRUE(words == one || words == two || words == all || !words.contains(QLatin1Char(';')))
        << words.toStdString();
  }
}

TEST_F(CardTest, NoLineEndsBetweenAFigureAndItsUnit) {
  pages::FigureCard card(*palette, nullptr);
  card.setFigure(QStringLiteral("Memory"), QStringLiteral("Fits"),
                 QStringLiteral("fullest: 706 KiB of 624 KiB, 1.10 × the mean, 51 % of 2.52 µs and 4 stages"),
                 {});
  int broken = 0;
  for (int width = 120; width <= 400; ++width) {
    QTextLayout layout(card.detailShown(width), card.font());
    layout.beginLayout();
    for (QTextLine line = layout.createLine(); line.isValid(); line = layout.createLine()) {
      line.setLineWidth(width);
      const QString words = layout.text().mid(line.textStart(), line.textLength()).trimmed();
      const bool last = line.textStart() + line.textLength() >= layout.text().size();
      EXPECT_TRUE(last || !words.back().isDigit()) << width << ": " << words.toStdString();
      broken += last ? 0 : 1;
    }
    layout.endLayout();
  }
  EXPECT_GT(broken, 100) << "there are lines that end";
}

TEST(Unbroken, KeepsFiguresWithTheirUnitsAndItemsOfAListTogether) {
  const auto kept = [](QString text) { return text.replace(QLatin1Char('_'), QChar::Nbsp); };
  EXPECT_EQ(pages::unbroken(QStringLiteral("458,571 /s, 3.2 %")), kept(QStringLiteral("458,571_/s, 3.2_%")));
  EXPECT_EQ(pages::unbroken(QStringLiteral("fill 36,158 · slower stage 60,531")),
            kept(QStringLiteral("fill_36,158 · slower_stage_60,531")));
  const QString sentence = QStringLiteral("waits for the first stage of the pipeline");
  EXPECT_EQ(pages::unbroken(sentence), sentence);
  EXPECT_EQ(pages::unbroken(sentence + QStringLiteral(" · ") + sentence),
            sentence + QStringLiteral(" · ") + sentence)
      << "long items may be broken";
}

TEST_F(WindowTest, ACardLeavesBracketsOutBeforeItsFigureIsCut) {
  pages::FigureCard card(*palette);
  card.setFigure(QStringLiteral("Step time"), QStringLiteral("19,656,194 cycles (14.8 ms)"), {}, {});
  EXPECT_EQ(card.valueShown(2'000), card.value());
  EXPECT_EQ(card.valueShown(100), QStringLiteral("19,656,194 cycles"));
  card.setFigure(QStringLiteral("Limiting stage"), QStringLiteral("Stage 0"), {}, {});
  EXPECT_EQ(card.valueShown(1), card.value());
}

}  // namespace
}  // namespace pipescope::testing
