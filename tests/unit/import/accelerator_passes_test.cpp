// Tests how passes and messages of accelerators are recognised. The profiler repeats each annotation on every
// queue of the accelerator, and queues of messages run beside the passes. Times are in microseconds.
#include <map>

#include "tests/unit/import/import_fixture.h"

namespace pipescope::importing {
namespace {

using Texts = std::vector<std::string>;

class AcceleratorPasses : public ImportFixture {
 protected:
  static std::string slice(const std::string& category, const std::string& name, int queue, int start,
                           int end, const std::string& arguments = "") {
    return R"({"ph":"X","pid":0,"cat":")" + category + R"(","name":")" + name + R"(","tid":)" +
           std::to_string(queue) + R"(,"ts":)" + std::to_string(start) + R"(,"dur":)" +
           std::to_string(end - start) + R"(,"args":{)" + arguments + "}},";
  }
  static std::string kernel(int start, int end) { return slice("kernel", "gemm", 7, start, end); }
  /// A pass on the queue that computes.
  static std::string pass(const std::string& name, int start, int end) {
    return slice("gpu_user_annotation", name, 7, start, end) + kernel(start, end);
  }
  /// A kernel of a message, with the annotation that the profiler repeats around it.
  static std::string message(const std::string& annotation, const std::string& direction, int peer, int start,
                             int end) {
    const std::string arguments = R"("Collective name":")" + direction + R"(","Process Group Name":"pp",")" +
                                  (direction == "send" ? "Dst Rank" : "Src Rank") + R"(":)" +
                                  std::to_string(peer);
    // The annotation may come last where both have the same times.
    return slice("kernel", "ncclDevKernel_SendRecv(args)", 20 + peer, start, end, arguments) +
           slice("gpu_user_annotation", annotation, 20 + peer, start, end);
  }
  void writeRank(int rank, const std::string& ranksOfGroup, std::string events) const {
    events.back() = ']';
    write("ranks/rank" + std::to_string(rank) + ".json",
          R"({"distributedInfo":{"rank":)" + std::to_string(rank) +
              R"(,"pg_config":[{"pg_name":"pp","ranks":)" + ranksOfGroup + R"(}]},"traceEvents":[)" + events +
              "}");
  }

  /// "device: pass stage/micro-batch start-end" of every pass.
  std::vector<std::string> passes() {
    const auto devices = rows<model::Device>();
    std::vector<std::string> texts;
    for (const auto& placement : rows<model::Placement>())
      if (placement.stage >= 0)
        texts.push_back(devices[static_cast<std::size_t>(placement.device.value)].name + ": " +
                        model::toString(placement.pass) + " " + std::to_string(placement.stage) + "/" +
                        std::to_string(placement.microBatch) + " " +
                        std::to_string(placement.start.count / 1'000'000) + "-" +
                        std::to_string(placement.end.count / 1'000'000));
    std::sort(texts.begin(), texts.end());
    return texts;
  }
};

/// Passes of two stages in the form that converters of Nsight Systems reports write: ranges of the host in
/// its own time, the calls that launch kernels, and kernels. A pass takes 4 on the host and 30 on its device.
class ConvertedPasses : public AcceleratorPasses {
 protected:
  std::string event(const std::string& category, const std::string& process, const std::string& thread,
                    const std::string& name, int start, int length, const std::string& arguments = "") const {
    return R"({"ph":"X","cat":")" + category + R"(","pid":")" + process + R"(","tid":")" + thread +
           R"(","name":")" + name + R"(","ts":)" + std::to_string(start) + R"(,"dur":)" +
           std::to_string(length) + R"(,"args":{)" + arguments + "}},";
  }
  /// `related`: calls and kernels state which of them belong together. `projected`: the converter projects
  /// the ranges onto the kernels. `together`: the calls of the host are those of a process of its own.
  Texts passesOf(bool related, bool projected, bool together) {
    std::string events;
    int number = 0;
    for (const int stage : {0, 1}) {
      const std::string device = "Device " + std::to_string(stage),
                        host = together ? device : "Host " + std::to_string(stage);
      for (const int microBatch : {0, 1}) {
        const int at = 10 + 5 * microBatch, works = 100 * (stage + 1) + 40 * microBatch;
        const std::string name = "stage" + std::to_string(stage) + "/forward/mb" + std::to_string(microBatch);
        const std::string ids = related ? R"("correlationId":)" + std::to_string(++number) : "";
        events += event("nvtx", host, "NVTX 1", name, at, 4);
        events += event("cuda_api", host, "NVTX 1", "cudaLaunchKernel", at + 1, 2, ids);
        events += event("cuda", device, "Stream 7", "gemm", works, 30, ids);
        if (projected) events += event("nvtx-kernel", device, "NVTX Kernel 1", name, works, 30);
      }
    }
    events.back() = ']';
    EXPECT_TRUE(import(write("converted.json", "[" + events)).ok());
    return passes();
  }
};

TEST_F(ConvertedPasses, HaveTheTimesOfTheirKernels) {
  const Texts related = {"Device 0: forward 0/0 90-120", "Device 0: forward 0/1 130-160",
                         "Device 1: forward 1/0 190-220", "Device 1: forward 1/1 230-260"};
  EXPECT_EQ(passesOf(true, false, false), related);
  EXPECT_EQ(passesOf(true, false, true), related) << "host and device are one process";
  EXPECT_EQ(passesOf(true, true, false), related);
  EXPECT_EQ(passesOf(false, true, false), related) << "the converter relates them";
  EXPECT_EQ(passesOf(false, true, true), related);
}

/// Traces of rocprof have processes for markers of the host and for each GPU.
TEST_F(ConvertedPasses, AreLeftOutIfOnlyRulesKnowTheirAccelerators) {
  std::string events = R"({"ph":"M","pid":"1","name":"process_name","args":{"name":"1 Markers and Ranges"}},)"
                       R"({"ph":"M","pid":"6","name":"process_name","args":{"name":"6 GPU0"}},)";
  events += event("", "6", "0", "Cijk_Ailk", 100, 30);
  events += event("", "1", "5", "stage0/forward/mb0", 10, 4);
  const std::string onGpu = event("", "6", "1", "stage0/forward/mb1", 140, 30);
  events.back() = ',';
  events += onGpu;
  events.back() = ']';
  ASSERT_TRUE(import(write("rocprof.json", "[" + events)).ok());
  EXPECT_EQ(passes(), (Texts{"6 GPU0: forward 0/1 130-160"}));
}

TEST_F(ConvertedPasses, AreLeftOutIfTheirKernelsAreNotKnown) {
  for (const bool together : {false, true}) {
    EXPECT_EQ(passesOf(false, false, together), Texts()) << "4 on the host are no times of stages";
    bool said = false;
    for (const model::Diagnostic& note : rows<model::Diagnostic>())
      said = said || note.text.find("4 passes are marked on a host whose times are those of launches") == 0;
    EXPECT_TRUE(said);
  }
}

/// The host marks the second step when the kernels of the first one run.
TEST_F(AcceleratorPasses, BelongToTheStepThatLaunchedThem) {
  const auto host = [](const std::string& name, int start, int end, const std::string& arguments = "") {
    return R"({"ph":"X","pid":9,"tid":9,"cat":"cpu_op","name":")" + name + R"(","ts":)" +
           std::to_string(start) + R"(,"dur":)" + std::to_string(end - start) + R"(,"args":{)" + arguments +
           "}},";
  };
  std::string events;
  for (const int step : {0, 1}) {
    const std::string launch = R"("correlation":)" + std::to_string(step + 1);
    const int begin = 100 * step;
    events += host("ProfilerStep#" + std::to_string(step), begin, begin + 100) +
              host("stage0/forward/mb0", begin + 10, begin + 20) +
              host("launch", begin + 12, begin + 14, launch) +
              slice("kernel", "gemm", 7, 110 + 40 * step, 150 + 40 * step, launch);
  }
  ASSERT_TRUE(import(write("t.json", "[" + events + "{}]")).ok());
  Texts found;
  for (const auto& placement : rows<model::Placement>())
    if (placement.pass == model::Pass::forward)
      found.push_back(std::to_string(placement.iteration) + ": " +
                      std::to_string(placement.start.count / 1'000'000) + "-" +
                      std::to_string(placement.end.count / 1'000'000));
  EXPECT_EQ(found, (Texts{"0: 110-150", "1: 150-190"}));
}

TEST_F(AcceleratorPasses, KeepTheirTimesBesideMessages) {
  // Rank 3 feeds rank 8, so the order of the ranks is not that of the numbers within their group.
  writeRank(8, "[8,3]",
            pass("Forward 0", 130, 150) + message("Forward 0", "recv", 1, 100, 130) +
                pass("Forward 1", 150, 170) + message("Forward 1", "recv", 1, 131, 160) +
                pass("Backward 0", 170, 200) + message("Backward 0", "send", 1, 200, 210));
  writeRank(3, "[8,3]",
            pass("Forward 0", 100, 120) + message("Forward 0", "send", 0, 120, 130) +
                pass("Forward 1", 120, 150) + message("Forward 1", "send", 0, 150, 160) +
                pass("Backward 0", 210, 240) + message("Backward 0", "recv", 0, 151, 210));
  ImportRequest request;
  request.paths = {folder_ / "ranks"};
  request.clock = ClockChoice::absolute;
  ASSERT_TRUE(import(request).ok());
  EXPECT_EQ(passes(),
            (Texts{"rank 3: backward 0/0 110-140", "rank 3: forward 0/0 0-20", "rank 3: forward 0/1 20-50",
                   "rank 8: backward 1/0 70-100", "rank 8: forward 1/0 30-50", "rank 8: forward 1/1 50-70"}))
      << "no message shortens a pass, and no annotation around a message is one";
  EXPECT_EQ(rows<model::Transfer>().size(), 3U);
}

TEST_F(AcceleratorPasses, KnowMessagesByTheAnnotationsOfTheirQueues) {
  // The rank in the middle waits for its next input and its next gradient at the same time.
  writeRank(0, "[0,1,2]",
            pass("PP:0F0", 0, 10) + message("PP:0SEND_F0", "send", 1, 10, 15) + pass("PP:0F1", 12, 60) +
                message("PP:0SEND_F1", "send", 1, 60, 65));
  writeRank(1, "[0,1,2]",
            message("PP:1RECV_F0", "recv", 0, 5, 15) + pass("PP:1F0", 15, 20) +
                message("PP:1SEND_F0", "send", 2, 20, 25) + message("PP:1RECV_F1", "recv", 0, 15, 65) +
                message("PP:1RECV_B0", "recv", 2, 21, 50) + pass("PP:1B0", 50, 58) + pass("PP:1F1", 65, 70));
  writeRank(2, "[0,1,2]",
            message("PP:2RECV_F0", "recv", 1, 5, 25) + pass("PP:2F0", 25, 30) + pass("PP:2B0", 30, 45) +
                message("PP:2SEND_B0", "send", 1, 45, 50));
  ImportRequest request;
  request.paths = {folder_ / "ranks"};
  request.clock = ClockChoice::absolute;
  ASSERT_TRUE(import(request).ok());
  std::map<std::string, std::string> properties;
  for (const auto& property : rows<model::Property>()) properties[property.key] = property.value;
  EXPECT_EQ(properties["coverage_paired_messages"], "8");
  EXPECT_EQ(properties["coverage_inferred_messages"], "0");
  // Before its first pass, rank 1 waits for stage 0 until 10, before its backward pass for stage 2 until 45,
  // and before its last forward pass for stage 0 until 60.
  std::map<std::int64_t, model::WaitCause> causes;
  for (const auto& wait : rows<model::Wait>())
    if (wait.device.value == 1) causes[wait.end.count / 1'000'000] = wait.cause;
  using enum model::WaitCause;
  EXPECT_EQ(causes, (std::map<std::int64_t, model::WaitCause>{{5, fill},
                                                              {10, fill},
                                                              {15, exchange},
                                                              {21, exchange},
                                                              {45, slowerStage},
                                                              {50, exchange},
                                                              {60, slowerStage},
                                                              {65, exchange}}));
}

TEST_F(AcceleratorPasses, AreTheSliceOfTheQueueThatWorksLongest) {
  const std::string copy =
      slice("gpu_user_annotation", "PP:0F0", 9, 105, 115) + slice("gpu_memcpy", "Memcpy", 9, 105, 115);
  writeRank(0, "[0]", copy + pass("PP:0F0", 100, 120) + pass("PP:0B0", 120, 150));
  ASSERT_TRUE(import(folder_ / "ranks").ok());
  EXPECT_EQ(passes(), (Texts{"process 0: backward 0/0 20-50", "process 0: forward 0/0 0-20"}));
  std::map<std::string, int> lanes;
  const auto names = rows<model::Lane>();
  for (const auto& segment : rows<model::Segment>())
    if (segment.stage >= 0) ++lanes[names[static_cast<std::size_t>(segment.lane.value)].name];
  EXPECT_EQ(lanes, (std::map<std::string, int>{{"passes", 2}}));
}

TEST_F(AcceleratorPasses, DivideTheTimeOfAnActionThatIsTwo) {
  // Alone, a forward pass of stage 0 takes 10 and a backward pass 30, so the action of 60 is 15 and 45.
  writeRank(0, "[0]",
            pass("PP:0F0", 0, 10) + pass("PP:(0F1;0B0)OVERLAP_F_B", 10, 70) + pass("PP:0B1", 70, 100));
  ASSERT_TRUE(import(folder_ / "ranks").ok());
  EXPECT_EQ(passes(), (Texts{"process 0: backward 0/0 25-70", "process 0: backward 0/1 70-100",
                             "process 0: forward 0/0 0-10", "process 0: forward 0/1 10-25"}));
  const auto notes = rows<model::Diagnostic>();
  EXPECT_TRUE(std::any_of(notes.begin(), notes.end(), [](const auto& note) {
    return note.text.find("2 passes share the time of one event") != std::string::npos;
  }));
}

/// A pipeline of two ranks that nobody named. The host runs far ahead of the accelerator: what it launches in
/// a backward operator tells which kernels are backward, and the times of the operators tell nothing.
TEST_F(AcceleratorPasses, AreProposedFromTheKernelsOfBackwardOperators) {
  int correlation = 0, launched = 0;
  const auto gemm = [&](bool backward, int start, int end) {
    const std::string id = R"("correlation":)" + std::to_string(++correlation);
    launched += 10;
    const auto host = [&](const std::string& name, int from, int to, const std::string& arguments = "") {
      return R"({"ph":"X","pid":9,"tid":9,"cat":"cpu","name":")" + name + R"(","ts":)" +
             std::to_string(from) + R"(,"dur":)" + std::to_string(to - from) + R"(,"args":{)" + arguments +
             "}},";
    };
    return host(backward ? "autograd::engine::evaluate_function: MmBackward0" : "aten::mm", launched,
                launched + 9) +
           host("cudaLaunchKernel", launched + 2, launched + 4, id) +
           slice("kernel", "gemm", 7, start, end, id);
  };
  const auto moves = [&](const std::string& direction, int peer, int start, int end) {
    return slice("kernel", "ncclDevKernel_SendRecv(args)", 20, start, end,
                 R"("Collective name":")" + direction + R"(","Process Group Name":"pp",")" +
                     (direction == "send" ? "Dst Rank" : "Src Rank") + R"(":)" + std::to_string(peer));
  };
  const auto step = [&](int end) {
    return R"({"ph":"X","pid":9,"tid":9,"cat":"user_annotation","name":"ProfilerStep#3","ts":5,"dur":)" +
           std::to_string(end - 5) + "},";
  };
  // Two micro-batches, all forward passes before the backward passes.
  writeRank(0, "[0,1]",
            step(2000) + gemm(false, 100, 190) + moves("send", 1, 191, 200) + gemm(false, 201, 290) +
                moves("send", 1, 291, 300) + moves("recv", 1, 301, 900) + gemm(true, 901, 1080) +
                moves("recv", 1, 1081, 1200) + gemm(true, 1201, 1380));
  launched = 0;
  writeRank(1, "[0,1]",
            step(2000) + moves("recv", 0, 90, 210) + gemm(false, 211, 400) + gemm(true, 401, 880) +
                moves("send", 0, 881, 890) + moves("recv", 0, 891, 895) + gemm(false, 896, 1000) +
                gemm(true, 1001, 1180) + moves("send", 0, 1181, 1190));
  ASSERT_TRUE(import(folder_ / "ranks").ok());
  // Ticks count from the first event, at 5 µs.
  EXPECT_EQ(passes(),
            (Texts{"rank 0 process 0: backward 0/0 895-1075", "rank 0 process 0: backward 0/1 1195-1375",
                   "rank 0 process 0: forward 0/0 0-186", "rank 0 process 0: forward 0/1 195-286",
                   "rank 1 process 0: backward 1/0 396-875", "rank 1 process 0: backward 1/1 996-1175",
                   "rank 1 process 0: forward 1/0 205-396", "rank 1 process 0: forward 1/1 890-996"}));
}

}  // namespace
}  // namespace pipescope::importing
