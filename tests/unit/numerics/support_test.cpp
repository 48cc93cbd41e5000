// Thread pool, memory plan and parameters.
#include <atomic>
#include <numeric>
#include <stdexcept>

#include "engine/numerics/buffer_offsets.h"
#include "engine/numerics/collectives.h"
#include "engine/numerics/parameters.h"
#include "engine/numerics/thread_pool.h"

namespace pipescope::numerics {
namespace {

TEST(ThreadPool, DoesEveryIndexOnce) {
  for (const std::size_t threads : {1U, 2U, 3U, 8U}) {
    ThreadPool pool(threads);
    EXPECT_EQ(pool.threads(), threads);
    for (const std::size_t count : {0U, 1U, 2U, 7U, 1000U}) {
      std::vector<std::atomic<int>> seen(count);
      pool.parallelFor(count, [&](std::size_t i) { ++seen[i]; });
      for (const std::atomic<int>& times : seen) EXPECT_EQ(times, 1);
    }
  }
}

TEST(ThreadPool, StandsManyShortCalls) {
  ThreadPool pool(4);
  std::atomic<std::size_t> sum{0};
  for (int call = 0; call < 2000; ++call) pool.parallelFor(5, [&](std::size_t i) { sum += i; });
  EXPECT_EQ(sum, 20000U);
}

TEST(ThreadPool, RunsNestedCallsOnTheSameThread) {
  ThreadPool pool(3);
  std::atomic<int> inner{0}, elsewhere{0};
  pool.parallelFor(4, [&](std::size_t) {
    const std::thread::id own = std::this_thread::get_id();
    pool.parallelFor(10, [&](std::size_t) {
      ++inner;
      if (std::this_thread::get_id() != own) ++elsewhere;
    });
  });
  EXPECT_EQ(inner, 40);
  EXPECT_EQ(elsewhere, 0);
}

TEST(ThreadPool, TakesCallsFromSeveralThreads) {
  ThreadPool pool(2);
  std::atomic<int> done{0};
  {
    std::vector<std::jthread> callers;
    for (int t = 0; t < 3; ++t) {
      callers.emplace_back([&] {
        for (int call = 0; call < 200; ++call) pool.parallelFor(3, [&](std::size_t) { ++done; });
      });
    }
  }
  EXPECT_EQ(done, 1800);
}

TEST(ThreadPoolDeath, AnExceptionIsABrokenInvariant) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto throwing = [](std::size_t threads) {
    base::setCheckHandler([](const std::string& sentence) {
      std::fprintf(stderr, "%s\n", sentence.c_str());
      std::_Exit(3);
    });
    ThreadPool pool(threads);
    pool.parallelFor(4, [](std::size_t i) {
      if (i == 2) throw std::runtime_error("no third");
    });
  };
  EXPECT_EXIT(throwing(1), testing::ExitedWithCode(3), "exception in parallel work: no third");
  EXPECT_EXIT(throwing(3), testing::ExitedWithCode(3), "exception in parallel work: no third");
}

TEST(ThreadPool, KnowsThisMachine) {
  EXPECT_GE(ThreadPool::hardwareThreads(), 1U);
}

TEST(BufferOffsets, NeverOverlapsWhatLivesTogether) {
  std::vector<Lifetime> lifetimes;
  std::uint32_t state = 1;
  const auto draw = [&](std::uint32_t bound) {
    return static_cast<std::int64_t>((state = state * 1664525U + 1013904223U) >> 8) % bound;
  };
  for (int i = 0; i < 200; ++i) {
    const std::int64_t first = draw(50);
    lifetimes.push_back({1 + draw(5000), first, first + draw(12)});
  }
  const BufferOffsets plan = placeBuffers(lifetimes);
  std::vector<std::int64_t> live(80, 0);
  for (std::size_t a = 0; a < lifetimes.size(); ++a) {
    EXPECT_EQ(plan.offsets[a] % 64, 0);
    EXPECT_LE(plan.offsets[a] + lifetimes[a].bytes, plan.bytes);
    for (std::int64_t step = lifetimes[a].first; step <= lifetimes[a].last; ++step)
      live[static_cast<std::size_t>(step)] += lifetimes[a].bytes;
    for (std::size_t b = 0; b < a; ++b) {
      const bool together =
          lifetimes[a].first <= lifetimes[b].last && lifetimes[b].first <= lifetimes[a].last;
      const bool overlap = plan.offsets[a] < plan.offsets[b] + lifetimes[b].bytes &&
                           plan.offsets[b] < plan.offsets[a] + lifetimes[a].bytes;
      EXPECT_FALSE(together && overlap) << a << " and " << b;
    }
  }
  const std::int64_t peak = *std::max_element(live.begin(), live.end());
  EXPECT_GE(plan.bytes, peak);
  EXPECT_LE(plan.bytes, peak * 5 / 4) << "more than a quarter is lost to gaps";
}

TEST(BufferOffsets, ReusesWhatIsDone) {
  const std::vector<Lifetime> chain{{1000, 0, 1}, {1000, 1, 2}, {1000, 2, 3}, {1000, 3, 4}};
  EXPECT_EQ(placeBuffers(chain).bytes, 2 * 1024);
  EXPECT_EQ(placeBuffers({}).bytes, 0);
}

graph::Graph weights(std::int64_t extra) {
  graph::Graph graph;
  graph.addParameter("a", {graph::ElementType::float32, {3, 5}}, {graph::Initializer::Kind::uniform, 0.5});
  graph.addParameter("b", {graph::ElementType::float32, {7}}, {graph::Initializer::Kind::ones});
  for (std::int64_t i = 0; i < extra; ++i)
    graph.addParameter("extra" + std::to_string(i), {graph::ElementType::float32, {2}}, {});
  return graph;
}

Parameters initialised(const graph::Graph& graph, std::uint64_t seed) {
  Parameters parameters(graph);
  PIPESCOPE_CHECK(parameters.initialize(graph, seed).ok(), "initialise");
  return parameters;
}

TEST(Parameters, StartFromTheirInitializers) {
  const Parameters parameters = initialised(weights(1), 3);
  EXPECT_EQ(parameters.count(), 3U);
  EXPECT_EQ(parameters.elements(), 15 + 7 + 2);
  for (const float v : parameters.floats(0)) EXPECT_TRUE(v >= -0.5F && v < 0.5F && v != 0.0F);
  for (const float v : parameters.floats(1)) EXPECT_EQ(v, 1.0F);
  for (const float v : parameters.floats(2)) EXPECT_EQ(v, 0.0F);
  EXPECT_EQ(parameters.find("b"), 1U);
  EXPECT_EQ(parameters.find("c"), 3U);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(parameters.floats(1).data()) % 64, 0U);
}

TEST(Parameters, HashSeesEveryBit) {
  Parameters parameters = initialised(weights(0), 3);
  const std::uint64_t hash = parameters.hash();
  EXPECT_EQ(initialised(weights(0), 3).hash(), hash);
  EXPECT_NE(initialised(weights(0), 4).hash(), hash);
  EXPECT_NE(initialised(weights(1), 3).hash(), hash);
  for (std::size_t w = 0; w < parameters.count(); ++w) {
    for (std::byte& byte : parameters.bytes(w)) {
      byte ^= std::byte{1};
      EXPECT_NE(parameters.hash(), hash);
      byte ^= std::byte{1};
    }
  }
  EXPECT_EQ(parameters.hash(), hash);
  parameters.floats(1)[0] = 0.0F;
  const std::uint64_t positive = parameters.hash();
  parameters.floats(1)[0] = -0.0F;
  EXPECT_NE(parameters.hash(), positive);
}

TEST(Collectives, AddInAscendingOrderOfReplicas) {
  // 10⁸ + 1 rounds to 10⁸, so only the ascending order gives 0 for the first value.
  std::vector<std::vector<float>> parts{{1e8F, 0.1F}, {1, 0.2F}, {-1e8F, 0.3F}};
  std::vector<std::span<float>> spans(parts.begin(), parts.end());
  numerics::InProcessCollectives().allReduceSum(spans);
  for (const std::vector<float>& part : parts) {
    EXPECT_EQ(part[0], 0.0F);
    EXPECT_EQ(part[1], 0.1F + 0.2F + 0.3F);
  }
}

TEST(Parameters, HashSeesShapesAndTypes) {
  const auto hashOf = [](graph::ElementType element, graph::Shape shape) {
    graph::Graph graph;
    graph.addParameter("w", {element, std::move(shape)}, {});
    return Parameters(graph).hash();  // hash of zeros
  };
  const std::uint64_t hash = hashOf(graph::ElementType::float16, {2, 3});
  EXPECT_EQ(hashOf(graph::ElementType::float16, {2, 3}), hash);
  EXPECT_NE(hashOf(graph::ElementType::float16, {3, 2}), hash);
  EXPECT_NE(hashOf(graph::ElementType::float16, {6}), hash);
  EXPECT_NE(hashOf(graph::ElementType::bfloat16, {2, 3}), hash);
}

TEST(Parameters, AreTakenOverByName) {
  const Parameters more = initialised(weights(2), 3);
  Parameters fewer = initialised(weights(0), 9);
  ASSERT_TRUE(fewer.assignFrom(more).ok());
  EXPECT_EQ(fewer.hash(), initialised(weights(0), 3).hash());
  Parameters all = initialised(weights(2), 5);
  EXPECT_EQ(all.assignFrom(fewer).error().message, "there is no weight extra0 to take over");
  graph::Graph other;
  other.addParameter("a", {graph::ElementType::float32, {5, 3}}, {});
  Parameters reshaped(other);
  EXPECT_EQ(reshaped.assignFrom(more).error().message, "weight a is 3x5 float32, but 5x3 float32 is needed");
}

TEST(Parameters, CopiesAreTheirOwn) {
  Parameters original = initialised(weights(0), 3);
  Parameters copy = original;
  original.floats(0)[0] = 5;
  EXPECT_NE(copy.hash(), original.hash());
  copy = original;
  EXPECT_EQ(copy.hash(), original.hash());
}

TEST(Parameters, RefuseOtherTypes) {
  graph::Graph graph;
  graph.addParameter("h", {graph::ElementType::int32, {2}}, {});
  EXPECT_EQ(Parameters(graph).initialize(graph, 1).error().message,
            "weight h is 2 int32; only float32, float16 and bfloat16 weights can be initialised");
}

}  // namespace
}  // namespace pipescope::numerics
