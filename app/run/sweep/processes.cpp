#include "app/run/sweep/processes.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <deque>
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

bool sendText(int socket, const std::string& text) {
  const auto size = static_cast<std::uint64_t>(text.size());
  return sendAll(socket, &size, sizeof size) && sendAll(socket, text.data(), text.size());
}

bool receiveText(int socket, std::string& text) {
  std::uint64_t size = 0;
  if (!receiveAll(socket, &size, sizeof size)) return false;
  text.resize(size);
  return receiveAll(socket, text.data(), size);
}

/// The life of a child: it answers questions until its parent closes the socket.
[[noreturn]] void answerAll(int socket, pid_t parent, const TextTask& task) {
  std::signal(SIGINT, SIG_IGN);
  std::signal(SIGHUP, SIG_IGN);
  base::removeTemporaryFilesOn(SIGTERM);
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (getppid() != parent) raise(SIGTERM);  // the parent ended before the line above
  std::string question;
  while (receiveText(socket, question)) {
    if (!sendText(socket, task(question))) break;
  }
  _exit(0);  // no destructors: they belong to the parent
}

struct Child {
  pid_t process = -1;
  int socket = -1;
  std::optional<std::int64_t> task;  ///< the index that it works on
};

base::Error cannotStart() {
  return base::machineError(
      fmt::format("Cannot start another process: {}. Use fewer with --jobs.", std::strerror(errno)));
}

/// Children that answer questions, each of them one after another.
class Children {
 public:
  Children(int processes, TextTask task)
      : task_(std::move(task)), children_(static_cast<std::size_t>(std::max(1, processes))) {}
  Children(const Children&) = delete;
  Children& operator=(const Children&) = delete;
  ~Children() {
    for (Child& child : children_) {
      if (child.process > 0) kill(child.process, SIGTERM);  // it removes its temporary files
      (void)reap(child);
    }
  }
  std::size_t count() const { return children_.size(); }

  /// Gives a child its questions: the place of the next one, or nothing.
  using Next = std::function<std::optional<std::int64_t>(std::size_t child)>;

  base::Status run(const Next& next, const std::function<std::string(std::int64_t)>& textOf,
                   const ProcessAnswer& take, const base::Progress& progress) {
    for (std::size_t i = 0; i < children_.size(); ++i) PIPESCOPE_TRY(giveTask(i, next, textOf));
    while (std::ranges::any_of(children_, [](const Child& child) { return child.task.has_value(); })) {
      if (progress.cancelled()) return base::cancelled("The work was stopped by the user.");
      PIPESCOPE_TRY(takeAnswers(next, textOf, take));
    }
    return {};
  }

 private:
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

  base::Status giveTask(std::size_t i, const Next& next,
                        const std::function<std::string(std::int64_t)>& textOf) {
    Child& child = children_[i];
    const std::optional<std::int64_t> task = next(i);
    if (!task) return {};
    if (child.process < 0) PIPESCOPE_TRY(start(child));
    child.task = task;
    (void)sendText(child.socket, textOf(*task));  // a dead child is noticed when it is read
    return {};
  }

  base::Status takeAnswers(const Next& next, const std::function<std::string(std::int64_t)>& textOf,
                           const ProcessAnswer& take) {
    std::vector<pollfd> waiting;
    std::vector<std::size_t> working;
    for (std::size_t i = 0; i < children_.size(); ++i) {
      if (!children_[i].task) continue;
      waiting.push_back({children_[i].socket, POLLIN, 0});
      working.push_back(i);
    }
    constexpr int kMilliseconds = 100;  // then looks whether the user wants to stop
    if (poll(waiting.data(), waiting.size(), kMilliseconds) <= 0) return {};
    for (std::size_t i = 0; i < waiting.size(); ++i) {
      if (waiting[i].revents == 0) continue;
      PIPESCOPE_TRY(takeAnswer(children_[working[i]], take));
      PIPESCOPE_TRY(giveTask(working[i], next, textOf));
    }
    return {};
  }

  static base::Status takeAnswer(Child& child, const ProcessAnswer& take) {
    const std::int64_t index = *child.task;
    child.task.reset();
    std::string answer;
    if (receiveText(child.socket, answer)) return take(index, std::move(answer));
    return take(index, base::internalError(reap(child)));
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

  TextTask task_;
  std::vector<Child> children_;
};

}  // namespace

base::Status runInProcesses(const std::vector<std::int64_t>& indices, int processes, const ProcessTask& task,
                            const ProcessAnswer& take, const base::Progress& progress) {
  const auto most = static_cast<int>(std::min<std::size_t>(indices.size(), 1 << 20));
  Children children(std::min(processes, most),
                    [&](const std::string& question) { return task(std::stoll(question)); });
  std::size_t asked = 0;
  const auto next = [&](std::size_t) -> std::optional<std::int64_t> {
    if (asked == indices.size()) return std::nullopt;
    return indices[asked++];
  };
  return children.run(
      next, [](std::int64_t index) { return std::to_string(index); }, take, progress);
}

struct ProcessGroup::Impl {
  Children children;
};

ProcessGroup::ProcessGroup(int processes, TextTask task)
    : impl_(new Impl{.children{processes, std::move(task)}}) {}

ProcessGroup::~ProcessGroup() = default;

base::Status ProcessGroup::ask(const std::vector<KeyedQuestion>& questions, const ProcessAnswer& take,
                               const base::Progress& progress) {
  std::vector<std::deque<std::int64_t>> of(impl_->children.count());
  for (std::size_t i = 0; i < questions.size(); ++i)
    of[questions[i].key % of.size()].push_back(static_cast<std::int64_t>(i));
  const auto next = [&](std::size_t child) -> std::optional<std::int64_t> {
    if (of[child].empty()) return std::nullopt;
    const std::int64_t place = of[child].front();
    of[child].pop_front();
    return place;
  };
  const auto textOf = [&](std::int64_t place) { return questions[static_cast<std::size_t>(place)].text; };
  return impl_->children.run(next, textOf, take, progress);
}

}  // namespace pipescope::app
