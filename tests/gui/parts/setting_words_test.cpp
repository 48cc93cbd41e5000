// Tests the words in which the window names settings and their changes.
#include <gtest/gtest.h>

#include "views/pages/parts/data/setting_words.h"

namespace pipescope::testing {
namespace {

analysis::Catalog catalogWith(std::initializer_list<const char*> keys) {
  analysis::Catalog catalog;
  for (const char* key : keys) catalog.configuration.push_back({key, "1", "default"});
  return catalog;
}

TEST(SettingWords, ChangesHaveTheWordsOfTheirKind) {
  const auto words = [](const char* changes) {
    return pages::changesInWords(QString::fromLatin1(changes)).toStdString();
  };
  EXPECT_EQ(words("execution.schedule=1f1b"), "schedule: 1f1b");
  EXPECT_EQ(words("execution.recompute=none"), "recomputation of forward passes: none, results are kept");
  EXPECT_EQ(words("stages.1.forward=*0.8"), "forward pass of stage 1: × 0.8");
  EXPECT_EQ(words("move=B2:1"), "place of a block: B2 to stage 1");
  EXPECT_EQ(words("execution.offload_optimizer=true"), "offload optimizer: on") << "only a run knows the key";
  EXPECT_EQ(words("training.micro_batch_size=80 training.gradient_accumulation=5"),
            "micro-batch size: 80 and micro-batches of an update: 5");
  EXPECT_EQ(words("interaction"), "interaction") << "it is no change";
}

TEST(SettingWords, SentencesHaveNoKeys) {
  const analysis::Catalog catalog =
      catalogWith({"training.gradient_accumulation", "training.micro_batch_size", "model.name"});
  const auto words = [&](const char* sentence) {
    return pages::withSettingsInWords(QString::fromUtf8(sentence), catalog).toStdString();
  };
  EXPECT_EQ(words("Of 12 single changes, execution.schedule=1f1b gains most."),
            "Of 12 single changes, “schedule: 1f1b” gains most.");
  EXPECT_EQ(
      words("A run with training.micro_batch_size=80 training.gradient_accumulation=5 would be refused: "
            "The schedule needs gradient_accumulation of at least 7, but it is 5."),
      "A run with “micro-batch size: 80” and “micro-batches of an update: 5” would be refused: The "
      "schedule needs gradient accumulation of at least 7, but it is 5.");
  EXPECT_EQ(words("Compiled with execution.stages = 4: everything fits."),
            "Compiled with “stages: 4”: everything fits.");
  EXPECT_EQ(words("The best change is execution.recompute=none."),
            "The best change is “recomputation of forward passes: none, results are kept”.");
  EXPECT_EQ(words("Stage 1 (IPU1) computes 1.54 times as long."),
            "Stage 1 (IPU1) computes 1.54 times as long.");
}

TEST(SettingWords, NamesOfLayersStay) {
  const analysis::Catalog catalog = catalogWith({"training.micro_batch_size"});
  const QString sentence = QStringLiteral("encoder/micro_batch_size/add and layer_norm take 3 ms.");
  EXPECT_EQ(pages::withSettingsInWords(sentence, catalog), sentence);
}

TEST(SettingWords, KeysBecomeWords) {
  EXPECT_EQ(pages::settingInWords(QStringLiteral("training.micro_batch_size")),
            QStringLiteral("micro-batch size"));
  EXPECT_EQ(pages::settingInWords(QStringLiteral("execution.schedule")), QStringLiteral("schedule"));
}

}  // namespace
}  // namespace pipescope::testing
