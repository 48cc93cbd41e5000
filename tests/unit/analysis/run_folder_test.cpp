// Tests that files of a recorded run are found from any folder.
#include "profiler/analysis/run_folder.h"

#include <gtest/gtest.h>

namespace pipescope::analysis {
namespace {

std::string valueFrom(const std::string& folder, const std::string& path, const std::string& value) {
  Catalog catalog;
  if (!folder.empty()) catalog.properties.push_back({"run_folder", folder});
  catalog.configuration.push_back({path, value, "file"});
  const std::vector<model::ConfigurationEntry> options = optionsForAnyFolder(catalog);
  EXPECT_EQ(options.size(), 1U);
  EXPECT_EQ(options.front().path, path);
  EXPECT_EQ(options.front().origin, "file");
  return options.front().value;
}

TEST(RunFolder, RelativePathsBeginWhereTheRunWasStarted) {
  EXPECT_EQ(valueFrom("/home/a", "model.onnx", "\"models/m.onnx\""), "\"/home/a/models/m.onnx\"");
  EXPECT_EQ(valueFrom("/home/a", "data.directory", "\"../data\""), "\"/home/a/../data\"");
  EXPECT_EQ(valueFrom("/", "execution.load_weights", "\"w.npz\""), "\"/w.npz\"");
  EXPECT_EQ(valueFrom("/a \"b\\", "model.onnx", "\"m.onnx\""), "\"/a \\\"b\\\\/m.onnx\"");
}

TEST(RunFolder, OtherOptionsStayAsTheyAre) {
  EXPECT_EQ(valueFrom("/home/a", "model.onnx", "\"/models/m.onnx\""), "\"/models/m.onnx\"");
  EXPECT_EQ(valueFrom("/home/a", "model.onnx", "\"\""), "\"\"");
  EXPECT_EQ(valueFrom("/home/a", "model.name", "\"mnist\""), "\"mnist\"");
  EXPECT_EQ(valueFrom("/home/a", "training.epochs", "3"), "3");
  EXPECT_EQ(valueFrom("", "model.onnx", "\"m.onnx\""), "\"m.onnx\"") << "an older profile";
}

}  // namespace
}  // namespace pipescope::analysis
