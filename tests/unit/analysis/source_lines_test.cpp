// Tests which source line recorded work comes from.
#include "profiler/analysis/timeline/source_lines.h"

#include <gtest/gtest.h>

#include <fstream>
#include <map>

#include "imported_trace.h"
#include "profiler/analysis/timeline/trace_segment.h"

namespace pipescope::analysis {
namespace {

TEST(SourceLines, AreReadFromNamesOfPythonFunctions) {
  EXPECT_EQ(sourceLineIn("train.py(12): train_step"), (SourceLine{"train.py", "train_step", 12}));
  EXPECT_EQ(sourceLineIn("/home/me/a (b)/m.py(3): <module>"),
            (SourceLine{"/home/me/a (b)/m.py", "<module>", 3}));
  for (const char* name : {"aten::linear", "train.py", "train.py(): f", "train.py(-3): f", "train.py(1)", "",
                           "train.py(99999999999999999999): f"})
    EXPECT_FALSE(sourceLineIn(name)) << name;
}

TEST(SourceLines, AreOnePartOfANamePath) {
  using Parts = std::vector<std::string>;
  EXPECT_EQ(namePathParts("torch/nn/modules/linear.py(114): forward"),
            (Parts{"torch/nn/modules/linear.py(114): forward"}));
  EXPECT_EQ(namePathParts("layer1/conv/Convolve"), (Parts{"layer1", "conv", "Convolve"}));
  EXPECT_EQ(namePathParts("/a//b/"), (Parts{"a", "b"})) << "empty parts say nothing";
  EXPECT_EQ(namePathParts("1/2/3/4/5/6/7/8/9/10/11/12/13").back(), "12/13");
}

/// A kernel that a library's function launches within a function of the user's program.
TEST(SourceLines, OfAKernelAreThoseOfItsLaunch) {
  const std::filesystem::path file = std::filesystem::path(::testing::TempDir()) / "source_lines.json";
  std::ofstream(file) << R"({"traceEvents":[
    {"ph":"X","name":"train.py(12): train_step","ts":1,"dur":800,"pid":7,"tid":7,"cat":"python_function"},
    {"ph":"X","name":"model.py(33): forward","ts":3,"dur":290,"pid":7,"tid":7,"cat":"python_function"},
    {"ph":"X","name":"torch/nn/modules/linear.py(114): forward","ts":4,"dur":100,"pid":7,"tid":7,"cat":"python_function"},
    {"ph":"X","name":"cudaLaunchKernel","ts":10,"dur":5,"pid":7,"tid":7,"cat":"cuda_runtime","args":{"correlation":1}},
    {"ph":"X","name":"gemm","ts":40,"dur":80,"pid":0,"tid":7,"cat":"kernel","args":{"correlation":1}},
    {"ph":"X","name":"other.py(5): wait","ts":1,"dur":800,"pid":7,"tid":8,"cat":"python_function"},
    {"ph":"X","name":"cudaLaunchKernel","ts":400,"dur":5,"pid":7,"tid":7,"cat":"cuda_runtime","args":{"correlation":2}},
    {"ph":"X","name":"adam","ts":450,"dur":60,"pid":0,"tid":7,"cat":"kernel","args":{"correlation":2}},
    {"ph":"X","name":"lonely","ts":600,"dur":60,"pid":0,"tid":7,"cat":"kernel"}]})";
  const ImportedTrace imported(file);
  const Catalog& catalog = *imported.catalog;
  base::SilentProgress progress;
  TraceRequest request;
  request.executable = catalog.executables.front().id;
  const auto loaded = loadTrace(imported.profile, catalog, request, progress);
  ASSERT_TRUE(loaded.ok());
  const Trace& trace = **loaded;
  std::map<std::string, std::optional<SourceLine>> found;
  for (const DeviceTrace& device : trace.devices) {
    for (const TraceTrack& track : device.tracks) {
      for (const TracePlacement& placement : track.placements) {
        const TraceSegment& segment = *trace.segmentOf(placement);
        for (std::size_t s = 0; s < segment.steps.size(); ++s)
          found[trace.names[static_cast<std::size_t>(segment.stepNames[s])]] =
              sourceLineOf(trace, catalog, segment.steps[s].lane, placement.start + segment.steps[s].offset);
      }
    }
  }
  EXPECT_EQ(found["gemm"], (SourceLine{"model.py", "forward", 33})) << "the user's line, not the library's";
  EXPECT_EQ(found["adam"], (SourceLine{"train.py", "train_step", 12}));
  EXPECT_EQ(found["other.py(5): wait"], (SourceLine{"other.py", "wait", 5}));
  EXPECT_FALSE(found["lonely"]);
}

}  // namespace
}  // namespace pipescope::analysis
