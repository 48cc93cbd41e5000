// hand_bench CONFIG PIPESCOPE [BOXES]: measures what a user holds. In the workbench with CONFIG, whose runs
// PIPESCOPE predicts, it opens the form and drags a block from stage to stage. Then it moves over a graph of
// BOXES open boxes (300 unless given). Runs offscreen at 1600×900.
#include <QApplication>
#include <QFont>
#include <QSettings>
#include <QTemporaryDir>
#include <QTest>
#include <QThreadPool>
#include <QWheelEvent>
#include <cstdio>
#include <vector>

#include "app/gui/workbench_services.h"
#include "tests/bench/event_turns.h"
#include "views/pages/parts/charts/graph_drawing.h"
#include "views/shell/look/style.h"
#include "views/timeline/graph_canvas.h"
#include "views/workbench/stage_board.h"
#include "views/workbench/workbench.h"

namespace pipescope::bench {
namespace {

void tell(const char* what, const LongestTurn& turn) {
  std::printf("%-34s longest turn %6.1f ms, its processor time %6.1f ms\n", what, turn.ms, turn.processorMs);
  std::fflush(stdout);
}

void moveTo(workbench::StageBoard& board, const QPoint& at) {
  QMouseEvent move(QEvent::MouseMove, at, board.mapToGlobal(at), Qt::NoButton, Qt::LeftButton, {});
  QApplication::sendEvent(&board, &move);
}

/// Drags the first block of the second stage over all other stages and drops it on the first one.
void drag(workbench::Workbench& window) {
  workbench::StageBoard& board = *window.board();
  const auto& stages = board.places().stages;
  if (stages.size() < 2 || stages[1].blocks.empty())
    return std::printf("the configuration has one stage\n"), void();
  const QPoint from = board.cardRect(stages[1].blocks.front()).center();
  LongestTurn held, dropped;
  held.measure([&] { QTest::mousePress(&board, Qt::LeftButton, {}, from); });
  for (int stage = static_cast<int>(stages.size()) - 1; stage >= 0; --stage) {
    held.measure([&] { moveTo(board, board.stageRect(stage).center()); });
    held.runUntil([&] { return window.isSettled(); });
  }
  tell("drag over all stages", held);
  dropped.measure([&] { QTest::mouseRelease(&board, Qt::LeftButton, {}, board.stageRect(0).center()); });
  dropped.runUntil([&] { return window.isSettled(); });
  tell("drop", dropped);
}

void measureWorkbench(const QString& configuration, const QString& program, const QString& folder) {
  shell::Palette palette;
  palette.setTheme(shell::Theme::light);
  workbench::Services services = gui::workbenchServices();
  services.program = program;
  services.folder = folder;
  LongestTurn window, form;
  std::unique_ptr<workbench::Workbench> shown;
  window.measure([&] {
    shown = std::make_unique<workbench::Workbench>(palette, services);
    shown->resize(1600, 900);
    shown->show();
  });
  window.runUntil([&] { return shown->isSettled(); });
  tell("window of the workbench", window);
  form.measure([&] { shown->openConfiguration(configuration); });
  form.runUntil([&] { return shown->isSettled(); });
  tell("form with the stages", form);
  drag(*shown);
}

/// A chain of operators in which every third one also reads an earlier result.
pages::GraphData graphOf(int boxes) {
  pages::GraphData data;
  data.graph.edgesKnown = true;
  for (int i = 0; i < boxes; ++i) {
    analysis::ModelNode node;
    node.name = "operator" + std::to_string(i);
    node.kind = i % 2 == 0 ? "MatMul" : "Add";
    node.stage = i * 4 / boxes;
    node.ticks = base::Ticks(1'000 + i);
    data.graph.nodes.push_back(node);
    const auto here = static_cast<std::size_t>(i);
    if (i > 0) data.graph.edges.push_back({here - 1, here, "tensor", "8x128 float16", base::Bytes(2048), {}});
    if (i > 7 && i % 3 == 0)
      data.graph.edges.push_back({here - 7, here, "shortcut", "8x128 float16", base::Bytes(2048), {}});
  }
  return data;
}

void measureGraph(int boxes) {
  constexpr int kMoves = 200;
  shell::Palette palette;
  palette.setTheme(shell::Theme::light);
  timeline::GraphCanvas canvas(palette);
  canvas.resize(1600, 900);
  canvas.show();
  if (!QTest::qWaitForWindowExposed(&canvas)) std::printf("the graph was not shown\n");
  QElapsedTimer clock;
  clock.start();
  const pages::OpenedGraph opened = pages::openGraph(graphOf(boxes), {}, pages::GraphColour::stage);
  std::printf("graph of %zu boxes, laid out on a worker in %lld ms\n", opened.view.boxes.size(),
              static_cast<long long>(clock.elapsed()));
  canvas.setScene(opened.scene);
  std::vector<double> frames;
  const auto frame = [&](int key) {
    const double before = threadMs();
    QTest::keyClick(&canvas, static_cast<Qt::Key>(key));
    canvas.repaint();
    frames.push_back(threadMs() - before);
  };
  for (int i = 0; i < kMoves; ++i)
    frame(i % 20 < 6 ? Qt::Key_Plus : i % 20 < 14 ? Qt::Key_Right : Qt::Key_Minus);
  std::sort(frames.begin(), frames.end());
  std::printf("frames of zoom and pan: median %.1f ms, p99 %.1f ms of processor time\n", frames[kMoves / 2],
              frames[kMoves * 99 / 100]);
}

}  // namespace
}  // namespace pipescope::bench

int main(int argc, char** argv) {
  using namespace pipescope;
  if (argc < 3) return std::fprintf(stderr, "usage: hand_bench CONFIG PIPESCOPE [BOXES]\n"), 2;
  if (!qEnvironmentVariableIsSet("QT_QPA_PLATFORM")) qputenv("QT_QPA_PLATFORM", "offscreen");
  QApplication application(argc, argv);
  QApplication::setStyle(new shell::Style);
  application.setFont(QFont(QStringLiteral("DejaVu Sans"), 9));
  const QTemporaryDir scratch;
  QSettings::setPath(QSettings::IniFormat, QSettings::UserScope, scratch.path());
  QTimer beat;  // events that end each turn
  beat.start(1);
  bench::measureWorkbench(QString::fromLocal8Bit(argv[1]), QString::fromLocal8Bit(argv[2]),
                          scratch.filePath(QStringLiteral("runs")));
  bench::measureGraph(argc > 3 ? std::max(1, std::atoi(argv[3])) : 300);
  QThreadPool::globalInstance()->waitForDone();
  return 0;
}
