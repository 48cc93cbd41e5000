// Opens every page on every kind of profile: small and large models, both families of devices, stated costs,
// a model that does not fit, inference alone, a run that was stopped, and an imported trace. Each page shows
// content, or a sentence that says why there is none.
#include <QAbstractItemView>
#include <QAction>
#include <QApplication>
#include <QCheckBox>
#include <QClipboard>
#include <QFile>
#include <QLabel>
#include <QMenu>
#include <QRegularExpression>
#include <QTabWidget>
#include <QTemporaryDir>
#include <atomic>
#include <filesystem>
#include <functional>
#include <map>
#include <ostream>

#include "app/run/execute/run.h"
#include "app/run/orders/replay_schedules.h"
#include "app/run/request/configuration_keys.h"
#include "profiler/import/trace_import.h"
#include "profiler/record/memory_profile.h"
#include "profiler/sections/replays.h"
#include "profiler/store/profile_reader.h"
#include "views/pages/parts/data/section_lookup.h"
#include "views/pages/parts/data/system_data.h"
#include "views/pages/parts/layout/facts.h"
#include "views/pages/parts/layout/panel.h"
#include "views/pages/parts/tables/data_table.h"
#include "views/pages/parts/tables/section_table_model.h"
#include "views/pages/parts/tables/tree_table.h"
#include "views/shell/comparison.h"
#include "views/shell/profile_card.h"
#include "views/shell/sidebar.h"
#include "views/timeline/bar_chart.h"
#include "views/timeline/graph_canvas.h"
#include "window_test.h"

namespace pipescope::testing {
namespace {

using Source = std::shared_ptr<const model::ProfileSource>;

/// A kind of profile, and the pages that have nothing to show of it.
struct ProfileKind {
  std::string name;
  std::function<Source()> make;
  std::set<QString> withoutContent;
};
void PrintTo(const ProfileKind& kind, std::ostream* out) {
  *out << kind.name;
}

std::string pathOfSample(const std::string& name) {
  return std::string(PIPESCOPE_SOURCE_DIR) + "/samples/" + name;
}

/// Stops the run once a part of its work is done.
class StoppedProgress : public base::Progress {
 public:
  explicit StoppedProgress(double at) : at_(at) {}
  void report(double fraction, std::string_view) override { stopped_ = stopped_ || fraction >= at_; }
  bool cancelled() const override { return stopped_; }

 private:
  double at_;
  std::atomic<bool> stopped_ = false;
};

Source runSample(const std::string& sample,
                 const std::vector<std::pair<const char*, const char*>>& settings = {}, double stopAt = 2) {
  auto read = app::readConfiguration(pathOfSample(sample));
  if (!read.ok()) return ADD_FAILURE() << read.error().message, nullptr;
  config::Configuration configuration = std::move(read).value();
  EXPECT_TRUE(configuration.setText("execution.numerics", "false", config::Origin::flag).ok());
  for (const auto& [path, value] : settings) {
    const auto set = configuration.setText(path, value, config::Origin::flag);
    EXPECT_TRUE(set.ok()) << path;
  }
  const auto file = std::filesystem::temp_directory_path() / ("kind_" + std::to_string(getpid()) + ".pop");
  StoppedProgress progress(stopAt);
  const auto ran = app::runConfiguration(configuration, {file.string(), "test"}, progress);
  if (!ran.ok()) return ADD_FAILURE() << ran.error().message, nullptr;
  EXPECT_EQ(ran->cancelled, stopAt < 1);
  auto opened = store::ProfileReader::open(file.string());
  std::filesystem::remove(file);  // the reader keeps it open
  if (!opened.ok()) return ADD_FAILURE() << opened.error().message, nullptr;
  return std::move(opened).value();
}

Source importFile(const std::string& path) {
  auto profile = std::make_shared<record::MemoryProfile>();
  record::Recorder recorder(*profile);
  importing::ImportRequest request;
  request.paths = {path};
  request.temporaryFolder = std::filesystem::temp_directory_path();
  base::SilentProgress progress;
  const auto imported = importing::importTraces(request, recorder, progress);
  EXPECT_TRUE(imported.ok()) << (imported.ok() ? "" : imported.error().message);
  return profile;
}

Source importSample(const std::string& sample) {
  return importFile(pathOfSample(sample));
}

/// These pages need another profile, or a table of runs.
const std::set<QString> kWithoutProfile = {QStringLiteral("compare"), QStringLiteral("sweep")};

std::vector<ProfileKind> allKinds() {
  const QString recorded = QStringLiteral("recorded"), stragglers = QStringLiteral("stragglers"),
                training = QStringLiteral("training"), memory = QStringLiteral("memory"),
                liveness = QStringLiteral("liveness");
  // Without numerics there is no loss. The pages about recorded runs are for imported traces.
  const std::set<QString> emulated = {recorded, stragglers, training};
  return {{"mnist", [] { return runSample("mnist/pipelined.toml"); }, emulated},
          {"bert_large", [] { return runSample("bert_large/pipelined.toml"); }, emulated},
          {"gaudi", [] { return runSample("mnist/eight_gaudis.toml"); }, emulated},
          {"fixed",
           [] { return runSample("fixed/imbalanced.toml"); },
           {recorded, stragglers, training, memory, liveness}},
          {"out_of_memory",
           []() -> Source { return ProfileFixture({.overflow = true}).profile(); },
           {recorded, stragglers}},
          {"inference_only",
           [] {
             return runSample("mnist/pipelined.toml", {{"execution.mode", "inference"}});
           },
           emulated},
          {"cancelled", [] { return runSample("mnist/pipelined.toml", {}, 0.5); }, emulated},
          {"imported",
           [] { return importSample("traces/pipeline_1f1b"); },
           {training, memory, liveness, QStringLiteral("operations"), QStringLiteral("host"),
            QStringLiteral("graph")}}};
}

class EqualLayersTest : public WindowTest {
 protected:
  /// The tree of folded rows; null: rows are not folded.
  const pages::TreeTable* folded() const {
    for (const auto* tree : window->currentPage()->findChildren<pages::TreeTable*>())
      if (tree->isVisible()) return tree;
    return nullptr;
  }
  /// The most rows that are folded into one.
  static std::ptrdiff_t mostIn(const pages::TreeTable& tree) {
    std::ptrdiff_t most = 0;
    const std::vector<int>& parents = tree.ownRows().parents;
    for (int row = 0; row < static_cast<int>(parents.size()); ++row)
      most = std::max(most, std::ranges::count(parents, row));
    return most;
  }
};

TEST_F(EqualLayersTest, ManyAreFoldedAtFirst) {
  const Source bert = runSample("bert_large/pipelined.toml");
  ASSERT_NE(bert, nullptr);
  open(bert, QStringLiteral("operations"));
  ASSERT_TRUE(settle());
  ASSERT_NE(folded(), nullptr);
  EXPECT_EQ(mostIn(*folded()), 24) << "layers of the encoder";
  QString counted, summed;  // "1,234" of "1,234 rows" and of "Sum of the 1,234 rows shown: …"
  for (const QLabel* label : window->currentPage()->findChildren<QLabel*>()) {
    static const QRegularExpression kCount(QStringLiteral("^([\\d,]+) rows$")),
        kSum(QStringLiteral("^Sum of the ([\\d,]+) rows shown"));
    if (const auto match = kCount.match(label->text()); label->isVisible() && match.hasMatch())
      counted = counted.isEmpty() ? match.captured(1) : counted;
    if (const auto match = kSum.match(label->text()); match.hasMatch()) summed = match.captured(1);
  }
  EXPECT_FALSE(summed.isEmpty());
  EXPECT_EQ(counted.toStdString(), summed.toStdString());
  // A row of equal layers has a name of its own, and leads to the first of them.
  pages::TreeTable& tree = *window->currentPage()->findChild<pages::TreeTable*>();
  const std::unique_ptr<QMenu> menu(tree.makeRowMenu(0));
  const auto actionOf = [](const QMenu& of, const QString& name) -> QAction* {
    for (QAction* each : of.actions())
      if (each->text() == name) return each;
    return nullptr;
  };
  ASSERT_NE(actionOf(*menu, QStringLiteral("Copy name")), nullptr);
  actionOf(*menu, QStringLiteral("Copy name"))->trigger();
  EXPECT_TRUE(QApplication::clipboard()->text().contains(QLatin1Char('*')))
      << QApplication::clipboard()->text().toStdString();
  const QAction* showIn = actionOf(*menu, QStringLiteral("Show in"));
  ASSERT_NE(showIn, nullptr);
  ASSERT_NE(actionOf(*showIn->menu(), QStringLiteral("Memory")), nullptr);
  actionOf(*showIn->menu(), QStringLiteral("Memory"))->trigger();
  ASSERT_TRUE(settle());
  EXPECT_EQ(window->currentPage()->accessibleName(), QStringLiteral("Memory"));
  const QString selected = window->selection().current().name;
  EXPECT_TRUE(selected.contains(QStringLiteral("layer0"))) << selected.toStdString();
  showPage(QStringLiteral("operations"));
  picture("operations_bert");
  const Source other = runSample("bert_large/pipelined.toml", {{"execution.recompute", "none"}});
  ASSERT_NE(other, nullptr);
  window->comparison().openSource({other, {}, {}}, QStringLiteral("source.pop"));
  showPage(QStringLiteral("compare"));
  ASSERT_TRUE(settle());
  auto* tabs = window->currentPage()->findChild<QTabWidget*>();
  for (int i = 0; i < tabs->count(); ++i) {
    if (tabs->tabText(i) == QStringLiteral("Operations of the model")) tabs->setCurrentIndex(i);
  }
  ASSERT_NE(folded(), nullptr);
  EXPECT_GT(mostIn(*folded()), 8);
  auto* fold = tabs->findChild<QCheckBox*>();
  ASSERT_TRUE(fold->isVisible() && fold->isChecked());
  picture("compare_folded");
  fold->click();
  EXPECT_EQ(folded(), nullptr) << "one click unfolds";
  shell::WindowSettings().remove(QStringLiteral("compare/fold"));
}

TEST_F(EqualLayersTest, FewAreNotFolded) {
  open(ProfileFixture(FixtureOptions{}).profile(), QStringLiteral("operations"));
  ASSERT_TRUE(settle());
  EXPECT_EQ(folded(), nullptr);
}

class KernelTraceTest : public WindowTest {
 protected:
  /// Two training steps of 100 and 140 us, which launch a kernel each: 20 to 50 and 130 to 170 us.
  void SetUp() override {
    WindowTest::SetUp();
    QTemporaryDir folder;
    QFile file(folder.filePath(QStringLiteral("trace.json")));
    ASSERT_TRUE(file.open(QIODevice::WriteOnly));
    file.write(R"({"schemaVersion":1,"traceEvents":[
{"ph":"X","pid":1,"tid":1,"cat":"user_annotation","name":"ProfilerStep#1","ts":0,"dur":100},
{"ph":"X","pid":1,"tid":1,"cat":"user_annotation","name":"ProfilerStep#2","ts":100,"dur":140},
{"ph":"X","pid":1,"tid":1,"cat":"cuda_runtime","name":"cudaLaunchKernel","ts":10,"dur":2,"args":{"correlation":1}},
{"ph":"X","pid":1,"tid":1,"cat":"cuda_runtime","name":"cudaLaunchKernel","ts":120,"dur":2,"args":{"correlation":2}},
{"ph":"X","pid":0,"tid":7,"cat":"kernel","name":"gemm","ts":20,"dur":30,"args":{"device":0,"stream":7,"correlation":1}},
{"ph":"X","pid":0,"tid":7,"cat":"kernel","name":"gemm","ts":130,"dur":40,"args":{"device":0,"stream":7,"correlation":2}}
]})");
    file.close();
    trace = importFile(file.fileName().toStdString());
    ASSERT_NE(trace, nullptr);
  }
  Source trace;
};

TEST_F(KernelTraceTest, TheSummaryBeginsWithWhatIsKnown) {
  open(trace, QStringLiteral("summary"));
  ASSERT_TRUE(settle());
  std::map<QString, QString> cards;
  for (const auto* card : window->currentPage()->findChildren<pages::FigureCard*>())
    cards[card->caption()] = card->value();
  EXPECT_EQ(cards[QStringLiteral("Training step")].toStdString(), "120 µs") << "(100 + 140) / 2";
  EXPECT_EQ(cards[QStringLiteral("Idle")].toStdString(), "53.3 %") << "80 of 150 us";
  EXPECT_EQ(cards[QStringLiteral("Only communicates")].toStdString(), "never");
}

/// Before any of them is opened.
TEST_F(KernelTraceTest, PagesAboutStagesAreGrey) {
  open(trace, QStringLiteral("summary"));
  const auto* sidebar = window->findChild<shell::Sidebar*>();
  const auto lack = [&](const char* page) {
    return sidebar->lack(window->pageIds().indexOf(QString::fromLatin1(page)));
  };
  for (const char* page : {"pipeline", "stages", "waits", "stragglers", "operations", "memory", "what-if"})
    EXPECT_FALSE(lack(page).isEmpty()) << page;
  for (const char* page : {"summary", "insights", "trace", "recorded", "engines"})
    EXPECT_TRUE(lack(page).isEmpty()) << page << ": " << lack(page).toStdString();
}

/// A run without a pipeline has no figures of one.
TEST_F(EqualLayersTest, ASingleStageHasNoFiguresOfAPipeline) {
  const Source gaudis = runSample("mnist/eight_gaudis.toml");
  ASSERT_NE(gaudis, nullptr);
  open(gaudis, QStringLiteral("summary"));
  ASSERT_TRUE(settle());
  for (const auto* table : window->currentPage()->findChildren<pages::DataTable*>())
    for (const auto& row : table->model()->table().rows)
      for (const char* word : {"Bubble", "Imbalance", "Forecast"})
        EXPECT_FALSE(pages::wordsIn(row.front()).startsWith(QLatin1String(word))) << word;
  const auto captions = [this](const char* page) {
    showPage(QLatin1String(page));
    EXPECT_TRUE(settle());
    QStringList shown;
    for (const auto* card : window->currentPage()->findChildren<pages::FigureCard*>())
      if (card->isVisible()) shown << card->caption();
    return shown.join(QLatin1Char('|')).toStdString();
  };
  EXPECT_EQ(captions("stages"), "The only stage|Useful");
  EXPECT_EQ(captions("what-if"), "Step time|Samples per second");
  EXPECT_EQ(captions("summary").find("Limiting"), std::string::npos);
}

/// Two tensor ranks in each of four replicas on eight chips, which are all linked: chips 2r and 2r + 1 share
/// the tensors of replica r, and chips of equal rank add their gradients.
TEST_F(EqualLayersTest, LinksHaveTheColourAndTheWordsOfTheirCollectives) {
  const Source boxes = runSample("bert_large/hls_gaudi2.toml", {{"execution.tensor_parallel", "2"},
                                                                {"training.replication_factor", "4"},
                                                                {"inference.replication_factor", "4"}});
  ASSERT_NE(boxes, nullptr);
  const auto catalog = *analysis::loadCatalog(*boxes);
  const model::ExecutableId training = catalog->executables.front().id;
  const auto made = pages::collectSystem({*boxes, *catalog, training});
  ASSERT_TRUE(made.ok()) << made.error().message;
  std::map<std::string, const std::vector<sections::Cell>*> rows;
  for (const auto& row : made->communication.rows) rows[std::get<std::string>(row[1])] = &row;
  ASSERT_TRUE(rows.contains("tensor") && rows.contains("data"));
  ASSERT_EQ(made->chips.size(), 8U);
  ASSERT_EQ(made->between.size(), 28U) << "one for each pair";
  for (std::size_t l = 0; l < made->between.size(); ++l) {
    const geometry::TopologyLink& link = made->between[l];
    const bool isTensor = link.from / 2 == link.to / 2, isData = link.from % 2 == link.to % 2;
    const std::string axis = isTensor ? "tensor" : isData ? "data" : "";
    const double share = axis.empty() ? 0 : std::get<double>(rows[axis]->back());
    const std::string tip = pages::describeLink(*catalog, *made, l).toStdString();
    SCOPED_TRACE(std::to_string(link.from) + " " + std::to_string(link.to) + ": " + tip);
    EXPECT_NEAR(link.share, share, 1e-12);
    EXPECT_EQ(link.role, pages::roleOfUse(share));
    EXPECT_NE(tip.find("no transfer is recorded"), std::string::npos) << "no pipeline uses the link";
    EXPECT_EQ(tip.find("collectives of the") == std::string::npos, axis.empty());
    if (axis.empty()) continue;
    EXPECT_NE(tip.find("collectives of the " + axis + " axis: " +
                       formatCell(rows[axis]->back(), sections::Format::fraction) + " of the call, " +
                       formatCell((*rows[axis])[4], sections::Format::bytes) + " from each chip"),
              std::string::npos);
  }
}

class EachKind : public WindowTest, public ::testing::WithParamInterface<ProfileKind> {
 protected:
  void SetUp() override {
    WindowTest::SetUp();
    sections::setSchedules(app::replaySchedules());  // as the programs do
  }
  /// All texts that the page shows: labels, figures, and cells of tables and trees.
  QStringList texts() const {
    QStringList all;
    const QWidget* page = window->currentPage();
    for (const QLabel* label : page->findChildren<QLabel*>())
      if (label->isVisible()) all << label->text();
    for (const pages::FigureCard* card : page->findChildren<pages::FigureCard*>())
      if (card->isVisible()) all << card->value();
    for (const QAbstractItemView* view : page->findChildren<QAbstractItemView*>()) {
      if (!view->isVisible() || view->model() == nullptr) continue;
      for (int row = 0; row < std::min(50, view->model()->rowCount()); ++row)
        for (int column = 0; column < view->model()->columnCount(); ++column)
          all << view->model()->index(row, column).data().toString();
    }
    return all;
  }
};

TEST_P(EachKind, EveryPageShowsContentOrSaysWhyItHasNone) {
  const Source source = GetParam().make();
  ASSERT_NE(source, nullptr);
  open(source, QStringLiteral("summary"));
  // Programs print figures that are no numbers in this way; sentences about number formats write NaN.
  static const QRegularExpression kNoNumber(QStringLiteral("(^|[^\\w/.])(nan|inf|-nan|-inf)($|[^\\w/.])"));
  for (const QString& id : window->pageIds()) {
    if (kWithoutProfile.contains(id)) continue;
    SCOPED_TRACE(id.toStdString());
    showPage(id);
    const shell::Page* page = window->currentPage();
    const QString notice = page->notice();
    EXPECT_EQ(page->showsContent(), !GetParam().withoutContent.contains(id)) << notice.toStdString();
    if (!page->showsContent()) {
      EXPECT_TRUE(notice.endsWith(QLatin1Char('.')) && notice.size() > 20) << notice.toStdString();
      continue;
    }
    const QStringList shown = texts();
    int figures = 0;
    for (const QString& each : shown) {
      EXPECT_FALSE(kNoNumber.match(each).hasMatch()) << each.toStdString();
      figures += each.contains(QRegularExpression(QStringLiteral("\\d"))) ? 1 : 0;
    }
    if (const auto* graph = child<timeline::GraphCanvas>()) figures += graph->boxes();
    EXPECT_GE(figures, 3) << shown.join(QStringLiteral(" | ")).toStdString();
  }
}

TEST_F(WindowTest, TheBarsOfRecordedAcceleratorsBeginWithWhatTheseDo) {
  open(importSample("traces/pipeline_1f1b"), QStringLiteral("recorded"));
  const auto* chart = child<timeline::BarChart>(QStringLiteral("What each accelerator does"));
  ASSERT_NE(chart, nullptr);
  ASSERT_EQ(chart->bars().size(), 4U);
  for (const geometry::Bar& bar : chart->bars()) {
    ASSERT_EQ(bar.parts.size(), 2U) << "the trace states no launches, so idle time is of one kind";
    EXPECT_EQ(bar.parts[0].role, geometry::ColourRole::compute);
    EXPECT_EQ(bar.parts[1].role, geometry::ColourRole::otherWait);
  }
}

TEST_F(WindowTest, TheSentencesOfARecordedRunBeginWithWhatIsKnown) {
  sections::setSchedules(app::replaySchedules());  // as the programs do
  open(importSample("traces/pipeline_1f1b"), QStringLiteral("recorded"));
  QStringList sentences;  // in the order of the page
  for (const auto* sentence : window->currentPage()->findChildren<pages::IconSentence*>()) {
    for (const QLabel* label : sentence->findChildren<QLabel*>())
      if (!label->text().isEmpty()) sentences << label->text();
  }
  ASSERT_EQ(sentences.size(), 3);
  EXPECT_TRUE(sentences[0].startsWith(QStringLiteral("1f1b fits best of all schedules")))
      << sentences[0].toStdString();
  for (const int later : {1, 2})
    EXPECT_TRUE(sentences[later].contains(QStringLiteral("no "))) << sentences[later].toStdString();
  sections::setSchedules({});
}

TEST_F(WindowTest, ASummaryWithoutStagesAndKernelsShowsTheEngines) {
  open(importSample("traces/gaudi3.csv.gz"), QStringLiteral("summary"));
  std::map<QString, QString> cards;
  for (const pages::FigureCard* card : window->currentPage()->findChildren<pages::FigureCard*>()) {
    cards[card->caption()] = card->value();
    EXPECT_NE(card->value(), QStringLiteral("–")) << card->caption().toStdString();
  }
  EXPECT_EQ(cards[QStringLiteral("Busiest engine")].toStdString(), "MME")
      << "the convolution takes 18.8 of 26.2 us";
  EXPECT_EQ(cards[QStringLiteral("Length")].toStdString(), "26.165 µs");
}

TEST_F(WindowTest, EnginesThatHardlyWorkHaveNoBars) {
  open(runSample("mnist/eight_gaudis.toml"), QStringLiteral("engines"));
  const auto* chart = child<timeline::BarChart>(QStringLiteral("How much each engine works"));
  ASSERT_NE(chart, nullptr);
  const auto* table = window->currentPage()->findChild<pages::DataTable*>();
  ASSERT_NE(table, nullptr);
  const sections::SectionTable& devices = table->model()->table();
  std::size_t drawn = 0, still = 0;
  for (std::size_t c = 0; c < devices.columns.size(); ++c) {
    if (!devices.columns[c].key.ends_with("_utilisation")) continue;
    std::size_t known = 0;
    double most = 0;
    for (const auto& row : devices.rows) {
      const auto* share = std::get_if<double>(&row[c]);
      known += share == nullptr ? 0U : 1U;
      if (share != nullptr) most = std::max(most, *share);
    }
    (most >= 0.001 ? drawn : still) += known;
  }
  EXPECT_GT(still, 0U) << "a sample in which an engine does nothing";
  EXPECT_EQ(chart->bars().size(), drawn);
}

/// Process 0 computes for 300 µs, waits for 100 and communicates for 100; process 1 computes for 200.
Source importKernels() {
  const QTemporaryDir folder;
  QFile file(folder.filePath(QStringLiteral("kernels.json")));
  EXPECT_TRUE(file.open(QIODevice::WriteOnly));
  file.write(R"([
{"ph":"X","cat":"kernel","name":"gemm","pid":0,"tid":7,"ts":0,"dur":300},
{"ph":"X","cat":"kernel","name":"ncclDevKernel_AllReduce","pid":0,"tid":20,"ts":400,"dur":100},
{"ph":"X","cat":"kernel","name":"gemm","pid":1,"tid":7,"ts":0,"dur":200}])");
  file.close();
  return importFile(file.fileName().toStdString());
}

TEST_F(WindowTest, ASummaryOfKernelsAloneSaysHowLongTheyAre) {
  open(importKernels(), QStringLiteral("summary"));
  std::map<QString, QString> cards, details;
  for (const pages::FigureCard* card : window->currentPage()->findChildren<pages::FigureCard*>()) {
    cards[card->caption()] = card->value();
    details[card->caption()] = card->detail();
    EXPECT_NE(card->value(), QStringLiteral("–")) << card->caption().toStdString();
    EXPECT_FALSE(card->detail().contains(QStringLiteral("–"))) << card->detail().toStdString();
  }
  EXPECT_EQ(cards[QStringLiteral("Length")].toStdString(), "500 µs");
  EXPECT_TRUE(details[QStringLiteral("Length")].contains(QStringLiteral("process 0")))
      << "a process without a name: " << details[QStringLiteral("Length")].toStdString();
  EXPECT_EQ(cards[QStringLiteral("Idle")].toStdString(), "20.0 %");
}

TEST_F(WindowTest, TheCardOfATraceWithoutPipelineShowsWhatItsDevicesDo) {
  const QTemporaryDir folder;
  QFile file(folder.filePath(QStringLiteral("trace.pop")));
  ASSERT_TRUE(file.open(QIODevice::WriteOnly));
  file.close();
  const Source source = importKernels();
  const shell::ProfileCard card = shell::readCard(
      file.fileName(), [&](const std::string&) { return base::Result<shell::OpenedSource>({source}); });
  EXPECT_EQ(card.work, QStringLiteral("2 accelerators"));
  EXPECT_EQ(card.system, QStringLiteral("recorded"));
  ASSERT_EQ(card.rows, 2);
  std::map<int, float> computes;
  for (const shell::ProfileCard::Box& box : card.boxes)
    if (box.role == geometry::ColourRole::compute) computes[box.row] += box.to - box.from;
  EXPECT_NEAR(computes[0], 300.0 / 500, 0.01);
  EXPECT_NEAR(computes[1], 200.0 / 500, 0.01);
}

INSTANTIATE_TEST_SUITE_P(Profiles, EachKind, ::testing::ValuesIn(allKinds()),
                         [](const auto& kind) { return kind.param.name; });

}  // namespace
}  // namespace pipescope::testing
