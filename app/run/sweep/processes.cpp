#include "app/run/sweep/processes.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <optional>

#include "profiler/base/files/temporary_name.h"

namespace pipescope::app {
namespace {

/// Writes all bytes, or fails. A child that has ended must not end this process, hence no signal.
bool sendAll(int socket, const void* data, std::size_t size) {
  const char* at = static_cast<const char*>(data);
  while (size > 0) {
    const ssize_t sent = send(socket, at, size, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return false;
    at += sent;
    size -= static_cast<std::size_t>(sent);
  }
  return true;
}

bool receiveAll(int socket, void* data, std::size_t size) {
  char* at = static_cast<char*>(data);
  while (size > 0) {
    const ssize_t got = recv(socket, at, size, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    at += got;
    size -= static_cast<std::size_t>(got);
  }
  return true;
}

/// The life of a child: it answers questions until its parent closes the socket.
[[noreturn]] void answerAll(int socket, pid_t parent, const ProcessTask& task) {
  std::signal(SIGINT, SIG_IGN);
  std::signal(SIGHUP, SIG_IGN);
  base::removeTemporaryFilesOn(SIGTERM);
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (getppid() != parent) raise(SIGTERM);  // the parent ended before the line above
  std::int64_t index = 0;
  while (receiveAll(socket, &index, sizeof index)) {
    const std::string answer = task(index);
    const auto size = static_cast<std::uint64_t>(answer.size());
    if (!sendAll(socket, &size, sizeof size) || !sendAll(socket, answer.data(), answer.size())) break;
  }
  _exit(0);  // no destructors: they belong to the parent
}

struct Child {
  pid_t process = -1;
  int socket = -1;
  std::optional<std::int64_t> task;  ///< the index that it works on
};

class ChildPool {
 public:
  ChildPool(const std::vector<std::int64_t>& indices, const ProcessTask& task, const ProcessAnswer& take)
      : indices_(indices), task_(task), take_(take) {}
  ChildPool(const ChildPool&) = delete;
  ChildPool& operator=(const ChildPool&) = delete;
  ~ChildPool() {
    for (Child& child : children_) {
      if (child.process > 0) kill(child.process, SIGTERM);  // it removes its temporary files
      (void)reap(child);
    }
  }

  base::Status run(int processes, const base::Progress& progress) {
    for (int i = 0; i < processes && next_ < indices_.size(); ++i) {
      children_.emplace_back();
      PIPESCOPE_TRY(startWithTask(children_.back()));
    }
    while (busy() > 0) {
      if (progress.cancelled()) return base::cancelled("The work was stopped by the user.");
      PIPESCOPE_TRY(takeAnswers());
    }
    return {};
  }

 private:
  std::size_t busy() const {
    std::size_t count = 0;
    for (const Child& child : children_) count += child.task.has_value() ? 1 : 0;
    return count;
  }

  base::Status start(Child& child) {
    int sockets[2];
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, sockets) != 0) return cannotStart();
    std::fflush(nullptr);  // or the child would write buffered text once more
    const pid_t parent = getpid(), process = fork();
    if (process < 0) {
      close(sockets[0]);
      close(sockets[1]);
      return cannotStart();
    }
    if (process == 0) {
      close(sockets[0]);
      for (const Child& other : children_) {
        if (other.socket >= 0) close(other.socket);
      }
      answerAll(sockets[1], parent, task_);
    }
    close(sockets[1]);
    child = {process, sockets[0], std::nullopt};
    return {};
  }

  static base::Error cannotStart() {
    return base::machineError(
        fmt::format("Cannot start another process: {}. Use fewer with --jobs.", std::strerror(errno)));
  }

  base::Status startWithTask(Child& child) {
    PIPESCOPE_TRY(start(child));
    giveTask(child);
    return {};
  }

  void giveTask(Child& child) {
    if (next_ == indices_.size()) return;
    child.task = indices_[next_++];
    (void)sendAll(child.socket, &*child.task, sizeof *child.task);  // a dead child is noticed when it is read
  }

  base::Status takeAnswers() {
    std::vector<pollfd> waiting;
    std::vector<Child*> working;
    for (Child& child : children_) {
      if (!child.task) continue;
      waiting.push_back({child.socket, POLLIN, 0});
      working.push_back(&child);
    }
    constexpr int kMilliseconds = 100;  // then looks whether the user wants to stop
    if (poll(waiting.data(), waiting.size(), kMilliseconds) <= 0) return {};
    for (std::size_t i = 0; i < waiting.size(); ++i) {
      if (waiting[i].revents != 0) PIPESCOPE_TRY(takeAnswer(*working[i]));
    }
    return {};
  }

  base::Status takeAnswer(Child& child) {
    const std::int64_t index = *child.task;
    child.task.reset();
    std::uint64_t size = 0;
    std::string answer;
    bool whole = receiveAll(child.socket, &size, sizeof size);
    if (whole) {
      answer.resize(size);
      whole = receiveAll(child.socket, answer.data(), size);
    }
    if (whole) {
      PIPESCOPE_TRY(take_(index, std::move(answer)));
      giveTask(child);
      return {};
    }
    PIPESCOPE_TRY(take_(index, base::internalError(reap(child))));
    return next_ < indices_.size() ? startWithTask(child) : base::Status();
  }

  /// Waits for the end of a child and says how it ended.
  static std::string reap(Child& child) {
    if (child.socket >= 0) close(child.socket);
    child.socket = -1;
    if (child.process <= 0) return {};
    int status = 0;
    while (waitpid(child.process, &status, 0) < 0 && errno == EINTR) {
    }
    child.process = -1;
    if (WIFSIGNALED(status))
      return fmt::format("The process of this task was ended by signal {}{}.", WTERMSIG(status),
                         WTERMSIG(status) == SIGKILL ? ", perhaps because memory ran out" : "");
    return fmt::format("The process of this task ended with status {}.", WEXITSTATUS(status));
  }

  const std::vector<std::int64_t>& indices_;
  const ProcessTask& task_;
  const ProcessAnswer& take_;
  std::vector<Child> children_;
  std::size_t next_ = 0;
};

}  // namespace

base::Status runInProcesses(const std::vector<std::int64_t>& indices, int processes, const ProcessTask& task,
                            const ProcessAnswer& take, const base::Progress& progress) {
  return ChildPool(indices, task, take).run(processes, progress);
}

}  // namespace pipescope::app
