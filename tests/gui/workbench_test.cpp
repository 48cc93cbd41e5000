// Tests the form, the stages and the predictions of the workbench.
#include <QComboBox>
#include <QLabel>
#include <QLineEdit>
#include <QMouseEvent>
#include <QRegularExpression>
#include <QSpinBox>
#include <QToolButton>

#include "app/gui/window_for.h"
#include "profiler/store/profile_writer.h"
#include "views/shell/home.h"
#include "views/workbench/axes_bar.h"
#include "views/workbench/key_field.h"
#include "views/workbench/predictor.h"
#include "views/workbench/run_figures.h"
#include "window_test.h"
#include "workbench_fixture.h"

namespace pipescope::testing {
namespace {

class WorkbenchFormTest : public WorkbenchTest {
 protected:
  void drag(const QPoint& from, const QPoint& to, bool release = true) const {
    workbench::StageBoard* board = window->board();
    QTest::mousePress(board, Qt::LeftButton, {}, from);
    hold(from + QPoint(30, 0));
    hold(to);
    if (release) QTest::mouseRelease(board, Qt::LeftButton, {}, to);
  }
  /// Moves the mouse with the button held.
  void hold(const QPoint& at) const {
    QMouseEvent move(QEvent::MouseMove, at, window->board()->mapToGlobal(at), Qt::NoButton, Qt::LeftButton,
                     {});
    QApplication::sendEvent(window->board(), &move);
  }
  QString value(const char* path) const { return window->draft().value(QLatin1String(path)); }
};

TEST_F(WorkbenchFormTest, FieldsStayWhereOnlyTheirValuesChange) {
  QFile file(sample("mnist/pipelined.toml"));
  ASSERT_TRUE(file.open(QIODevice::ReadOnly));
  QByteArray text = file.readAll();
  ASSERT_TRUE(text.contains("epochs = 3"));
  QFile other(folder.filePath(QStringLiteral("other.toml")));
  ASSERT_TRUE(other.open(QIODevice::WriteOnly));
  other.write(text.replace("epochs = 3", "epochs = 7"));
  other.close();
  showSample("mnist/pipelined.toml");
  const QString epochs = QStringLiteral("training.epochs");
  const workbench::KeyField* field = window->form()->field(epochs);
  ASSERT_NE(field, nullptr);
  window->openConfiguration(other.fileName());
  ASSERT_TRUE(waitFor([&] { return value("training.epochs") == QStringLiteral("7"); }));
  ASSERT_TRUE(settle());
  EXPECT_EQ(window->form()->field(epochs), field) << "the form need not be made again";
  EXPECT_EQ(qobject_cast<QLineEdit*>(field->editor())->text(), QStringLiteral("7"));
}

TEST_F(WorkbenchFormTest, AxesOfParallelismAreChangedInPlace) {
  QFile file(folder.filePath(QStringLiteral("decoder.toml")));
  ASSERT_TRUE(file.open(QIODevice::WriteOnly));
  file.write(
      "[model]\nbuilder = \"decoder\"\nlayers = 2\nhidden = 64\nheads = 4\nvocabulary = 100\nsequence = 16\n"
      "[execution]\nnumerics = false\n[system]\nname = \"hls-gaudi2\"\n");
  file.close();
  show();
  window->openConfiguration(file.fileName());
  ASSERT_TRUE(waitFor([&] { return value("system.name") == QStringLiteral("\"hls-gaudi2\""); }));
  ASSERT_TRUE(settle());
  const QString tensor = QStringLiteral("execution.tensor_parallel"),
                replicas = QStringLiteral("training.replication_factor");
  QSpinBox *ranks = window->axes()->field(tensor), *copies = window->axes()->field(replicas);
  ASSERT_TRUE(ranks != nullptr && copies != nullptr && ranks->isVisible());
  EXPECT_EQ(ranks->value(), 1);
  EXPECT_TRUE(window->summary().contains(QStringLiteral("1 device"))) << window->summary().toStdString();
  ranks->setValue(2);
  ASSERT_TRUE(settle());
  EXPECT_EQ(value("execution.tensor_parallel"), QStringLiteral("2"));
  ASSERT_NE(window->form()->field(tensor), nullptr) << "the form has it, too";
  EXPECT_TRUE(window->summary().contains(QStringLiteral("2 devices"))) << window->summary().toStdString();
  copies->setValue(4);
  ASSERT_TRUE(settle());
  EXPECT_TRUE(window->summary().contains(QStringLiteral("8 devices in 4 replicas")))
      << window->summary().toStdString();
  window->undo();
  ASSERT_TRUE(settle());
  EXPECT_EQ(copies->value(), 1);
  EXPECT_FALSE(window->draft().given(replicas));
  ranks->setValue(1);
  ASSERT_TRUE(settle());
  EXPECT_FALSE(window->draft().given(tensor)) << "one chip is no division";
  // The keys for undo are those of the settings, also while a field has the keyboard.
  ranks->setFocus();
  QTest::keyClick(ranks, Qt::Key_Up);
  ASSERT_TRUE(settle());
  EXPECT_EQ(value("execution.tensor_parallel"), QStringLiteral("2"));
  QTest::keyClick(ranks, Qt::Key_Z, Qt::ControlModifier);
  ASSERT_TRUE(settle());
  EXPECT_EQ(ranks->value(), 1);
  // A reason why nothing is predicted names settings as the form does.
  copies->setValue(9);
  ASSERT_TRUE(settle());
  const auto* wrong = window->findChild<QLabel*>();
  for (const QLabel* label : window->findChildren<QLabel*>())
    if (label->accessibleName() == QStringLiteral("What is wrong")) wrong = label;
  EXPECT_FALSE(wrong->text().isEmpty());
  EXPECT_FALSE(wrong->text().contains(QStringLiteral("_parallel"))) << wrong->text().toStdString();
  window->openConfiguration(sample("fixed/imbalanced.toml"));
  ASSERT_TRUE(waitFor([&] { return window->draft().count(QStringLiteral("fixed.stages")) > 0; }));
  ASSERT_TRUE(settle());
  EXPECT_FALSE(window->axes()->isVisible()) << "given costs are of one chip a stage";
}

class WorkbenchCommandsTest : public WindowTest {};

TEST_F(WorkbenchCommandsTest, TheWindowAsksForTheWorkbench) {
  QSignalSpy fresh(window.get(), &shell::MainWindow::newRunRequested),
      again(window.get(), &shell::MainWindow::runAgainRequested);
  for (QPushButton* each : window->home()->findChildren<QPushButton*>())
    if (each->text() == QStringLiteral("New run…")) QTest::mouseClick(each, Qt::LeftButton);
  EXPECT_EQ(fresh.count(), 1);
  const auto action = [&]() -> QAction* {
    for (const auto& entry : window->actions().entries())
      if (entry.what == QStringLiteral("Edit and run again")) return entry.action;
    return nullptr;
  };
  ASSERT_NE(action(), nullptr);
  EXPECT_FALSE(action()->isEnabled()) << "there is no profile";
  open(ProfileFixture().profile());
  ASSERT_TRUE(action()->isEnabled());
  action()->trigger();
  EXPECT_EQ(again.count(), 1);
  open(std::make_shared<record::MemoryProfile>());
  EXPECT_FALSE(action()->isEnabled()) << "the profile holds no options";
}

TEST_F(WorkbenchCommandsTest, ARunIsEditedWithThePathsOfTheFolderInWhichItWasStarted) {
  auto profile = std::make_shared<record::MemoryProfile>();
  model::RowSet rows;
  rows.of<model::Property>() = {{"run_folder", "/models/digits"}};
  rows.of<model::ConfigurationEntry>() = {{"model.onnx", "\"digits.onnx\"", "file"}};
  ASSERT_TRUE(profile->commit(rows).ok());
  const auto figures = workbench::readFigures(
      [&](const std::string&) {
        return base::Result(shell::OpenedSource{profile, {}, {}});
      },
      {});
  ASSERT_TRUE(figures.ok());
  ASSERT_EQ(figures->options.size(), 1U);
  EXPECT_EQ(figures->options[0].value, "\"/models/digits/digits.onnx\"");
}

TEST_F(WorkbenchCommandsTest, AProfileGetsAWindowOfItsOwnOnce) {
  const QTemporaryDir folder;
  const QString path = folder.filePath(QStringLiteral("new.pop"));
  auto writer = store::ProfileWriter::create(path.toStdString());
  ASSERT_TRUE(writer.ok());
  ASSERT_TRUE((*writer)->commit(*ProfileFixture().profile()->everything()).ok());
  ASSERT_TRUE((*writer)->finish(model::ProfileState::complete, "").ok());
  std::vector<std::unique_ptr<shell::MainWindow>> windows;
  const auto make = [&]() -> shell::MainWindow& {
    windows.push_back(std::make_unique<shell::MainWindow>(*registry, *palette, openFile));
    return *windows.back();
  };
  make();
  shell::MainWindow& added = gui::windowFor(path, windows, make);
  EXPECT_EQ(windows.size(), 2U);
  ASSERT_TRUE(waitFor([&] { return added.session().snapshot() != nullptr; }));
  EXPECT_EQ(added.session().path(), path);
  EXPECT_EQ(&gui::windowFor(path, windows, make), &added);
  EXPECT_EQ(windows.size(), 2U);
  EXPECT_FALSE(added.testAttribute(Qt::WA_ShowWithoutActivating));
  EXPECT_EQ(&gui::windowFor(path, windows, make, false), &added);
  EXPECT_TRUE(added.testAttribute(Qt::WA_ShowWithoutActivating)) << "the keyboard stays where it is";
  ASSERT_TRUE(waitFor([&] { return added.isSettled(); }));
}

TEST_F(WorkbenchFormTest, ASampleShowsItsSettingsStagesAndPrediction) {
  services.presets = [] { return gui::presetsIn({QStringLiteral(PIPESCOPE_SOURCE_DIR "/samples")}); };
  show();
  EXPECT_TRUE(window->summary().startsWith(QStringLiteral("There are no settings yet")));
  EXPECT_FALSE(button("Start run")->isEnabled());
  auto* samples = window->findChild<QComboBox*>();
  ASSERT_TRUE(waitFor([&] { return samples->count() > 10; }));
  const int mnist = samples->findText(QStringLiteral("mnist/two_stages"));
  ASSERT_GT(mnist, 0);
  EXPECT_TRUE(
      samples->itemData(mnist, Qt::ToolTipRole).toString().startsWith(QStringLiteral("The PopTorch")));
  samples->setCurrentIndex(mnist);
  Q_EMIT samples->activated(mnist);
  ASSERT_TRUE(settle());
  EXPECT_EQ(value("training.epochs"), QStringLiteral("3"));
  EXPECT_EQ(window->form()->field(QStringLiteral("execution.seed")), nullptr) << "it has its default";
  ASSERT_EQ(window->board()->places().stages.size(), 2U);
  EXPECT_EQ(window->board()->places().stages[1].blocks,
            QStringList({QStringLiteral("B3"), QStringLiteral("B4")}));
  EXPECT_TRUE(window->summary().contains(
      QRegularExpression(QStringLiteral("samples/s, 80 %: .+ … .+ · fits · stage"))))
      << window->summary().toStdString();
  EXPECT_EQ(window->board()->figures(0).size(), 2);
  EXPECT_TRUE(button("Start run")->isEnabled());
}

TEST_F(WorkbenchFormTest, TheStagesOfALargeModelAreSeenAtOnce) {
  showSample("bert_large/pipelined.toml");
  const auto* board = window->findChild<workbench::StageBoard*>();
  ASSERT_NE(board, nullptr);
  for (const QSize size : {QSize(1440, 900), QSize(1920, 1080)}) {
    window->resize(size);
    ASSERT_TRUE(settle());
    EXPECT_EQ(board->places().stages.size(), 13U);
    const QRect seen = board->parentWidget()->rect();
    for (int stage = 0; stage < 13; ++stage) {
      const QRect box = board->stageRect(stage).translated(board->pos());
      EXPECT_TRUE(seen.contains(box)) << "stage " << stage << " at " << size.width();
    }
    EXPECT_LE(board->minimumHeight(), seen.height()) << "nothing has to be scrolled";
  }
}

TEST_F(WorkbenchFormTest, WrongValuesAreSaidWhileTyping) {
  showSample("mnist/two_stages.toml");
  type("training.epochs", "many");
  ASSERT_TRUE(settle());
  const auto said = [&](const char* path) { return window->form()->field(QLatin1String(path))->problem(); };
  EXPECT_TRUE(said("training.epochs").contains(QStringLiteral("must be a whole number")))
      << said("training.epochs").toStdString();
  EXPECT_FALSE(button("Start run")->isEnabled());
  type("training.micro_batch_size", "0");
  ASSERT_TRUE(settle());
  EXPECT_TRUE(said("training.micro_batch_size").contains(QStringLiteral("must be between")))
      << said("training.micro_batch_size").toStdString();
  EXPECT_FALSE(said("training.epochs").isEmpty()) << "both are wrong";
  type("training.epochs", "2");
  type("training.micro_batch_size", "8");
  type("stages[1].device", "x");
  ASSERT_TRUE(settle());
  EXPECT_TRUE(said("stages[1].device").contains(QStringLiteral("must be a whole number")))
      << said("stages[1].device").toStdString();
  type("stages[1].device", "1");
  ASSERT_TRUE(settle());
  EXPECT_TRUE(button("Start run")->isEnabled());
  EXPECT_TRUE(said("training.epochs").isEmpty());
  // Settings that contradict each other: the sentence is at the first one that it names.
  addSetting("execution.checkpoints");
  type("execution.checkpoints", "layer1/*");
  addSetting("recompute");
  auto* recompute =
      qobject_cast<QComboBox*>(window->form()->field(QStringLiteral("execution.recompute"))->editor());
  ASSERT_NE(recompute, nullptr);
  recompute->setCurrentText(QStringLiteral("none"));
  ASSERT_TRUE(settle());
  EXPECT_TRUE(said("execution.checkpoints").contains(QStringLiteral("keeps them all")))
      << said("execution.checkpoints").toStdString();
}

TEST_F(WorkbenchFormTest, ARefusalOfTheCompilerIsSaid) {
  showSample("mnist/two_stages.toml");
  type("stages[0].blocks", "B1, B9");
  ASSERT_TRUE(settle());
  EXPECT_TRUE(window->summary().contains(QStringLiteral("B9"))) << window->summary().toStdString();
}

TEST_F(WorkbenchFormTest, SettingsAreAddedAndTakenBack) {
  showSample("mnist/two_stages.toml");
  addSetting("seed");
  ASSERT_NE(window->form()->field(QStringLiteral("execution.seed")), nullptr);
  EXPECT_EQ(value("execution.seed"), QStringLiteral("42"));
  EXPECT_TRUE(window->form()->field(QStringLiteral("execution.seed"))->editor()->hasFocus());
  const auto answer = [&] {
    for (const QLabel* label : window->form()->findChildren<QLabel*>())
      if (label->isVisible() && label->text().contains(QStringLiteral("no "))) return label->text();
    return QString();
  };
  addSetting("execution.sched");
  EXPECT_TRUE(answer().contains(QStringLiteral("There is no setting execution.sched")))
      << answer().toStdString();
  addSetting("training.momentum");
  EXPECT_TRUE(answer().contains(QStringLiteral("has no meaning with training.optimizer")))
      << answer().toStdString();
  addSetting("stages[]");
  EXPECT_EQ(window->draft().count(QStringLiteral("stages")), 3);
  const auto click = [&](const QString& name) {
    for (QToolButton* each : window->form()->findChildren<QToolButton*>())
      if (each->accessibleName() == name) return QTest::mouseClick(each, Qt::LeftButton);
    FAIL() << name.toStdString();
  };
  click(QStringLiteral("Remove stages[2]"));
  EXPECT_EQ(window->draft().count(QStringLiteral("stages")), 2);
  ASSERT_TRUE(waitFor([&] { return window->form()->field(QStringLiteral("stages[2].blocks")) == nullptr; }));
  click(QStringLiteral("Back to the default of execution.seed"));
  EXPECT_FALSE(window->draft().given(QStringLiteral("execution.seed")));
  ASSERT_TRUE(settle());
}

TEST_F(WorkbenchFormTest, ChangesAreTakenBackAndMadeAgain) {
  showSample("mnist/two_stages.toml");
  ASSERT_TRUE(settle());
  EXPECT_FALSE(button("Undo")->isEnabled()) << "nothing has been changed";
  EXPECT_FALSE(button("Redo")->isEnabled());
  type("training.epochs", "2");
  drag(window->board()->cardRect(QStringLiteral("B3")).center(), window->board()->stageRect(0).center());
  ASSERT_TRUE(settle());
  const QString moved = QStringLiteral("[\"B1\", \"B2\", \"B3\"]"),
                before = QStringLiteral("[\"B1\", \"B2\"]");
  EXPECT_EQ(value("stages[0].blocks"), moved);
  QTest::mouseClick(button("Undo"), Qt::LeftButton);
  ASSERT_TRUE(settle());
  EXPECT_EQ(value("stages[0].blocks"), before);
  EXPECT_EQ(window->board()->places().stages[0].blocks.size(), 2) << "the board shows it, too";
  EXPECT_EQ(value("training.epochs"), QStringLiteral("2"));
  while (button("Undo")->isEnabled()) window->undo();
  EXPECT_EQ(value("training.epochs"), QStringLiteral("3"));
  ASSERT_TRUE(button("Redo")->isEnabled());
  while (button("Redo")->isEnabled()) window->redo();
  EXPECT_EQ(value("stages[0].blocks"), moved);
  EXPECT_EQ(value("training.epochs"), QStringLiteral("2"));
  window->undo();
  type("training.epochs", "5");
  EXPECT_FALSE(button("Redo")->isEnabled()) << "another change has been made";
  window->newRun();
  EXPECT_FALSE(button("Undo")->isEnabled()) << "other settings were taken";
  ASSERT_TRUE(settle());
}

TEST_F(WorkbenchFormTest, ChangesOfAFindingAreMade) {
  showSample("mnist/two_stages.toml");
  ASSERT_TRUE(settle());
  window->change({QStringLiteral("execution.schedule=1f1b"), QStringLiteral("move=B3:0"),
                  QStringLiteral("no.such.key=1")});
  ASSERT_TRUE(settle());
  EXPECT_EQ(value("execution.schedule"), QStringLiteral("\"1f1b\""));
  EXPECT_EQ(value("stages[0].blocks"), QStringLiteral("[\"B1\", \"B2\", \"B3\"]"));
  EXPECT_EQ(value("stages[1].blocks"), QStringLiteral("[\"B4\"]"));
  EXPECT_TRUE(window->notice().contains(QStringLiteral("no.such.key=1"))) << window->notice().toStdString();
}

TEST_F(WorkbenchFormTest, ALongArrayIsShownOnDemand) {
  show();
  std::vector<model::ConfigurationEntry> options;
  for (int i = 0; i < 17; ++i)
    options.push_back({"fixed.stages[" + std::to_string(i) + "].forward", "1.0", "file"});
  options.push_back({"system.name", "\"fixed\"", "file"});
  window->edit({}, options);
  ASSERT_TRUE(settle());
  const auto shown = [&](const char* path) { return window->form()->field(QLatin1String(path)) != nullptr; };
  EXPECT_TRUE(shown("system.name"));
  EXPECT_FALSE(shown("fixed.stages[16].forward"));
  for (QToolButton* each : window->form()->findChildren<QToolButton*>())
    if (each->text() == QStringLiteral("Show the 17 entries of fixed.stages"))
      QTest::mouseClick(each, Qt::LeftButton);
  ASSERT_TRUE(waitFor([&] { return shown("fixed.stages[16].forward"); }));
  ASSERT_TRUE(settle());
}

TEST_F(WorkbenchFormTest, ADraggedBlockChangesThePredictionBeforeItIsDropped) {
  showSample("mnist/two_stages.toml");
  workbench::StageBoard* board = window->board();
  const QStringList before = board->figures(1);
  const QString summary = window->summary();
  drag(board->cardRect(QStringLiteral("B3")).center(), board->stageRect(0).center(), false);
  EXPECT_TRUE(board->isDragging());
  EXPECT_EQ(board->places().stages[0].blocks.size(), 3);
  ASSERT_TRUE(settle());
  EXPECT_NE(board->figures(1), before);
  EXPECT_TRUE(board->figures(1)[0].contains(QStringLiteral(" %"))) << board->figures(1)[0].toStdString();
  EXPECT_NE(window->summary(), summary);
  EXPECT_EQ(value("stages[0].blocks"), QStringLiteral("[\"B1\", \"B2\"]")) << "it is not dropped yet";
  picture("workbench_drag");
  // Esc gives up.
  QTest::keyClick(board, Qt::Key_Escape);
  EXPECT_FALSE(board->isDragging());
  ASSERT_TRUE(settle());
  EXPECT_EQ(window->summary(), summary);
  drag(board->cardRect(QStringLiteral("B3")).center(), board->stageRect(0).center());
  EXPECT_EQ(value("stages[0].blocks"), QStringLiteral("[\"B1\", \"B2\", \"B3\"]"));
  EXPECT_EQ(value("stages[1].device"), QStringLiteral("1"));
  ASSERT_TRUE(settle());
  EXPECT_TRUE(window->summary().contains(QStringLiteral("from the start")))
      << window->summary().toStdString();
}

TEST_F(WorkbenchFormTest, ADragThatBeginsDuringACheckIsPredicted) {
  showSample("mnist/two_stages.toml");
  workbench::StageBoard* board = window->board();
  type("training.micro_batch_size", "20");
  ASSERT_FALSE(window->isSettled());
  const QPoint target = board->stageRect(0).center();
  drag(board->cardRect(QStringLiteral("B3")).center(), target, false);
  ASSERT_TRUE(settle());
  const QString held = window->summary();
  QTest::mouseRelease(board, Qt::LeftButton, {}, target);
  ASSERT_TRUE(settle());
  EXPECT_EQ(window->summary().section(QStringLiteral(" · "), 1), held.section(QStringLiteral(" · "), 1));
  EXPECT_EQ(window->summary().section(QLatin1Char(' '), 0, 0), held.section(QLatin1Char(' '), 0, 0));
}

TEST_F(WorkbenchFormTest, BlocksGetAStageOfTheirOwnAndStagesAnotherDevice) {
  showSample("mnist/two_stages.toml");
  workbench::StageBoard* board = window->board();
  drag(board->cardRect(QStringLiteral("B4")).center(), board->newDeviceRect().center());
  EXPECT_EQ(value("stages[2].blocks"), QStringLiteral("[\"B4\"]"));
  EXPECT_EQ(value("stages[2].device"), QStringLiteral("2"));
  ASSERT_TRUE(settle());
  EXPECT_EQ(board->figures(2).size(), 2);
  drag(board->headRect(2).center(), board->newDeviceRect().center());
  EXPECT_EQ(value("stages[2].device"), QStringLiteral("3"));
  ASSERT_TRUE(settle());
  EXPECT_FALSE(window->summary().isEmpty());
  // A card that is dropped beside everything stays where it was.
  const QString toml = window->draft().toml();
  drag(board->cardRect(QStringLiteral("B2")).center(), QPoint(board->stageRect(0).left(), 2));
  EXPECT_EQ(window->draft().toml(), toml);
  ASSERT_TRUE(settle());
}

TEST_F(WorkbenchFormTest, TheKeyboardMovesBlocks) {
  showSample("mnist/two_stages.toml");
  workbench::StageBoard* board = window->board();
  board->setFocus();
  EXPECT_EQ(board->marked(), QStringLiteral("B1"));
  QTest::keyClick(board, Qt::Key_Right);
  EXPECT_EQ(board->marked(), QStringLiteral("B3"));
  QTest::keyClick(board, Qt::Key_Left, Qt::ControlModifier);
  EXPECT_EQ(value("stages[0].blocks"), QStringLiteral("[\"B1\", \"B2\", \"B3\"]"));
  ASSERT_TRUE(settle());
  QTest::keyClick(board, Qt::Key_Insert);
  EXPECT_EQ(value("stages[1].blocks"), QStringLiteral("[\"B3\"]"));
  EXPECT_EQ(window->draft().count(QStringLiteral("stages")), 3);
  QTest::keyClick(board, Qt::Key_Up);
  EXPECT_EQ(board->marked(), QStringLiteral("B2"));
  ASSERT_TRUE(settle());
}

TEST_F(WorkbenchFormTest, GivenCostsAreNotPredicted) {
  showSample("fixed/imbalanced.toml");
  EXPECT_TRUE(window->summary().startsWith(QStringLiteral("The costs of the stages are given")));
  EXPECT_TRUE(button("Start run")->isEnabled());
  EXPECT_TRUE(window->board()->places().stages.empty());
}

TEST_F(WorkbenchFormTest, AFailedPredictionIsASentence) {
  services.program = folder.filePath(QStringLiteral("missing"));
  showSample("mnist/two_stages.toml");
  EXPECT_TRUE(window->summary().contains(QStringLiteral("cannot be started")))
      << window->summary().toStdString();
  const auto said = [&](const QByteArray& text) {
    workbench::Predictor predictor(script(text));
    QSignalSpy failed(&predictor, &workbench::Predictor::failed);
    predictor.predict(QStringLiteral("x"));
    EXPECT_TRUE(waitFor([&] { return failed.count() == 1; }));
    return failed[0][1].toString();
  };
  EXPECT_EQ(said("cat > /dev/null; kill -9 $$\n"), QStringLiteral("The prediction ended early."));
  EXPECT_EQ(said("cat > /dev/null; echo 'note: x' >&2; echo 'pipescope: /dev/stdin: No.' >&2; exit 2\n"),
            QStringLiteral("No."));
  EXPECT_TRUE(
      said("cat > /dev/null; echo '{\"stages\": 3}'\n").contains(QStringLiteral("different versions")));
  EXPECT_TRUE(said("cat > /dev/null; echo nonsense\n").contains(QStringLiteral("cannot be read")));
}

TEST_F(WorkbenchFormTest, ANewerQuestionEndsThePresentPrediction) {
  const QByteArray answer = prediction("{\"layers\": [\"A\"], \"device\": 0}").toUtf8();
  workbench::Predictor predictor(
      script("read line\nif [ \"$line\" = slow ]; then exec sleep 600; fi\necho '" + answer +
             "'\necho x >> " + folder.filePath(QStringLiteral("calls")).toUtf8() + "\n"));
  qRegisterMetaType<workbench::Prediction>("pipescope::workbench::Prediction");
  QSignalSpy answered(&predictor, &workbench::Predictor::answered),
      failed(&predictor, &workbench::Predictor::failed);
  predictor.predict(QStringLiteral("slow\n"));
  EXPECT_TRUE(predictor.isBusy());
  predictor.predict(QStringLiteral("quick\n"));
  ASSERT_TRUE(waitFor([&] { return answered.count() == 1; }));
  EXPECT_EQ(answered[0][0].toString(), QStringLiteral("quick\n"));
  EXPECT_EQ(failed.count(), 0);
  // The same question is answered from memory.
  predictor.predict(QStringLiteral("quick\n"));
  ASSERT_TRUE(waitFor([&] { return answered.count() == 2; }));
  QFile calls(folder.filePath(QStringLiteral("calls")));
  ASSERT_TRUE(calls.open(QIODevice::ReadOnly));
  EXPECT_EQ(calls.readAll(), QByteArray("x\n"));
}

TEST_F(WorkbenchFormTest, AConfigurationThatCannotBeReadIsASentence) {
  show();
  window->openConfiguration(folder.filePath(QStringLiteral("missing.toml")));
  ASSERT_TRUE(settle());
  EXPECT_TRUE(window->notice().contains(QStringLiteral("Cannot read the configuration")))
      << window->notice().toStdString();
  window->edit({}, {});
  ASSERT_TRUE(settle());
  EXPECT_TRUE(window->notice().contains(QStringLiteral("holds no options")))
      << window->notice().toStdString();
  window->edit(QStringLiteral("old.pop"), {{"training.epochs", "2", "file"}, {"training.warp", "1", "file"}});
  ASSERT_TRUE(settle());
  EXPECT_TRUE(window->notice().contains(
      QStringLiteral("does not know these settings, and leaves them out: training.warp")));
}

TEST_F(WorkbenchFormTest, ASavedConfigurationOpensAgain) {
  showSample("mnist/two_stages.toml");
  const QString file = folder.filePath(QStringLiteral("kept.toml")), toml = window->draft().toml();
  window->saveConfiguration(file);
  ASSERT_TRUE(waitFor([&] { return window->notice().startsWith(QStringLiteral("Wrote")); }));
  window->newRun();
  EXPECT_TRUE(window->draft().settings().empty());
  window->openConfiguration(file);
  ASSERT_TRUE(settle());
  EXPECT_EQ(window->draft().toml(), toml);
  // A file that somebody else wrote stays.
  QFile other(folder.filePath(QStringLiteral("other.toml")));
  ASSERT_TRUE(other.open(QIODevice::WriteOnly));
  other.write("# mine\n");
  other.close();
  window->saveConfiguration(other.fileName());
  ASSERT_TRUE(waitFor([&] { return window->notice().contains(QStringLiteral("other.toml")); }));
  ASSERT_TRUE(other.open(QIODevice::ReadOnly));
  EXPECT_EQ(other.readAll(), QByteArray("# mine\n"));
}

TEST_F(WorkbenchFormTest, Pictures) {
  services.presets = [] { return gui::presetsIn({QStringLiteral(PIPESCOPE_SOURCE_DIR "/samples")}); };
  showSample("bert_large/pipelined.toml");
  EXPECT_EQ(window->board()->places().stages.size(), 13U);
  EXPECT_EQ(window->board()->places().order.size(), 26);
  picture("workbench_bert");
  window->resize(3840, 2160);
  picture("workbench_large");
  palette->setTheme(shell::Theme::dark);
  window->resize(1024, 700);
  QCoreApplication::processEvents();
  picture("workbench_small_dark");
  EXPECT_GE(window->form()->width(), 250);
}

}  // namespace
}  // namespace pipescope::testing
