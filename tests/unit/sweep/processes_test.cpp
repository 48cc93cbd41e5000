#include "app/run/sweep/processes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <map>

namespace pipescope::app {
namespace {

using testing::HasSubstr;

class CancelAfter : public base::Progress {
 public:
  void report(double, std::string_view) override {}
  bool cancelled() const override { return stop; }
  bool stop = false;
};

std::vector<std::int64_t> firstIndices(std::int64_t count) {
  std::vector<std::int64_t> indices;
  for (std::int64_t i = 0; i < count; ++i) indices.push_back(i);
  return indices;
}

TEST(Processes, GiveEachAnswerOnce) {
  for (const int processes : {1, 3, 50}) {
    std::map<std::int64_t, std::string> answers;
    base::SilentProgress progress;
    const base::Status status = runInProcesses(
        firstIndices(20), processes,
        [](std::int64_t i) { return std::string(static_cast<std::size_t>(i) * 9000, 'x'); },
        [&](std::int64_t i, const base::Result<std::string>& answer) -> base::Status {
          EXPECT_TRUE(answers.emplace(i, answer.value()).second);
          return {};
        },
        progress);
    ASSERT_TRUE(status.ok());
    ASSERT_EQ(answers.size(), 20U);
    for (const auto& [i, answer] : answers) EXPECT_EQ(answer.size(), static_cast<std::size_t>(i) * 9000);
  }
}

TEST(Processes, OfAGroupRememberWhatTheirQuestionsMade) {
  std::map<std::string, int> seen;
  ProcessGroup group(2, [&](const std::string& question) {
    return std::to_string(++seen[question]) + " " + std::to_string(getpid());
  });
  base::SilentProgress progress;
  std::map<std::int64_t, std::string> processOf;
  for (int turn = 1; turn <= 3; ++turn) {
    std::vector<KeyedQuestion> questions;
    for (std::size_t key = 0; key < 5; ++key) questions.push_back({key, "row " + std::to_string(key)});
    std::size_t answers = 0;
    ASSERT_TRUE(group
                    .ask(
                        questions,
                        [&](std::int64_t i, const base::Result<std::string>& answer) -> base::Status {
                          ++answers;
                          const std::size_t space = answer.value().find(' ');
                          EXPECT_EQ(answer.value().substr(0, space), std::to_string(turn));
                          const std::string process = answer.value().substr(space);
                          EXPECT_EQ(processOf.emplace(i, process).first->second, process);
                          return {};
                        },
                        progress)
                    .ok());
    EXPECT_EQ(answers, 5U);
  }
  EXPECT_TRUE(seen.empty());
}

TEST(Processes, OfAGroupAreReplacedWhenTheyEnd) {
  ProcessGroup group(1, [](const std::string& question) {
    if (question == "end") raise(SIGKILL);
    return question;
  });
  base::SilentProgress progress;
  std::map<std::int64_t, bool> answered;
  ASSERT_TRUE(group
                  .ask(
                      {{0, "a"}, {0, "end"}, {0, "b"}},
                      [&](std::int64_t i, const base::Result<std::string>& answer) -> base::Status {
                        answered[i] = answer.ok();
                        return {};
                      },
                      progress)
                  .ok());
  EXPECT_EQ(answered, (std::map<std::int64_t, bool>{{0, true}, {1, false}, {2, true}}));
}

TEST(Processes, RunElsewhere) {
  base::SilentProgress progress;
  const pid_t own = getpid();
  int here = 0;
  ASSERT_TRUE(runInProcesses(
                  {0, 1}, 2, [&](std::int64_t) { return ++here, std::to_string(getpid()); },
                  [&](std::int64_t, const base::Result<std::string>& answer) -> base::Status {
                    EXPECT_NE(answer.value(), std::to_string(own));
                    return {};
                  },
                  progress)
                  .ok());
  EXPECT_EQ(here, 0);
}

TEST(Processes, SurviveTheEndOfAChild) {
  base::SilentProgress progress;
  std::map<std::int64_t, std::string> outcomes;
  const base::Status status = runInProcesses(
      firstIndices(6), 2,
      [](std::int64_t i) {
        if (i == 1) _exit(7);
        if (i == 3) raise(SIGKILL);
        return std::string("done");
      },
      [&](std::int64_t i, const base::Result<std::string>& answer) -> base::Status {
        outcomes[i] = answer.ok() ? *answer : answer.error().message;
        return {};
      },
      progress);
  ASSERT_TRUE(status.ok());
  ASSERT_EQ(outcomes.size(), 6U);
  EXPECT_EQ(outcomes[1], "The process of this task ended with status 7.");
  EXPECT_THAT(outcomes[3], HasSubstr("was ended by signal 9, perhaps because memory ran out"));
  for (const std::int64_t i : {0, 2, 4, 5}) EXPECT_EQ(outcomes[i], "done");
}

TEST(Processes, StopWhenTheUserWantsIt) {
  CancelAfter progress;
  std::int64_t taken = 0;
  const base::Status status = runInProcesses(
      firstIndices(1000), 1, [](std::int64_t) { return std::string("done"); },
      [&](std::int64_t, const base::Result<std::string>&) -> base::Status {
        progress.stop = ++taken == 5;
        return {};
      },
      progress);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().kind, base::ErrorKind::cancelled);
  EXPECT_EQ(taken, 5);
}

TEST(Processes, StopAtAnErrorOfTheCaller) {
  base::SilentProgress progress;
  const base::Status status = runInProcesses(
      firstIndices(10), 2, [](std::int64_t) { return std::string(); },
      [](std::int64_t, const base::Result<std::string>&) {
        return base::Status(base::ioError("The disk is full."));
      },
      progress);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().message, "The disk is full.");
  EXPECT_TRUE(runInProcesses({}, 4, {}, {}, progress).ok());
}

}  // namespace
}  // namespace pipescope::app
