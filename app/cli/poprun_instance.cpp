// The process between mpirun and the program of an instance: it knows how the program ended.
#include "app/cli/poprun_instance.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fstream>

#include "app/run/request/instance_launch.h"

namespace pipescope::cli {
namespace {

pid_t instanceChild = -1;

void forwardSignal(int signal) {
  if (instanceChild > 0) kill(instanceChild, signal);
}

int instanceIndex() {
  const char* rank = std::getenv("OMPI_COMM_WORLD_RANK");
  return rank == nullptr ? 0 : std::atoi(rank);
}

std::string hostName() {
  char name[256] = {};
  return gethostname(name, sizeof name - 1) == 0 ? name : "unknown";
}

void hideOutput() {
  const int nothing = ::open("/dev/null", O_WRONLY);
  dup2(nothing, STDOUT_FILENO);
  dup2(nothing, STDERR_FILENO);
}

[[noreturn]] void becomeProgram(const std::vector<std::string>& program, bool shown) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);  // the program must not outlive its instance
  if (!shown) hideOutput();
  std::vector<char*> words;
  for (const std::string& word : program) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  execvp(words.front(), words.data());
  std::fprintf(stderr, "pipescope: Cannot start %s: %s.\n", program.front().c_str(), std::strerror(errno));
  _exit(127);
}

/// How the child ended, as the end of a sentence; empty: well.
std::string causeOf(int status) {
  if (WIFSIGNALED(status))
    return fmt::format("was ended by signal {} ({})", WTERMSIG(status), strsignal(WTERMSIG(status)));
  if (WEXITSTATUS(status) == 127) return "could not be started";
  return WEXITSTATUS(status) == 0 ? "" : fmt::format("ended with exit status {}", WEXITSTATUS(status));
}

void reportEnd(const std::filesystem::path& folder, const std::string& cause) {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  std::ofstream file(folder / fmt::format("instance_{}", instanceIndex()));
  file << std::chrono::duration_cast<std::chrono::nanoseconds>(now).count() << '\n'
       << instanceIndex() << '\n'
       << hostName() << '\n'
       << cause << '\n';
}

}  // namespace

int runInstance(const std::vector<std::string>& program, const std::filesystem::path& folder,
                int outputFrom) {
  const pid_t parent = getppid();
  std::error_code error;
  std::filesystem::create_directories(folder, error);  // on another host than the launcher's
  setenv(app::kLauncherFolder, folder.c_str(), 1);
  instanceChild = fork();
  if (instanceChild == 0) becomeProgram(program, outputFrom < 0 || outputFrom == instanceIndex());
  std::signal(SIGTERM, forwardSignal);
  std::signal(SIGINT, forwardSignal);
  int status = 0;
  while (waitpid(instanceChild, &status, 0) < 0 && errno == EINTR) {
    if (getppid() != parent) kill(instanceChild, SIGKILL);  // mpirun has gone
  }
  const std::string cause = causeOf(status);
  if (cause.empty()) return 0;
  reportEnd(folder, cause);
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

std::optional<InstanceEnd> firstFailure(const std::filesystem::path& folder) {
  std::optional<InstanceEnd> first;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    if (entry.path().filename() == app::kLauncherProfiles) continue;
    std::ifstream file(entry.path());
    InstanceEnd end;
    std::string line;
    file >> end.at >> end.instance;
    std::getline(file, line);
    if (!std::getline(file, end.host) || !std::getline(file, end.cause)) continue;
    if (!first || end.at < first->at) first = end;
  }
  return first;
}

std::vector<std::filesystem::path> reportedProfiles(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> profiles;
  std::ifstream file(folder / app::kLauncherProfiles);
  for (std::string line; std::getline(file, line);) profiles.emplace_back(line);
  return profiles;
}

}  // namespace pipescope::cli
