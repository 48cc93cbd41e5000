// Tests that profiles get the spans, events and values of all threads, and nothing that was measured before.
#include "profiler/record/host_trace.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <thread>

#include "profiler/model/content_hash.h"
#include "profiler/record/memory_profile.h"

namespace pipescope::record {
namespace {

using testing::ElementsAre;
using testing::UnorderedElementsAre;
using Clock = std::chrono::steady_clock;

/// A profile in memory that records the host.
struct Recording {
  void take() {
    trace.record(recorder, zero);
    ASSERT_TRUE(recorder.commit().ok());
  }
  template <class Row>
  std::vector<Row> rows() const {
    return **profile.rows<Row>();
  }
  /// "thread: name" of each span, in the order of the rows.
  std::vector<std::string> spans() const {
    const auto threads = rows<model::HostThread>();
    const auto names = rows<model::HostName>();
    std::vector<std::string> texts;
    for (const model::HostSpan& span : rows<model::HostSpan>())
      texts.push_back(threads.at(static_cast<std::size_t>(span.thread.value)).name + ": " +
                      names.at(static_cast<std::size_t>(span.name.value)).name);
    return texts;
  }
  HostTrace trace;
  MemoryProfile profile;
  Recorder recorder{profile};
  Clock::time_point zero = Clock::now();
};

void measure(const char* name) {
  const HostSpanTimer span(hostName("test", name));
}

/// Runs `body` on a thread of its own with this name, and waits for its end.
template <class Body>
void onThread(const std::string& name, const Body& body) {
  std::thread([&] {
    nameHostThread(name);
    body();
  }).join();
}

TEST(HostTrace, MeasuresOnlyWhileAProfileListens) {
  EXPECT_FALSE(hostIsTraced());
  onThread("early", [] { measure("before"); });
  {
    Recording recording;
    EXPECT_TRUE(hostIsTraced());
    onThread("own", [] { measure("during"); });
    recording.take();
    EXPECT_THAT(recording.spans(), ElementsAre("own: during"));
  }
  EXPECT_FALSE(hostIsTraced());
}

TEST(HostTrace, SpansNestAndAscendByTheirEnd) {
  Recording recording;
  onThread("own", [] {
    const HostSpanTimer outer(hostName("test", "outer"));
    measure("first");
    measure("second");
  });
  recording.take();
  EXPECT_THAT(recording.spans(), ElementsAre("own: first", "own: second", "own: outer"));
  const auto rows = recording.rows<model::HostSpan>();
  for (const model::HostSpan& span : rows) {
    EXPECT_LT(span.start, span.end) << "a span without a length would be an event";
    EXPECT_GE(span.start, rows[2].start);
    EXPECT_LE(span.end, rows[2].end);
    EXPECT_GE(span.start.count, 0) << "the clock began before";
  }
  EXPECT_GE(rows[1].start, rows[0].end);
}

TEST(HostTrace, ASpanThatBeganBeforeTheProfileIsLeftOut) {
  std::unique_ptr<Recording> recording;
  onThread("own", [&] {
    const HostSpanTimer outer(hostName("test", "outer"));
    OpenHostSpan open(hostName("test", "open"));
    recording = std::make_unique<Recording>();
    measure("inner");
    open.end();
  });
  recording->take();
  EXPECT_THAT(recording->spans(), ElementsAre("own: inner"));
}

TEST(HostTrace, ANameIsOneRowForAllThreadsAndCommits) {
  Recording recording;
  for (const char* thread : {"one", "two"}) {
    onThread(thread, [] { measure("work"); });
    recording.take();
  }
  EXPECT_THAT(recording.spans(), ElementsAre("one: work", "two: work"));
  const auto names = recording.rows<model::HostName>();
  ASSERT_EQ(names.size(), 1u);
  EXPECT_EQ(names[0].channel, "test");
  onThread("three", [] { const HostSpanTimer span(hostName("other channel", "work")); });
  recording.take();
  EXPECT_EQ(recording.rows<model::HostName>().size(), 2u);
}

TEST(HostTrace, AThreadIsOneRowForAllCommits) {
  Recording recording;
  onThread("own", [&] {
    measure("a");
    recording.take();
    measure("b");
    recording.take();
  });
  EXPECT_EQ(recording.rows<model::HostThread>().size(), 1u);
  EXPECT_THAT(recording.spans(), ElementsAre("own: a", "own: b"));
}

TEST(HostTrace, EveryListeningProfileGetsEverything) {
  Recording first;
  onThread("own", [] { measure("one"); });
  Recording second;
  onThread("own", [] { measure("two"); });
  second.take();
  first.take();
  EXPECT_THAT(first.spans(), UnorderedElementsAre("own: one", "own: two"));
  EXPECT_THAT(second.spans(), ElementsAre("own: two"));
}

TEST(HostTrace, EventsHaveNoLength) {
  Recording recording;
  onThread("own", [] { addHostEvent(hostName("test", "checkpoint")); });
  recording.take();
  const auto rows = recording.rows<model::HostSpan>();
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].start, rows[0].end);
}

TEST(HostTrace, SeriesKeepTheirValuesInOrder) {
  Recording recording;
  onThread("own", [] {
    for (const double value : {3.0, 1.0, 2.5}) addHostSample(hostSeries("queue", "length", "items"), value);
    addHostSample(hostSeries("queue", "age", "s"), 7);
  });
  recording.take();
  const auto series = recording.rows<model::HostSeries>();
  ASSERT_EQ(series.size(), 2u);
  EXPECT_EQ(series[0].chart + "/" + series[0].name + "/" + series[0].unit, "queue/length/items");
  EXPECT_EQ(series[1].name, "age");
  std::vector<double> values;
  for (const model::HostSample& sample : recording.rows<model::HostSample>()) values.push_back(sample.value);
  EXPECT_THAT(values, ElementsAre(3.0, 1.0, 2.5, 7.0));
}

TEST(HostTrace, SamplesAndSpansHaveOneClock) {
  Recording recording;
  onThread("own", [] {
    measure("before");
    addHostSample(hostSeries("queue", "length", "items"), 1);
    measure("after");
  });
  recording.take();
  const auto spans = recording.rows<model::HostSpan>();
  const auto samples = recording.rows<model::HostSample>();
  ASSERT_EQ(spans.size(), 2u);
  ASSERT_EQ(samples.size(), 1u);
  EXPECT_GE(samples[0].time, spans[0].end);
  EXPECT_LE(samples[0].time, spans[1].start);
}

TEST(HostTrace, AnOpenSpanBelongsToTheThreadThatBeganIt) {
  Recording recording;
  std::unique_ptr<OpenHostSpan> open;
  onThread("begins", [&] { open = std::make_unique<OpenHostSpan>(hostName("test", "open")); });
  onThread("ends", [&] {
    open->end();
    open->end();
  });
  recording.take();
  EXPECT_THAT(recording.spans(), ElementsAre("begins: open"));
}

/// Other clock readings lie within the spans, which are therefore at least as long.
TEST(HostTrace, SpansLastAsLongAsTheirWork) {
  Recording recording;
  std::int64_t least = 0;
  onThread("works", [&] {
    OpenHostSpan open(hostName("test", "open"));
    const HostSpanTimer timer(hostName("test", "timer"));
    const std::int64_t begin = hostNow();
    while (least < 100'000) least = hostNow() - begin;
    open.end();
  });
  recording.take();
  const auto spans = recording.rows<model::HostSpan>();
  ASSERT_EQ(spans.size(), 2U);
  for (const model::HostSpan& span : spans) EXPECT_GE((span.end - span.start).count, least);
}

TEST(HostTrace, WhatAThreadHoldsIsLimitedAndTheProfileSaysSo) {
  Recording recording;
  onThread("own", [] {
    const HostNameId name = hostName("test", "tight loop");
    for (int i = 0; i < 1'000'003; ++i) addHostEvent(name);
  });
  recording.take();
  EXPECT_EQ(recording.rows<model::HostSpan>().size(), 1'000'000u);
  recording.trace.recordLimits(recording.recorder);
  ASSERT_TRUE(recording.recorder.commit().ok());
  const auto notes = recording.rows<model::Diagnostic>();
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_EQ(notes[0].code, "host_timeline_cut");
  EXPECT_NE(notes[0].text.find("and 3 more were measured"), std::string::npos) << notes[0].text;
}

TEST(HostTrace, FourMillionEntriesOfAllThreadsAreKept) {
  Recording recording;
  const HostNameId name = hostName("test", "tight loop");
  const auto series = hostSeries("queue", "length", "items");
  const auto fill = [&](const std::string& thread, int events, int samples) {
    onThread(thread, [&] {
      for (int i = 0; i < events; ++i) addHostEvent(name);
      for (int i = 0; i < samples; ++i) addHostSample(series, i);
    });
    recording.trace.pack(recording.zero);  // takes what the thread holds
  };
  const auto dropped = [&] {
    recording.trace.recordLimits(recording.recorder);
    EXPECT_TRUE(recording.recorder.commit().ok());
    const auto notes = recording.rows<model::Diagnostic>();
    return notes.empty() ? std::string() : notes.back().text;
  };
  fill("first", 1'000'000, 1'000'002);  // a thread holds a million of each
  EXPECT_NE(dropped().find("and 2 more were measured"), std::string::npos) << dropped();
  fill("second", 999'999, 1'000'000);
  fill("third", 1, 0);
  EXPECT_NE(dropped().find("and 2 more were measured"), std::string::npos) << dropped();
  fill("fourth", 1, 0);
  EXPECT_NE(dropped().find("and 3 more were measured"), std::string::npos) << dropped();
}

TEST(HostTrace, AThousandThreadsAreKept) {
  Recording recording;
  for (int i = 0; i < 1001; ++i) onThread("own", [] { measure("work"); });
  recording.take();
  EXPECT_EQ(recording.rows<model::HostThread>().size(), 1000u);
  recording.trace.recordLimits(recording.recorder);
  ASSERT_TRUE(recording.recorder.commit().ok());
  EXPECT_EQ(recording.rows<model::Diagnostic>().size(), 1u);
}

TEST(HostTrace, OneLabelStandsForAllAfterTheLimit) {
  detail::HostLabels labels;
  for (int i = 0; i < 100'000; ++i) EXPECT_EQ(labels.find({"c", std::to_string(i), ""}), i);
  const std::int32_t other = labels.find({"c", "one more", ""});
  EXPECT_EQ(labels.at(other).name, "(other names)");
  EXPECT_EQ(labels.find({"c", "and another", ""}), other);
  EXPECT_EQ(labels.find({"c", "7", ""}), 7);
}

TEST(HostTrace, ThePackedRowsOfAnotherProcessAreShifted) {
  Recording own;
  std::vector<std::byte> packed;
  std::vector<model::HostSpan> spans;
  std::vector<model::HostSample> samples;
  {
    Recording other;
    Recording twin;  // gets the same spans
    other.zero = twin.zero;
    onThread("main", [] {
      const HostSpanTimer outer(hostName("test", "outer"));
      measure("inner");
      addHostSample(hostSeries("queue", "length", "items"), 4);
    });
    packed = other.trace.pack(other.zero);
    twin.take();
    spans = twin.rows<model::HostSpan>();
    samples = twin.rows<model::HostSample>();
  }
  Recording reader;
  ASSERT_TRUE(
      reader.trace.recordPacked(reader.recorder, packed, "instance 1", std::chrono::nanoseconds(500)).ok());
  ASSERT_TRUE(reader.recorder.commit().ok());
  const auto threads = reader.rows<model::HostThread>();
  ASSERT_EQ(threads.size(), 1u);
  EXPECT_EQ(threads[0].process, "instance 1");
  EXPECT_THAT(reader.spans(), ElementsAre("main: inner", "main: outer"));
  const auto shifted = reader.rows<model::HostSpan>();
  for (std::size_t i = 0; i < spans.size(); ++i) {
    EXPECT_EQ(shifted[i].start.count, spans[i].start.count + 500);
    EXPECT_EQ(shifted[i].end.count, spans[i].end.count + 500);
  }
  ASSERT_EQ(samples.size(), 1u);
  const auto shiftedSamples = reader.rows<model::HostSample>();
  ASSERT_EQ(shiftedSamples.size(), 1u);
  EXPECT_EQ(shiftedSamples[0].time.count, samples[0].time.count + 500);
  EXPECT_EQ(shiftedSamples[0].value, 4);
}

TEST(HostTrace, BytesThatNobodyPackedAreRefused) {
  Recording recording;
  onThread("main", [] { measure("work"); });
  std::vector<std::byte> packed = recording.trace.pack(recording.zero);
  for (std::size_t length = 0; length < packed.size(); ++length) {
    const auto cut = std::span(packed).first(length);
    const base::Status status = recording.trace.recordPacked(recording.recorder, cut, "instance 3", {});
    ASSERT_FALSE(status.ok()) << length;
    EXPECT_EQ(status.error().message, "The host timeline of instance 3 cannot be read.");
  }
  packed.push_back(std::byte{0});
  EXPECT_FALSE(recording.trace.recordPacked(recording.recorder, packed, "instance 3", {}).ok());
  for (std::size_t at = 0; at < packed.size(); ++at) {
    std::vector<std::byte> changed = packed;
    changed[at] ^= std::byte{0xFF};
    // A changed time or letter cannot be noticed. Nothing may crash or take much memory.
    static_cast<void>(recording.trace.recordPacked(recording.recorder, changed, "instance 3", {}));
  }
}

TEST(HostTrace, TheContentHashLeavesTheHostOut) {
  base::SilentProgress progress;
  MemoryProfile empty;
  Recording recording;
  onThread("own", [] {
    measure("work");
    addHostSample(hostSeries("queue", "length", "items"), 1);
  });
  recording.take();
  ASSERT_FALSE(recording.rows<model::HostSpan>().empty());
  EXPECT_EQ(*model::contentHash(recording.profile, progress), *model::contentHash(empty, progress));
}

}  // namespace
}  // namespace pipescope::record
