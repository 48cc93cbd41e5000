#pragma once
// Runs independent tasks in processes of their own.
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "profiler/base/progress.h"
#include "profiler/base/result.h"

namespace pipescope::app {

/// Computes the answer for one index. It runs in a child process, whose memory begins as a copy of this
/// process's memory and is kept from task to task.
using ProcessTask = std::function<std::string(std::int64_t index)>;
/// Gets the answer in this process, in the order in which tasks end. The error says how a child ended
/// without an answer; another child takes its place.
using ProcessAnswer = std::function<base::Status(std::int64_t index, base::Result<std::string> answer)>;

/// Runs the tasks in up to `processes` children. The caller must have a single thread. Children ignore
/// Ctrl-C, so that the caller decides, and end with it; once `progress` is cancelled, they are ended and the
/// function returns an error of kind cancelled. An error of `take` ends them, too.
base::Status runInProcesses(const std::vector<std::int64_t>& indices, int processes, const ProcessTask& task,
                            const ProcessAnswer& take, const base::Progress& progress);

/// Computes the answer to a question. It runs in a child process, as a ProcessTask does.
using TextTask = std::function<std::string(const std::string& question)>;
/// A question for the child that gets all questions of this key, so that it may remember what it made for
/// them.
struct KeyedQuestion {
  std::size_t key = 0;
  std::string text;
};

/// Children that live until the group ends. They see changes of this process's memory only by questions.
class ProcessGroup {
 public:
  /// Starts no child yet. The caller of ask() must have a single thread.
  ProcessGroup(int processes, TextTask task);
  ~ProcessGroup();
  ProcessGroup(const ProcessGroup&) = delete;
  ProcessGroup& operator=(const ProcessGroup&) = delete;

  /// Asks all questions and hands their answers over by their places. Errors: as those of runInProcesses().
  base::Status ask(const std::vector<KeyedQuestion>& questions, const ProcessAnswer& take,
                   const base::Progress& progress);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace pipescope::app
