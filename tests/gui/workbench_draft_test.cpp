// Tests what the workbench makes of a configuration and of a prediction, without a window.

#include "views/workbench/board_layout.h"
#include "views/workbench/key_value.h"
#include "views/workbench/predictor.h"
#include "views/workbench/stage_figures.h"
#include "window_test.h"
#include "workbench_fixture.h"

namespace pipescope::testing {
namespace {

using workbench::Draft;
using workbench::FormSetting;
using workbench::StagePlaces;

std::shared_ptr<const workbench::Keys> allKeys() {
  static const auto keys = std::make_shared<const workbench::Keys>(gui::workbenchServices().keys);
  return keys;
}

std::string settingsText(const std::vector<FormSetting>& settings) {
  std::string text;
  for (const FormSetting& each : settings)
    text += (each.path + QStringLiteral(" = ") + each.value).toStdString() + "\n";
  return text;
}

TEST(WorkbenchDraft, EverySampleIsReadWrittenAndAccepted) {
  const auto presets = gui::presetsIn({QStringLiteral(PIPESCOPE_SOURCE_DIR "/samples")});
  ASSERT_GE(presets.size(), 10U);
  const QTemporaryDir folder;
  for (const workbench::Preset& preset : presets) {
    const auto settings = gui::readSettings(preset.file);
    ASSERT_TRUE(settings.ok()) << settings.error().message;
    EXPECT_FALSE(preset.doc.isEmpty()) << preset.name.toStdString();
    Draft draft(allKeys());
    EXPECT_TRUE(draft.assign(*settings).isEmpty()) << preset.name.toStdString();
    const auto problems = gui::checkSettings(draft.settings());
    EXPECT_TRUE(problems.empty()) << preset.name.toStdString() << ": "
                                  << problems.front().sentence.toStdString();
    QFile copy(folder.filePath(QStringLiteral("copy.toml")));
    ASSERT_TRUE(copy.open(QIODevice::WriteOnly));
    copy.write(draft.toml().toUtf8());
    copy.close();
    const auto again = gui::readSettings(copy.fileName());
    ASSERT_TRUE(again.ok()) << again.error().message;
    EXPECT_EQ(settingsText(*again), settingsText(*settings)) << preset.name.toStdString();
  }
}

TEST(WorkbenchDraft, TypedTextsBecomeToml) {
  const auto key = [](workbench::ValueType type, const QStringList& choices = {}) {
    workbench::KeyRow row;
    row.type = type;
    row.choices = choices;
    return row;
  };
  using workbench::tomlOf;
  using workbench::typedText;
  using workbench::ValueType;
  const auto words = key(ValueType::integer, {QStringLiteral("auto")});
  EXPECT_EQ(tomlOf(words, QStringLiteral(" 12 ")), QStringLiteral("12"));
  EXPECT_EQ(tomlOf(words, QStringLiteral("auto")), QStringLiteral("\"auto\""));
  EXPECT_EQ(typedText(words, QStringLiteral("-1")), QStringLiteral("auto"));
  EXPECT_EQ(tomlOf(key(ValueType::integer), QStringLiteral("007")), QStringLiteral("7"));
  EXPECT_EQ(tomlOf(key(ValueType::integer), QStringLiteral("1.5")), QStringLiteral("\"1.5\""));
  EXPECT_EQ(tomlOf(key(ValueType::real), QStringLiteral(".5")), QStringLiteral("0.5"));
  EXPECT_EQ(tomlOf(key(ValueType::real), QStringLiteral("3e-5")), QStringLiteral("3e-5"));
  EXPECT_EQ(tomlOf(key(ValueType::real), QStringLiteral("nan")), QStringLiteral("\"nan\""));
  EXPECT_EQ(tomlOf(key(ValueType::text), QStringLiteral("a \"b\" \\ \n")),
            QStringLiteral("\"a \\\"b\\\" \\\\ \\u000a\""));
  EXPECT_EQ(workbench::unquoted(QStringLiteral("\"a \\\"b\\\" \\\\ \\u000a\"")),
            QStringLiteral("a \"b\" \\ \n"));
  EXPECT_EQ(tomlOf(key(ValueType::integers), QStringLiteral("1, 28,28")), QStringLiteral("[1, 28, 28]"));
  EXPECT_EQ(tomlOf(key(ValueType::integers), QStringLiteral("1, x")), QStringLiteral("\"1, x\""));
  EXPECT_EQ(tomlOf(key(ValueType::texts), QStringLiteral("B1, B2")), QStringLiteral("[\"B1\", \"B2\"]"));
  EXPECT_EQ(tomlOf(key(ValueType::texts), QStringLiteral("[\"a,b\"]")), QStringLiteral("[\"a,b\"]"));
  EXPECT_EQ(typedText(key(ValueType::texts), QStringLiteral("[\"B1\", \"B2\"]")), QStringLiteral("B1, B2"));
  EXPECT_EQ(typedText(key(ValueType::texts), QStringLiteral("[\"a,b\"]")), QStringLiteral("[\"a,b\"]"));
}

TEST(WorkbenchDraft, ARecordedRunGivesItsSettingsBack) {
  const std::vector<model::ConfigurationEntry> options = {{"system.name", "\"hls-gaudi2\"", "derived"},
                                                          {"system.accelerator", "\"hpu\"", "flag"},
                                                          {"system.devices", "-1", "file"},
                                                          {"execution.schedule", "\"popart\"", "file"},
                                                          {"execution.strategy", "\"sharded\"", "flag"},
                                                          {"execution.instances", "2", "flag"},
                                                          {"training.epochs", "3", "default"},
                                                          {"training.loss", "\"model\"", "model"},
                                                          {"training.micro_batch_size", "4", "environment"}};
  // The program had derived the system from the accelerator, and the strategy had replaced the schedule.
  EXPECT_EQ(settingsText(workbench::settingsOfRun(options, *allKeys())),
            "system.accelerator = \"hpu\"\nsystem.devices = \"auto\"\nexecution.strategy = \"sharded\"\n"
            "training.micro_batch_size = 4\n");
  // A system that has the accelerator was not replaced.
  EXPECT_EQ(
      settingsText(workbench::settingsOfRun(
          {{"system.name", "\"hls-1\"", "file"}, {"system.accelerator", "\"hpu\"", "flag"}}, *allKeys())),
      "system.name = \"hls-1\"\nsystem.accelerator = \"hpu\"\n");
}

TEST(WorkbenchDraft, RelativePathsStartAtTheFolderOfTheProgram) {
  Draft draft(allKeys());
  draft.assign({{QStringLiteral("model.onnx"), QStringLiteral("\"a b/m.onnx\"")},
                {QStringLiteral("data.directory"), QStringLiteral("\"/data\"")}});
  EXPECT_EQ(settingsText(draft.settings()), "model.onnx = \"" + QDir::currentPath().toStdString() +
                                                "/a b/m.onnx\"\ndata.directory = \"/data\"\n");
  EXPECT_EQ(draft.value(QStringLiteral("model.onnx")), QStringLiteral("\"a b/m.onnx\"")) << "as it was typed";
}

TEST(WorkbenchDraft, BlocksMoveBetweenStages) {
  const auto parsed = workbench::parsePrediction(
      prediction("{\"layers\": [\"A\", \"B\"], \"device\": 0}, {\"layers\": [\"C\"], \"device\": 1}")
          .toUtf8());
  ASSERT_TRUE(parsed.ok());
  Draft draft(allKeys());
  draft.assign({{QStringLiteral("execution.layers_per_stage"), QStringLiteral("[2, 1]")}});
  const StagePlaces places = workbench::placesOf(draft, *parsed);
  EXPECT_FALSE(places.namesDevices);
  workbench::apply(workbench::withBlockIn(places, QStringLiteral("B"), 1), draft);
  EXPECT_EQ(draft.toml(),
            QStringLiteral("[[stages]]\nblocks = [\"A\"]\n\n[[stages]]\nblocks = [\"B\", \"C\"]\n"));
  // A stage without blocks goes.
  const StagePlaces one = workbench::withBlockIn(places, QStringLiteral("C"), 0);
  ASSERT_EQ(one.stages.size(), 1U);
  EXPECT_EQ(one.stages[0].blocks,
            QStringList({QStringLiteral("A"), QStringLiteral("B"), QStringLiteral("C")}));
  // A new stage lies beside the one that its block leaves.
  const StagePlaces three = workbench::withBlockAlone(places, QStringLiteral("A"), 2);
  ASSERT_EQ(three.stages.size(), 3U);
  EXPECT_EQ(three.stages[0].blocks, QStringList(QStringLiteral("A")));
  EXPECT_EQ(workbench::withBlockAlone(places, QStringLiteral("C"), 2), places) << "it is alone already";
  workbench::apply(workbench::withStageOn(places, 1, 3), draft);
  EXPECT_EQ(
      draft.toml(),
      QStringLiteral(
          "[[stages]]\nblocks = [\"A\", \"B\"]\ndevice = 0\n\n[[stages]]\nblocks = [\"C\"]\ndevice = 3\n"));
  EXPECT_EQ(workbench::withBlockIn(places, QStringLiteral("B"), 7), places) << "there is no such stage";
}

TEST(WorkbenchPrediction, StagesWithinAPercentLimitTogether) {
  const auto sentenceOf = [](double first, double second, double third) {
    workbench::Prediction prediction;
    for (const double occupied : {first, second, third}) {
      prediction.stages.emplace_back();
      prediction.stages.back().occupiedMs = occupied;
    }
    return workbench::predictionSentence(prediction, {});
  };
  EXPECT_TRUE(sentenceOf(2, 1, 1).contains(QStringLiteral(" · stage 0 limits · ")));
  EXPECT_TRUE(sentenceOf(1, 0.5, 0.995).contains(QStringLiteral(" · stages 0 and 2 limit · ")));
  EXPECT_TRUE(sentenceOf(1, 0.98, 0.5).contains(QStringLiteral(" · stage 0 limits · ")));
  EXPECT_TRUE(sentenceOf(1, 1, 1).contains(QStringLiteral(" · all stages take equally long · ")));
  EXPECT_FALSE(sentenceOf(0, 0, 0).contains(QStringLiteral("stage")));
}

TEST(WorkbenchPrediction, OneSentenceSaysWhereMemoryIsMissing) {
  workbench::Prediction prediction;
  prediction.stages.resize(4);
  EXPECT_TRUE(workbench::shortageSentence(prediction).isEmpty());
  prediction.fits = false;
  prediction.missingBytes = prediction.stages[2].missingBytes = 84'275;  // 82.3 × 1,024 is 84,275.2
  EXPECT_EQ(workbench::shortageSentence(prediction),
            QStringLiteral("The device of stage 2 lacks 82.3 KiB where it is fullest."));
  prediction.stages[1].missingBytes = 1024;
  EXPECT_EQ(workbench::shortageSentence(prediction),
            QStringLiteral("The devices of stages 1 and 2 lack memory: that of stage 2 lacks most, 82.3 KiB "
                           "where it is fullest."));
  prediction.stages[1].missingBytes = prediction.stages[2].missingBytes = 0;
  EXPECT_EQ(workbench::shortageSentence(prediction), QStringLiteral("A device lacks 82.3 KiB."));
  prediction.remarks = QStringList{QStringLiteral("IPU1: 1,472 of 1,472 tiles need more")};
  EXPECT_FALSE(workbench::predictionSentence(prediction, {}).contains(QStringLiteral("1,472")));
}

TEST(WorkbenchDraft, FilesAreNamedAfterTheModelOrElseTheSystem) {
  Draft draft(allKeys());
  draft.assign({{QStringLiteral("system.name"), QStringLiteral("\"fixed\"")},
                {QStringLiteral("fixed.stages[0].forward"), QStringLiteral("1")}});
  EXPECT_EQ(draft.fileName(), QStringLiteral("fixed"));
  draft.assign({{QStringLiteral("model.builder"), QStringLiteral("\"bert\"")},
                {QStringLiteral("system.name"), QStringLiteral("\"pod16\"")}});
  EXPECT_EQ(draft.fileName(), QStringLiteral("bert"));
  draft.set(QStringLiteral("model.name"), QStringLiteral("\"my net/2\""));
  EXPECT_EQ(draft.fileName(), QStringLiteral("my_net_2"));
  draft.assign({{QStringLiteral("model.onnx"), QStringLiteral("\"a.onnx\"")}});
  EXPECT_EQ(draft.fileName(), QStringLiteral("model"));
}

TEST(WorkbenchDraft, AStageKeepsItsOtherSettingsWhenABlockMoves) {
  const auto parsed = workbench::parsePrediction(
      prediction("{\"layers\": [\"A\", \"B\"], \"device\": 0}, {\"layers\": [\"C\"], \"device\": 1}")
          .toUtf8());
  ASSERT_TRUE(parsed.ok());
  Draft draft(allKeys());
  draft.assign({{QStringLiteral("stages[0].blocks"), QStringLiteral("[\"A\", \"B\"]")},
                {QStringLiteral("stages[1].blocks"), QStringLiteral("[\"C\"]")},
                {QStringLiteral("stages[1].available_memory_proportion"), QStringLiteral("0.3")}});
  const StagePlaces places = workbench::placesOf(draft, *parsed);
  workbench::apply(workbench::withBlockIn(places, QStringLiteral("B"), 1), draft);
  EXPECT_EQ(draft.value(QStringLiteral("stages[1].available_memory_proportion")), QStringLiteral("0.3"));
  // The stage is the second of three then.
  workbench::apply(workbench::withBlockAlone(places, QStringLiteral("A"), 2), draft);
  EXPECT_EQ(draft.count(QStringLiteral("stages")), 3);
  EXPECT_EQ(draft.value(QStringLiteral("stages[2].available_memory_proportion")), QStringLiteral("0.3"));
  EXPECT_FALSE(draft.given(QStringLiteral("stages[1].available_memory_proportion")));
}

TEST(WorkbenchDraft, AStageThatBeginsWithinABlockStays) {
  const auto parsed = workbench::parsePrediction(
      prediction("{\"layers\": [\"A\"], \"device\": 0}, {\"layers\": [\"B/stage1\"], \"device\": 1}")
          .toUtf8());
  Draft draft(allKeys());
  EXPECT_TRUE(whyFixed(workbench::placesOf(draft, *parsed)).isEmpty()) << "a block may have such a name";
  draft.set(QStringLiteral("execution.stages"), QStringLiteral("2"));
  EXPECT_TRUE(whyFixed(workbench::placesOf(draft, *parsed)).contains(QStringLiteral("within the block B.")));
}

TEST(StageLayout, ColumnsThatHaveNoRoomBeginAnotherRow) {
  workbench::StagePlaces places;
  for (int device = 0; device < 9; ++device) {
    workbench::StagePlace stage;
    stage.device = device;
    for (int block = 0; block <= device % 3; ++block)
      stage.blocks << QStringLiteral("B%1_%2").arg(device).arg(block);
    places.stages.push_back(stage);
  }
  const QFontMetrics metrics{QFont()};
  for (const int width : {220, 700, 1200, 5000}) {
    const workbench::StageLayout layout(places, metrics, width,
                                        workbench::StageLayout::sizesFor(places, metrics, {width, 4'000}));
    ASSERT_EQ(layout.columns().size(), 9U);
    std::vector<QRect> parts = {layout.newDevice()};
    for (const workbench::StageColumn& column : layout.columns()) {
      EXPECT_EQ(layout.deviceAt(column.rect.center()), column.device) << width;
      for (const workbench::StageBox& box : column.stages)
        EXPECT_TRUE(column.rect.contains(box.rect)) << width;
      parts.push_back(column.rect);
    }
    for (std::size_t a = 0; a < parts.size(); ++a) {
      EXPECT_LE(parts[a].right(), width) << "nothing lies beside the board";
      EXPECT_LE(parts[a].bottom(), layout.size().height()) << width;
      for (std::size_t b = 0; b < a; ++b) EXPECT_FALSE(parts[a].intersects(parts[b])) << width;
    }
    EXPECT_EQ(layout.deviceAt(layout.newDevice().center()), -1) << width;
    EXPECT_EQ(layout.columns()[0].rect.width(), width < 1'600 ? 188 : 320) << "a large board has large cards";
    // A stage that is put there stays below the pointer.
    const workbench::StagePlaces added =
        workbench::withBlockAlone(places, QStringLiteral("B8_2"), workbench::nextDevice(places));
    EXPECT_EQ(
        workbench::StageLayout(added, metrics, width, layout.sizes()).deviceAt(layout.newDevice().center()),
        9)
        << width;
  }
}

}  // namespace
}  // namespace pipescope::testing
