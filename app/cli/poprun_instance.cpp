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
#include <vector>

#include "app/run/request/instance_launch.h"
#include "profiler/base/number_text.h"
#include "profiler/store/end_profile.h"
#include "profiler/store/profile_path.h"

namespace pipescope::cli {
namespace {

pid_t instanceChild = -1;
volatile std::sig_atomic_t stoppedByLauncher = 0;

void forwardSignal(int signal) {
  stoppedByLauncher = 1;
  if (instanceChild > 0) kill(instanceChild, signal);
}

int instanceIndex() {
  const char* rank = std::getenv("OMPI_COMM_WORLD_RANK");
  return rank == nullptr ? 0 : static_cast<int>(base::wholeNumberOf(rank).value_or(0));
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

/// Says how the child ended, as the end of a sentence; empty if it ended well.
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

/// The launcher sees neither the reports nor the profiles of another host.
void endOnThisHost(const std::filesystem::path& folder, const std::string& cause) {
  const std::string text = fmt::format("Instance {} on host {} {}.", instanceIndex(), hostName(), cause);
  if (stoppedByLauncher == 0) std::fprintf(stderr, "pipescope: %s\n", text.c_str());
  endProfiles(folder, stoppedByLauncher == 0
                          ? text
                          : "Another instance failed, so that this one was stopped: the launcher named it.");
}

/// Folder to which an instance reports: the launcher's folder, or one of its own on another host.
std::filesystem::path ownFolder(const std::filesystem::path& folder) {
  if (std::filesystem::exists(folder / kLauncherHere)) return folder;
  const std::filesystem::path own = folder / fmt::format("on_{}", instanceIndex());
  std::error_code error;
  std::filesystem::create_directories(own, error);
  return own;
}

std::vector<std::filesystem::path> reportedProfiles(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> profiles;
  std::ifstream file(folder / app::kLauncherProfiles);
  for (std::string line; std::getline(file, line);) profiles.emplace_back(line);
  return profiles;
}

}  // namespace

int runInstance(const std::vector<std::string>& program, const std::filesystem::path& folder,
                int outputFrom) {
  const pid_t parent = getppid();
  const std::filesystem::path own = ownFolder(folder);
  setenv(app::kLauncherFolder, own.c_str(), 1);
  std::signal(SIGTERM, forwardSignal);
  std::signal(SIGINT, forwardSignal);
  if (std::signal(SIGHUP, forwardSignal) == SIG_IGN) std::signal(SIGHUP, SIG_IGN);
  prctl(PR_SET_PDEATHSIG, SIGTERM);  // if mpirun is killed
  if (getppid() != parent) return 128 + SIGTERM;
  // A signal that comes before the program has a number must wait for it.
  sigset_t forwarded;
  sigemptyset(&forwarded);
  sigaddset(&forwarded, SIGTERM);
  sigaddset(&forwarded, SIGINT);
  sigaddset(&forwarded, SIGHUP);
  sigprocmask(SIG_BLOCK, &forwarded, nullptr);
  instanceChild = fork();
  sigprocmask(SIG_UNBLOCK, &forwarded, nullptr);
  if (instanceChild == 0) becomeProgram(program, outputFrom < 0 || outputFrom == instanceIndex());
  int status = 0;
  while (waitpid(instanceChild, &status, 0) < 0 && errno == EINTR) {
    if (getppid() != parent) kill(instanceChild, SIGKILL);  // mpirun has gone
  }
  const std::string cause = causeOf(status);
  if (own == folder) {
    if (!cause.empty()) reportEnd(folder, cause);
  } else {
    if (!cause.empty()) endOnThisHost(own, cause);
    std::error_code error;
    std::filesystem::remove_all(own, error);
    std::filesystem::remove(folder, error);  // if it was the last one here
  }
  if (cause.empty()) return 0;
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

std::optional<InstanceEnd> firstFailure(const std::filesystem::path& folder) {
  std::optional<InstanceEnd> first;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    if (!entry.path().filename().string().starts_with("instance_")) continue;
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

void endProfiles(const std::filesystem::path& folder, const std::string& cause) {
  for (const std::filesystem::path& profile : reportedProfiles(folder)) {
    for (const std::filesystem::path& file : {profile, store::partPath(profile)}) {
      std::error_code error;
      if (!std::filesystem::exists(file, error)) continue;
      const base::Result<bool> ended = store::endProfile(file, cause);
      if (!ended.ok()) std::fprintf(stderr, "pipescope: %s\n", ended.error().message.c_str());
    }
  }
}

}  // namespace pipescope::cli
