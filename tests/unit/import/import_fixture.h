#pragma once
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include "profiler/import/trace_import.h"
#include "profiler/model/columns.h"
#include "profiler/record/memory_profile.h"

namespace pipescope::importing {

/// Imports files that a test writes, and reads the rows of the profile.
class ImportFixture : public testing::Test {
 protected:
  ImportFixture() { std::filesystem::create_directories(folder_); }
  ~ImportFixture() override { std::filesystem::remove_all(folder_); }

  std::filesystem::path write(const std::string& name, const std::string& text) const {
    std::filesystem::create_directories((folder_ / name).parent_path());
    std::ofstream(folder_ / name, std::ios::binary) << text;
    return folder_ / name;
  }

  base::Result<ImportSummary> import(ImportRequest request) {
    profile_.emplace();
    record::Recorder recorder(*profile_);
    base::SilentProgress progress;
    request.temporaryFolder = folder_;
    return importTraces(request, recorder, progress);
  }
  base::Result<ImportSummary> import(std::vector<std::filesystem::path> paths) {
    ImportRequest request;
    request.paths = std::move(paths);
    return import(std::move(request));
  }
  base::Result<ImportSummary> import(const std::filesystem::path& path) { return import(std::vector{path}); }

  template <class Row>
  std::vector<Row> rows() {
    std::vector<Row> all;
    const auto blocks = profile_->blocks<Row>();
    EXPECT_TRUE(blocks.ok());
    for (std::size_t i = 0; i < blocks->size(); ++i) {
      const auto block = profile_->block<Row>(i);
      EXPECT_TRUE(block.ok());
      all.insert(all.end(), (*block)->begin(), (*block)->end());
    }
    return all;
  }

  /// "lane name: program name start-end" of every step, in picoseconds.
  std::vector<std::string> slices() {
    const auto lanes = rows<model::Lane>();
    const auto programs = rows<model::Program>();
    const auto names = rows<model::DebugContext>();
    std::vector<std::int64_t> starts(rows<model::Segment>().size());
    for (const auto& placement : rows<model::Placement>())
      starts[static_cast<std::size_t>(placement.segment.value)] = placement.start.count;
    std::vector<std::string> texts;
    for (const auto& step : rows<model::Step>()) {
      const auto& program = programs[static_cast<std::size_t>(step.program.value)];
      const std::int64_t start = starts[static_cast<std::size_t>(step.segment.value)] + step.offset.count;
      texts.push_back(lanes[static_cast<std::size_t>(step.lane.value)].name + ": " +
                      names[static_cast<std::size_t>(program.debugContext.value)].name + " " +
                      std::to_string(start) + "-" + std::to_string(start + step.ticks.count));
    }
    std::sort(texts.begin(), texts.end());
    return texts;
  }

  const std::filesystem::path folder_ = std::filesystem::path(testing::TempDir()) /
                                        testing::UnitTest::GetInstance()->current_test_info()->name();
  std::optional<record::MemoryProfile> profile_{std::in_place};
};

}  // namespace pipescope::importing
