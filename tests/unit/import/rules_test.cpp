#include "profiler/import/recognise/rules.h"

#include <gtest/gtest.h>

namespace pipescope::importing {
namespace {

class RuleMatcherTest : public testing::Test {
 protected:
  TraceEvent event(const std::string& name, const std::string& category = "", const std::string& thread = "1",
                   const std::string& process = "7") {
    TraceEvent event;
    event.process = tables_.process(process);
    event.thread = tables_.thread(event.process, thread);
    event.name = tables_.names.add(name);
    event.category = tables_.names.add(category);
    return event;
  }
  TraceTables tables_;
};

TEST_F(RuleMatcherTest, KnowsTheNamesThatScriptsUse) {
  RuleMatcher matcher(Rules::builtIn(), tables_);
  const Meaning pass = matcher.meaningOf(event("stage2/backward/mb13"));
  EXPECT_EQ(pass.stage, 2);
  EXPECT_EQ(pass.pass, model::Pass::backward);
  EXPECT_EQ(pass.microBatch, 13);
  EXPECT_EQ(matcher.meaningOf(event("stage_0 forward microbatch 4")).microBatch, 4);
  EXPECT_EQ(matcher.meaningOf(event("update")).pass, model::Pass::update);
  const Meaning step = matcher.meaningOf(event("ProfilerStep#12"));
  EXPECT_TRUE(step.marksStep);
  EXPECT_EQ(step.step, 12);
  EXPECT_EQ(matcher.meaningOf(event("ncclDevKernel_AllReduce_Sum(x)", "kernel")).kind,
            model::StepKind::globalExchange);
  EXPECT_EQ(matcher.meaningOf(event("Memcpy HtoD", "gpu_memcpy")).kind, model::StepKind::streamCopy);
  EXPECT_EQ(matcher.meaningOf(event("Memcpy HtoD", "gpu_memcpy")).copiesIn, true);
  EXPECT_EQ(matcher.meaningOf(event("CopyDeviceToHost", "gpu_memcpy")).copiesIn, false);
  const Meaning other = matcher.meaningOf(event("aten::mm", "cpu_op"));
  EXPECT_FALSE(other.pass || other.stage || other.kind || other.step);
}

TEST_F(RuleMatcherTest, ReadsArgumentsOfEachEvent) {
  RuleMatcher matcher(Rules::builtIn(), tables_);
  TraceEvent first =
      event("forward-compute", "forward-compute", "PP rank 3, TP rank 1, compute", "DP rank [2]");
  first.add({Argument::step, false, 23});
  first.add({Argument::microBatch, false, 5});
  const Meaning meaning = matcher.meaningOf(first);
  EXPECT_EQ(meaning.device, "DP rank [2], PP rank 3, TP rank 1");
  EXPECT_EQ(meaning.stage, 3);
  EXPECT_EQ(meaning.replica, "DP rank [2]");
  EXPECT_EQ(meaning.rankOfPlace.tensor, "1");
  EXPECT_EQ(meaning.step, 23);
  EXPECT_EQ(meaning.microBatch, 5);
  EXPECT_EQ(meaning.pass, model::Pass::forward);
  TraceEvent second = first;
  second.arguments[1].value = 6;
  EXPECT_EQ(matcher.meaningOf(second).microBatch, 6);
  second.arguments[1].value = -1;
  EXPECT_FALSE(matcher.meaningOf(second).microBatch) << "Megatron writes -1 where there is none";
}

TEST_F(RuleMatcherTest, PutsRulesOfTheUserFirst) {
  auto rules = Rules::parse(R"([[rule]]
    name = 'work (\d+) of (.*)'
    process = '(\d+)'
    stage = "{name.1}"
    replica = "r{process.1}-{name.2}"
    pass = "weight_gradient"
    micro_batch = 0
    [[rule]]
    name = '.*'
    stage = 99
    pass = "forward")",
                            "mine.toml");
  ASSERT_TRUE(rules.ok()) << rules.error().message;
  rules->append(Rules::builtIn());
  RuleMatcher matcher(*rules, tables_);
  const Meaning meaning = matcher.meaningOf(event("work 4 of B"));
  EXPECT_EQ(meaning.stage, 4);
  EXPECT_EQ(meaning.replica, "r7-B");
  EXPECT_EQ(meaning.pass, model::Pass::weightGradient);
  EXPECT_EQ(meaning.microBatch, 0);
  EXPECT_EQ(matcher.meaningOf(event("stage1/backward/mb0")).stage, 99);
  EXPECT_EQ(matcher.meaningOf(event("stage1/backward/mb2")).microBatch, 2)
      << "the first rules do not state it";
}

TEST_F(RuleMatcherTest, KnowsMessagesAndCollectivesOfTimelines) {
  RuleMatcher matcher(Rules::builtIn(), tables_);
  const auto meaning = [&](const std::string& what, const std::string& queue) {
    TraceEvent timed = event(what, what, "PP rank 2, TP rank 1, " + queue, "DP rank [3]");
    timed.add({Argument::sequence, false, 7});
    return matcher.meaningOf(timed);
  };
  const Meaning send = meaning("forward-send", "pp-comm");
  EXPECT_EQ(send.sends, true);
  EXPECT_EQ(send.pass, model::Pass::forward);
  EXPECT_EQ(send.microBatch, 7) << "the order of messages is that of micro-batches";
  EXPECT_EQ(meaning("backward-recv", "pp-comm").sends, false);
  EXPECT_EQ(meaning("grads-reduce-scatter", "dp-comm").group, "stage 2, TP rank 1");
  EXPECT_EQ(meaning("params-all-gather", "dp-comm").pass, model::Pass::collective);
  EXPECT_EQ(meaning("embedding-grads-all-reduce", "dp-comm").group, "DP rank [3], TP rank 1");
  EXPECT_EQ(meaning("optimizer-clip-main-grad", "dp-comm").group, "DP rank [3]");
  EXPECT_EQ(meaning("layernorm-grads-all-reduce", "dp-comm").group, "DP rank [3], PP rank 2");
  EXPECT_EQ(meaning("gc", "compute").pass, model::Pass::other);
}

TEST_F(RuleMatcherTest, KnowsTheEnginesOfAGaudi) {
  RuleMatcher matcher(Rules::builtIn(), tables_);
  const auto engine = [&](const std::string& thread) {
    return matcher.meaningOf(event("node", "", thread)).engine;
  };
  EXPECT_EQ(engine("[HD7] TPC 5"), model::LaneRole::vector);
  EXPECT_EQ(engine("TPC23"), model::LaneRole::vector);
  EXPECT_EQ(engine("[HD0] MME"), model::LaneRole::matrix);
  EXPECT_EQ(engine("DCORE1 MME 0"), model::LaneRole::matrix);
  EXPECT_EQ(engine("[D1] EDMA 1"), model::LaneRole::copy);
  EXPECT_EQ(engine("PDMA"), model::LaneRole::copy);
  EXPECT_EQ(engine("NIC 11"), model::LaneRole::network);
  EXPECT_EQ(matcher.meaningOf(event("node", "", "[D1] EDMA 1")).engineTitle, "DMA");
  EXPECT_EQ(matcher.meaningOf(event("pass", "pass", "passes, nic (2)")).engineTitle, "NIC");
  EXPECT_FALSE(engine("TPCH runner 5"));
  EXPECT_FALSE(engine("main"));
}

TEST_F(RuleMatcherTest, KnowsTheQueuesOfAcceleratorsWithoutCategories) {
  using enum model::StepKind;
  RuleMatcher matcher(Rules::builtIn(), tables_);
  struct Expected {
    const char *name, *category, *thread, *process;
    std::optional<model::LaneRole> engine;
    std::optional<model::StepKind> kind;
  };
  const std::optional works(model::LaneRole::compute);
  const Expected all[] = {
      {"fusion.1", "", "XLA Ops", "/device:TPU:0", works, compute},
      {"all-reduce.7", "", "XLA Ops", "/device:TPU:0", works, globalExchange},
      {"loop_fusion", "", "Stream #13(Compute)", "/device:GPU:0", works, compute},
      {"MemcpyD2H", "", "Stream #14(MemcpyD2H)", "/device:GPU:0", works, streamCopy},
      {"ncclDevKernel_AllReduce_Sum_f32_RING_LL", "", "Stream #15", "/device:GPU:0", works, globalExchange},
      {"fusion.1", "", "XLA Ops", "/device:GPU:0", {}, {}},  // repeats the kernels of the streams
      {"Cijk_Ailk", "", "0", "2 GPU0", works, compute},
      {"CopyDeviceToHost", "", "1", "GPU4 r1", works, streamCopy},
      {"hipLaunchKernel", "", "7", "0 CPU HIP API", {}, {}},
      {"Cijk_Ailk", "kernel_dispatch", "COMPUTE AGENT [2] QUEUE [0] (GPU)", "9", works, compute},
      {"softmax", "cuda", "Stream 7", "Device 0", works, compute},
      {"softmax", "nvtx", "NVTX Thread 7", "Device 0", {}, {}},
      {"ragged-all-to-all.4", "", "XLA Ops", "/device:TPU:0", works, globalExchange},
      {"send-done.1", "", "XLA Ops", "/device:TPU:0", works, globalExchange},
      {"async-collective-done", "", "XLA Ops", "/device:TPU:0", works, globalExchange},
      {"reduce-scatter-fusion.5", "", "XLA Ops", "/device:TPU:0", works, globalExchange},
      {"async-collective-fusion", "", "XLA Ops", "/device:TPU:0", works, compute},
      {"void vllm::cross_device_reduce_1stage<__half, 8>(vllm::RankData*)",
       "kernel",
       "7",
       "0",
       {},
       globalExchange},
      {"void sglang::cross_device_reduce_2stage<nv_bfloat16, 4>()", "kernel", "7", "0", {}, globalExchange},
      {"flashinfer::trtllm_allreduce_fusion::allreduce_fusion_kernel_oneshot_lamport",
       "kernel",
       "7",
       "0",
       {},
       globalExchange},
      {"multimem_all_reduce_kernel", "Kernel", "7", "0", {}, globalExchange},
      {"void deep_ep::internode_ll::dispatch<true, 3, 10, 7168>()", "kernel", "7", "0", {}, globalExchange},
      {"void deep_ep::layout::get_dispatch_layout<256, 32, 8>()", "kernel", "7", "0", {}, {}},
      {"userbuffers_fp16_sum_inplace_gpu_rr_rs_oop<4>", "kernel", "7", "0", {}, globalExchange},
      {"void tensorrt_llm::kernels::twoShotAllReduceKernel<__half, 8>()",
       "kernel",
       "7",
       "0",
       {},
       globalExchange},
      {"void moeA2ADispatchKernel<8, false>()", "kernel", "7", "0", {}, globalExchange},
      {"void a2a_combine_recv_kernel<8, bf16>()", "kernel", "7", "0", {}, globalExchange},
      {"mori::moe::EpDispatchIntraNodeKernel_bf16", "kernel", "7", "0", {}, globalExchange},
      {"mscclKernel_Sum_float_LL", "kernel", "7", "0", {}, globalExchange},
      {"void moeA2APrepareDispatchKernel()", "kernel", "7", "0", {}, {}},
      {"void at::native::reduce_kernel<512, 1>()", "kernel", "7", "0", {}, {}},
      {"c10d::allreduce_", "cpu_op", "7", "9", {}, {}},
  };
  for (const Expected& expected : all) {
    const Meaning meaning =
        matcher.meaningOf(event(expected.name, expected.category, expected.thread, expected.process));
    EXPECT_EQ(meaning.engine, expected.engine) << expected.process << " " << expected.name;
    EXPECT_EQ(meaning.kind, expected.kind) << expected.process << " " << expected.name;
  }
}

TEST_F(RuleMatcherTest, DoesNotFailOnLongTexts) {
  RuleMatcher matcher(Rules::builtIn(), tables_);
  EXPECT_FALSE(matcher.meaningOf(event(std::string(2'000'000, 'n'))).pass);
}

TEST_F(RuleMatcherTest, KnowsTheNamesOfFrameworks) {
  RuleMatcher matcher(Rules::builtIn(), tables_);
  struct Expected {
    const char* name;
    model::Pass pass;
    int stage, microBatch;  // −1: not stated
    bool counts;            // the micro-batch is counted
  };
  const Expected passes[] = {
      {"PP:2F3", model::Pass::forward, 2, 3, false},
      {"PP:12B40", model::Pass::backward, 12, 40, false},
      {"PP:1I0", model::Pass::backward, 1, 0, false},
      {"PP:1W0", model::Pass::weightGradient, 1, 0, false},
      {"Forward 7", model::Pass::forward, -1, 7, false},
      {"Backward 0", model::Pass::backward, -1, 0, false},
      {"deepspeed/runtime/pipe/engine.py(735): _exec_forward_pass", model::Pass::forward, -1, -1, true},
      {"PipelineEngine._exec_backward_pass", model::Pass::backward, -1, -1, true},
      {"BackwardPass(buffer_id=1)", model::Pass::backward, -1, -1, true},
      {"megatron/core/pipeline_parallel/schedules.py(172): forward_step", model::Pass::forward, -1, -1, true},
      {"backward-compute", model::Pass::backward, -1, -1, true},
      {"_exec_optimizer_step", model::Pass::update, -1, -1, false},
  };
  for (const Expected& expected : passes) {
    const Meaning meaning = matcher.meaningOf(event(expected.name));
    EXPECT_EQ(meaning.pass, expected.pass) << expected.name;
    EXPECT_EQ(meaning.stage.value_or(-1), expected.stage) << expected.name;
    EXPECT_EQ(meaning.microBatch.value_or(-1), expected.microBatch) << expected.name;
    EXPECT_EQ(meaning.countsMicroBatch, expected.counts) << expected.name;
    EXPECT_FALSE(meaning.sends) << expected.name;
  }
  for (const char* send : {"c10d::send", "gloo:send", "nccl:send 0->1", "PP:1SEND_F2", "_exec_send_grads",
                           "p2p_communication.py(130): send_forward", "backward-send"})
    EXPECT_EQ(matcher.meaningOf(event(send)).sends, true) << send;
  for (const char* receive : {"c10d::recv_", "gloo:recv", "c10d::recv_any_source_", "PP:0RECV_B2",
                              "PipelineEngine._exec_recv_activations", "recv_backward", "forward-recv"})
    EXPECT_EQ(matcher.meaningOf(event(receive)).sends, false) << receive;
  for (const char* other : {"all_reduce", "Forward", "PP:0UNSHARD", "PP:0REDUCE_GRAD", "gloo:all_reduce",
                            "my_forward_step_count", "send_forward_and_recv_backward"}) {
    EXPECT_FALSE(matcher.meaningOf(event(other)).sends) << other;
    EXPECT_FALSE(matcher.meaningOf(event(other)).pass) << other;
  }
}

TEST_F(RuleMatcherTest, ReadsTheDirectionOfAMessageFromAnArgument) {
  RuleMatcher matcher(Rules::builtIn(), tables_);
  TraceEvent kernel = event("ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)", "kernel");
  const auto collective = [&](const char* name) {
    kernel.argumentCount = 0;
    kernel.add({Argument::collective, true, tables_.names.add(name).value});
    return matcher.meaningOf(kernel).sends;
  };
  EXPECT_EQ(collective("send"), true);
  EXPECT_EQ(collective("recv"), false);
  EXPECT_EQ(collective("all_to_all"), std::nullopt);
  // RCCL has one kernel for everything.
  kernel = event("ncclDevKernel_Generic(ncclDevComm*, channelMasks, ncclWork*)", "kernel");
  EXPECT_EQ(collective("recv"), false);
  EXPECT_EQ(collective("allreduce"), std::nullopt);
}

TEST_F(RuleMatcherTest, KnowsEventsThatAreSeveralThings) {
  RuleMatcher matcher(Rules::builtIn(), tables_);
  const Meaning both = matcher.meaningOf(event("PP:(5F1;2B0)OVERLAP_F_B"));
  EXPECT_EQ(both.pass, model::Pass::forward);
  EXPECT_EQ(both.stage, 5);
  EXPECT_EQ(both.microBatch, 1);
  ASSERT_EQ(both.also.size(), 1U);
  EXPECT_EQ(both.also[0].pass, model::Pass::backward);
  EXPECT_EQ(both.also[0].stage, 2);
  EXPECT_EQ(both.also[0].microBatch, 0);
  EXPECT_EQ(matcher.meaningOf(event("PP:(2I0;5F1)OVERLAP_F_B")).also.at(0).stage, 5);

  const auto messages = [&](const char* name) {
    const Meaning meaning = matcher.meaningOf(event(name));
    std::string text;
    const auto add = [&](const Meaning& one) {
      text += std::string(text.empty() ? "" : ", ") + (one.sends.value() ? "send " : "receive ") +
              model::toString(one.pass.value());
    };
    add(meaning);
    for (const Meaning& one : meaning.also) add(one);
    return text;
  };
  EXPECT_EQ(messages("p2p_communication.py(340): send_forward_recv_backward"),
            "send forward, receive backward");
  EXPECT_EQ(messages("backward-send-forward-recv"), "send backward, receive forward");
  EXPECT_EQ(messages("send_forward_backward_recv_forward_backward"),
            "send forward, send backward, receive forward, receive backward");
}

TEST_F(RuleMatcherTest, GivesFurtherMeaningsWhatTheEventStates) {
  const auto rules = Rules::parse(R"([[rule]]
    name = 'both (\d)'
    pass = "forward"
    micro_batch = "{order}"
    stage = "{args.stage}"
    also = [{pass = "backward", micro_batch = "{name.1}"}])",
                                  "mine.toml");
  ASSERT_TRUE(rules.ok()) << rules.error().message;
  RuleMatcher matcher(*rules, tables_);
  TraceEvent both = event("both 7");
  both.add({Argument::stage, false, 3});
  const Meaning meaning = matcher.meaningOf(both);
  EXPECT_TRUE(meaning.countsMicroBatch);
  ASSERT_EQ(meaning.also.size(), 1U);
  EXPECT_EQ(meaning.also[0].stage, 3) << "the argument is of the event";
  EXPECT_EQ(meaning.also[0].microBatch, 7);
  EXPECT_FALSE(meaning.also[0].countsMicroBatch);
}

TEST_F(RuleMatcherTest, MatchesArgumentsAndEnclosingSlices) {
  const auto rules = Rules::parse(R"([[rule]]
    name = 'gemm'
    annotation = 'layer (\d+)'
    args.tile = '(\d+)x\d+'
    block = "B{annotation.1}"
    lane = "tiles of {args.tile.1}"
    [[rule]]
    args."Process Group Name" = 'tp.*'
    group = "{args.Process Group Name}"
    kind = "global_exchange"
    [[rule]]
    annotation = 'outer'
    device = "{args.chip}")",
                                  "mine.toml");
  ASSERT_TRUE(rules.ok()) << rules.error().message;
  EXPECT_TRUE(rules->usesAnnotations());
  EXPECT_EQ(rules->ownArguments(), (std::vector<std::string>{"tile", "chip"}));
  tables_.ownArguments = rules->ownArguments();
  RuleMatcher matcher(*rules, tables_);
  TraceEvent gemm = event("gemm");
  gemm.add({*tables_.argumentNamed("tile"), true, tables_.names.add("128x64").value});
  gemm.add({*tables_.argumentNamed("chip"), false, 3});
  const std::vector<NameId> inner = {tables_.names.add("outer"), tables_.names.add("layer 7"),
                                     tables_.names.add("call")};
  const Meaning meaning = matcher.meaningOf(gemm, inner);
  EXPECT_EQ(meaning.block, "B7");
  EXPECT_EQ(meaning.lane, "tiles of 128");
  EXPECT_EQ(meaning.device, "3");
  EXPECT_EQ(matcher.meaningOf(gemm, std::span(inner).first(1)).block, "") << "no layer encloses it";
  EXPECT_EQ(matcher.meaningOf(gemm).device, "");
  gemm.arguments[0].value = tables_.names.add("wide").value;
  EXPECT_EQ(matcher.meaningOf(gemm, inner).block, "") << "the argument does not match";
  TraceEvent sum = event("sum");
  sum.add({Argument::processGroup, true, tables_.names.add("tp0").value});
  EXPECT_EQ(matcher.meaningOf(sum).group, "tp0");
  sum.arguments[0].value = tables_.names.add("dp0").value;
  EXPECT_FALSE(matcher.meaningOf(sum).kind);
}

TEST_F(RuleMatcherTest, ReadsTheChunkOfInterleavedTimelines) {
  RuleMatcher matcher(Rules::builtIn(), tables_);
  TraceEvent pass = event("forward-compute", "forward-compute", "PP rank 1, TP rank 0, compute", "0");
  pass.add({Argument::modelChunk, false, 2});
  EXPECT_EQ(matcher.meaningOf(pass).chunk, 2);
  pass.arguments[0].value = -1;
  EXPECT_FALSE(matcher.meaningOf(pass).chunk);
}

TEST(Rules, RefusesWithASentence) {
  const auto message = [](const std::string& text) {
    const auto rules = Rules::parse(text, "mine.toml");
    return rules.ok() ? std::string() : rules.error().message;
  };
  const std::pair<std::string, std::string> cases[] = {
      {"[[rule]\n", "mine.toml, line 1"},
      {"x = 1\n", "rules stand in [[rule]]"},
      {"", "holds no [[rule]]"},
      {"[[rule]]\nname='('\n", "no regular expression"},
      {"[[rule]]\nstage=1\n", "has no pattern"},
      {"[[rule]]\nname='a'\nstages=1\n", "unknown key stages"},
      {"[[rule]]\nname='a'\nstage=1.5\n", "needs a text or a whole number"},
      {"[[rule]]\nname='a'\nstage='{name.1}'\n", "no such group"},
      {"[[rule]]\nname='a'\nstage='{thread.1}'\n", "no such group"},
      {"[[rule]]\nname='a'\nstage='{args.colour.1}'\n", "no such group"},
      {"[[rule]]\nargs.colour='('\nstage=1\n", "pattern for args.colour that is no regular expression"},
      {"[[rule]]\nargs.colour=7\nstage=1\n", "needs a pattern in quotes for args.colour"},
      {"[[rule]]\nargs='red'\nstage=1\n", "write args.NAME = 'PATTERN'"},
      {"[[rule]]\nargs.a='1'\nargs.b='1'\nargs.c='1'\nargs.d='1'\nargs.e='1'\nargs.f='1'\nargs.g='1'\n"
       "args.h='1'\nstage='{args.i}'\n",
       "rules can use only 8 arguments beside correlation"},
      {"[[rule]]\nname='a'\nstage='{colour}'\n", "it can use name"},
      {"[[rule]]\nname='a'\nstage='{name.1'\n", "a { without a }"},
      {"[[rule]]\nname='a'\npass='sideways'\n", "which does not exist"},
      {"[[rule]]\nname='a'\nkind='sideways'\n", "which does not exist"},
      {"[[rule]]\nname='a'\nmarks='lane'\n", "it can mark"},
      {"[[rule]]\nname='a'\nmessage='letter'\n", "it can be \"send\" or \"receive\""},
      {"[[rule]]\nname='a'\nengine='steam'\n", "states the engine \"steam\", which does not exist"},
      {"[[rule]]\nname='a'\ndevice='D{args.step}'\n", "only as a whole value"},
      {"[[rule]]\nname='a'\nalso={pass='backward'}\n", "needs a list of tables for also"},
      {"[[rule]]\nname='a'\nalso=[1]\n", "needs a list of tables for also"},
      {"[[rule]]\nname='a'\nalso=[{colour='red'}]\n", "unknown key colour"},
      {"[[rule]]\nname='a'\nalso=[{marks='step'}]\n", "unknown key marks"},
      {"[[rule]]\nname='a'\nalso=[{stage='{args.stage}'}]\n",
       "uses an argument as a whole value within also"},
      {"[[rule]]\nname='a'\nstage='{order}'\n", "use {order} only as a whole value, for micro_batch"},
  };
  for (const auto& [text, part] : cases)
    EXPECT_NE(message(text).find(part), std::string::npos) << message(text);
}

}  // namespace
}  // namespace pipescope::importing
