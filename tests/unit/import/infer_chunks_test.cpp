// Chunks of the model in interleaved schedules whose trace does not state them. Expected chunks and
// micro-batches are those of Megatron's interleaved schedule for 2 ranks, 2 chunks and 4 micro-batches.
#include "profiler/import/recognise/infer_chunks.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace pipescope::importing {
namespace {

using base::Ticks;
using model::DeviceId;
using model::Pass;

RecordedPass at(int rank, Pass kind, int microBatch, std::int64_t start) {
  RecordedPass pass;
  pass.device = DeviceId(rank);
  pass.stage = rank;
  pass.rank = rank;
  pass.pass = kind;
  pass.microBatch = microBatch;
  pass.step = 0;
  pass.start = Ticks(start);
  pass.end = Ticks(start + 10);
  return pass;
}

std::string textOf(const std::vector<RecordedPass>& passes, int rank, Pass kind) {
  std::string text;
  for (const RecordedPass& pass : passes)
    if (pass.device == DeviceId(rank) && pass.pass == kind)
      text += std::to_string(pass.chunk) + "/" + std::to_string(pass.microBatch) + " ";
  return text;
}

/// Rank by rank, forward and then backward passes, with the number of each instead of its micro-batch.
RecordedEvents counted(int ranks, int forwards, const std::vector<int>& received) {
  RecordedEvents events;
  for (int rank = 0; rank < ranks; ++rank) {
    for (int i = 0; i < 2 * forwards; ++i) {
      events.passes.push_back(at(rank, i < forwards ? Pass::forward : Pass::backward, i % forwards, 100 * i));
      events.passes.back().countsMicroBatch = true;
    }
    for (int i = 0; i < received[static_cast<std::size_t>(rank)]; ++i) {
      events.receives.push_back(at(rank, Pass::forward, -1, 100 * i + 50));
      events.receives.back().name = "recv_forward";
    }
  }
  return events;
}

TEST(InferChunks, FollowsFromTheMessagesOfTheEnds) {
  // 8 forward passes a rank, 4 micro-batches: each end of the pipeline receives 2 · 8 − 4 messages.
  RecordedEvents events = counted(2, 8, {12, 12});
  EXPECT_EQ(inferChunks(events), 32);
  for (const int rank : {0, 1}) {
    EXPECT_EQ(textOf(events.passes, rank, Pass::forward), "0/0 0/1 1/0 1/1 0/2 0/3 1/2 1/3 ");
    EXPECT_EQ(textOf(events.passes, rank, Pass::backward), "1/0 1/1 0/0 0/1 1/2 1/3 0/2 0/3 ");
  }
}

TEST(InferChunks, FindsNoneWhereNumbersDoNotAgree) {
  for (const std::vector<int>& received : {std::vector{8, 8}, std::vector{12, 11}, std::vector{0, 0}}) {
    RecordedEvents events = counted(2, 8, received);
    EXPECT_EQ(inferChunks(events), 0) << received[0] << " " << received[1];
    EXPECT_EQ(events.passes[0].chunk, -1);
  }
  RecordedEvents middle = counted(3, 9, {12, 17, 12});  // 3 micro-batches, but one message is missing
  EXPECT_EQ(inferChunks(middle), 0);
  RecordedEvents whole = counted(3, 6, {9, 12, 9});
  EXPECT_EQ(inferChunks(whole), 36);
}

TEST(InferChunks, FollowsFromMicroBatchesThatRepeat) {
  RecordedEvents events;
  for (const int rank : {0, 1}) {
    std::int64_t time = rank;
    for (const int microBatch : {0, 1, 0, 1})
      events.passes.push_back(at(rank, Pass::forward, microBatch, time += 20));
    for (const int microBatch : {0, 1, 0, 1})
      events.passes.push_back(at(rank, Pass::backward, microBatch, time += 20));
  }
  EXPECT_EQ(inferChunks(events), 16);
  EXPECT_EQ(textOf(events.passes, 1, Pass::forward), "0/0 0/1 1/0 1/1 ");
  EXPECT_EQ(textOf(events.passes, 1, Pass::backward), "1/0 1/1 0/0 0/1 ");
}

/// Micro-batches 0 and 1 twice, forward and backward, on two ranks. A pass begins `overlap` before the one
/// before it ends.
RecordedEvents repeated(std::int64_t step, std::int64_t overlap) {
  RecordedEvents events;
  const std::int64_t length = 5'000'000;
  for (const int rank : {0, 1}) {
    std::int64_t time = 1'000'000'000 * step;
    for (const Pass kind : {Pass::forward, Pass::backward}) {
      for (const int microBatch : {0, 0, 1, 1}) {
        RecordedPass pass = at(rank, kind, microBatch, time);
        pass.end = pass.start + Ticks(length);
        pass.step = step;
        events.passes.push_back(pass);
        time += length - overlap;
      }
    }
  }
  return events;
}

TEST(InferChunks, AllowsForRoundedTimes) {
  // Traces round starts and lengths to nanoseconds, so that a pass seems to begin before the last one ends.
  RecordedEvents rounded = repeated(0, 1'000);
  EXPECT_EQ(inferChunks(rounded), 16);
  RecordedEvents beside = repeated(0, 3'000'000);
  EXPECT_EQ(inferChunks(beside), 0) << "passes of 5 µs that overlap by 3 µs do not follow each other";
}

TEST(InferChunks, LeavesOutAStepThatIsThereInPart) {
  RecordedEvents events = repeated(1, 0);
  const RecordedEvents second = repeated(2, 0);
  events.passes.insert(events.passes.end(), second.passes.begin(), second.passes.end());
  RecordedPass part = at(0, Pass::backward, 1, 10);
  events.passes.push_back(part);  // the end of step 0
  EXPECT_EQ(inferChunks(events), 32);
  EXPECT_EQ(events.passes.back().stage, -1);
  EXPECT_EQ(events.passes.back().microBatch, -1);
  // Two steps of which one is whole do not tell.
  RecordedEvents half = repeated(1, 0);
  half.passes.push_back(part);
  EXPECT_EQ(inferChunks(half), 0);
  EXPECT_EQ(half.passes.back().microBatch, 1);
}

TEST(InferChunks, LeavesASecondRunOfTheScheduleAlone) {
  RecordedEvents events;
  std::int64_t time = 0;
  for (const Pass kind : {Pass::forward, Pass::backward, Pass::forward, Pass::backward})
    for (const int microBatch : {0, 1}) events.passes.push_back(at(0, kind, microBatch, time += 20));
  EXPECT_EQ(inferChunks(events), 0);
}

}  // namespace
}  // namespace pipescope::importing
