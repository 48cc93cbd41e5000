#include "app/cli/poprun_launch.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <sstream>

#include "app/cli/poprun_instance.h"
#include "profiler/base/files/text_file.h"

namespace pipescope::cli {
namespace {

namespace fs = std::filesystem;
using base::badInput;

constexpr int kMostIpusOfProcess = 64, kMostIpus = 256, kIpusOfDomain = 64;

pid_t mpirunChild = -1;

/// mpirun does not know SIGHUP, so a terminal that is closed ends it like SIGTERM.
void passSignalOn(int signal) {
  if (mpirunChild > 0) kill(mpirunChild, signal == SIGHUP ? SIGTERM : signal);
}

/// The file of a program on PATH; empty: there is none.
std::string findProgram(const std::string& name) {
  if (name.find('/') != std::string::npos) return access(name.c_str(), X_OK) == 0 ? name : "";
  const char* paths = std::getenv("PATH");
  std::string rest = paths == nullptr ? "" : paths;
  for (std::size_t at = 0; at <= rest.size();) {
    const std::size_t end = std::min(rest.find(':', at), rest.size());
    const std::string file = rest.substr(at, end - at) + "/" + name;
    if (end > at && access(file.c_str(), X_OK) == 0 && !fs::is_directory(file)) return file;
    at = end + 1;
  }
  return "";
}

constexpr const char* kReportFolders = "pipescope-poprun-";

/// Locks a launcher's file, which it does until it ends. -1: another launcher holds it, or there is none.
int lockLauncher(const fs::path& folder, int flags) {
  const int file = open((folder / kLauncherHere).c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | flags, 0600);
  if (file < 0 || flock(file, LOCK_EX | LOCK_NB) == 0) return file;
  close(file);
  return -1;
}

/// Removes the folders of this user's launchers that were killed.
void removeAbandonedFolders(const fs::path& place) {
  std::error_code error;
  std::vector<fs::path> folders;
  for (fs::directory_iterator it(place, error), end; !error && it != end; it.increment(error)) {
    if (it->path().filename().string().starts_with(kReportFolders)) folders.push_back(it->path());
  }
  for (const fs::path& folder : folders) {
    struct stat status {};
    if (lstat(folder.c_str(), &status) != 0 || !S_ISDIR(status.st_mode) || status.st_uid != geteuid())
      continue;
    const int lock = lockLauncher(folder, 0);
    if (lock < 0) continue;
    fs::remove_all(folder, error);
    close(lock);
  }
}

/// A folder in which instances report how they ended. It is removed with the object, or by the next launcher.
class ReportFolder {
 public:
  ReportFolder() {
    std::error_code error;
    const fs::path place = fs::temp_directory_path(error);
    if (error) return;
    removeAbandonedFolders(place);
    std::string pattern = (place / (std::string(kReportFolders) + "XXXXXX")).string();
    if (mkdtemp(pattern.data()) == nullptr) return;
    path_ = pattern;
    lock_ = lockLauncher(path_, O_CREAT);
  }
  ~ReportFolder() {
    std::error_code error;
    if (!path_.empty()) fs::remove_all(path_, error);
    if (lock_ >= 0) close(lock_);
  }
  ReportFolder(const ReportFolder&) = delete;
  ReportFolder& operator=(const ReportFolder&) = delete;
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
  int lock_ = -1;
};

base::Result<int> waitFor(const std::vector<std::string>& command) {
  // A signal that comes before mpirun has a number must wait for it.
  sigset_t passed, before;
  sigemptyset(&passed);
  for (const int signal : {SIGHUP, SIGINT, SIGTERM}) sigaddset(&passed, signal);
  sigprocmask(SIG_BLOCK, &passed, &before);
  const pid_t launcher = getpid();
  mpirunChild = fork();
  if (mpirunChild < 0) {
    sigprocmask(SIG_SETMASK, &before, nullptr);
    return base::machineError(fmt::format("Cannot start mpirun: {}.", std::strerror(errno)));
  }
  if (mpirunChild == 0) {
    prctl(PR_SET_PDEATHSIG, SIGTERM);  // mpirun must not outlive its launcher, even if that is killed
    if (getppid() != launcher) _exit(127);
    for (const int signal : {SIGHUP, SIGINT, SIGTERM}) {
      struct sigaction now {};
      if (sigaction(signal, nullptr, &now) == 0 && now.sa_handler != SIG_IGN) std::signal(signal, SIG_DFL);
    }
    sigprocmask(SIG_SETMASK, &before, nullptr);
    std::vector<char*> words;
    for (const std::string& word : command) words.push_back(const_cast<char*>(word.c_str()));
    words.push_back(nullptr);
    setenv("PRTE_MCA_prte_execute_quiet", "1", 0);  // NOLINT(concurrency-mt-unsafe): a child has one thread
    execv(words.front(), words.data());
    _exit(127);
  }
  for (const int signal : {SIGHUP, SIGINT, SIGTERM}) {
    if (std::signal(signal, passSignalOn) == SIG_IGN) std::signal(signal, SIG_IGN);
  }
  sigprocmask(SIG_SETMASK, &before, nullptr);
  int status = 0;
  while (waitpid(mpirunChild, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

base::Status addRange(const std::string& before, const std::string& part, const std::string& after,
                      std::vector<std::string>& hosts) {
  const std::size_t dash = part.find('-');
  const std::string first = part.substr(0, dash),
                    last = dash == std::string::npos ? first : part.substr(dash + 1);
  int from = 0, to = 0;
  const auto read = [](const std::string& text, int& value) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    return error == std::errc() && end == text.data() + text.size();
  };
  if (!read(first, from) || !read(last, to) || to < from)
    return badInput(fmt::format("--host: \"{}\" is no range of numbers: write host[0-2,4].", part));
  for (int number = from; number <= to; ++number)
    hosts.push_back(fmt::format("{}{:0{}}{}", before, number, first.size(), after));
  return {};
}

}  // namespace

namespace {

/// ssh would take such a name for an option.
base::Status refuseDash(const std::string& host, const std::string& option) {
  const std::size_t at = host.rfind('@');
  if (!host.starts_with('-') && (at == std::string::npos || host.substr(at + 1, 1) != "-")) return {};
  return badInput(
      fmt::format("{}: \"{}\" is no name of a host, because it begins with a dash.", option, host));
}

/// The names that a host file of mpirun begins its lines with.
base::Status checkHostFile(const std::string& path) {
  PIPESCOPE_ASSIGN(const std::string text, base::readTextFile(path, "host file"));
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t first = line.find_first_not_of(" \t\r");
    if (first == std::string::npos || line[first] == '#') continue;
    PIPESCOPE_TRY(
        refuseDash(line.substr(first, line.find_first_of(" \t\r", first) - first), "--hostfile " + path));
  }
  return {};
}

}  // namespace

base::Result<std::vector<std::string>> expandHosts(const std::string& names) {
  std::vector<std::string> hosts;
  for (std::size_t at = 0; at < names.size();) {
    std::size_t end = at;
    for (int depth = 0; end < names.size() && (names[end] != ',' || depth > 0); ++end)
      depth += names[end] == '[' ? 1 : names[end] == ']' ? -1 : 0;
    const std::string name = names.substr(at, end - at);
    at = end + 1;
    const std::size_t open = name.find('['), close = name.find(']');
    if (open == std::string::npos && close == std::string::npos) {
      if (!name.empty()) hosts.push_back(name);
      continue;
    }
    if (open == std::string::npos || close == std::string::npos || close < open)
      return badInput(fmt::format("--host: the brackets of \"{}\" do not match: write host[0-2,4].", name));
    const std::string list = name.substr(open + 1, close - open - 1) + ",";
    for (std::size_t from = 0; from < list.size();) {
      const std::size_t comma = list.find(',', from);
      PIPESCOPE_TRY(
          addRange(name.substr(0, open), list.substr(from, comma - from), name.substr(close + 1), hosts));
      from = comma + 1;
    }
  }
  for (const std::string& host : hosts) PIPESCOPE_TRY(refuseDash(host, "--host"));
  return hosts;
}

std::vector<std::string> wordsOf(const std::string& line) {
  std::vector<std::string> words;
  std::string word;
  bool inside = false;
  char quote = 0;
  for (const char c : line) {
    if (quote != 0) {
      if (c == quote)
        quote = 0;
      else
        word += c;
    } else if (c == '"' || c == '\'') {
      quote = c;
      inside = true;
    } else if (c == ' ') {
      if (inside) words.push_back(word);
      word.clear();
      inside = false;
    } else {
      word += c;
      inside = true;
    }
  }
  if (inside) words.push_back(word);
  return words;
}

namespace {

/// Instances that share a sweep or a plan have no replicas. Each counts as one.
base::Status completeSweep(PoprunRequest& request) {
  if (request.replicas != 1 || request.ipusPerReplica != 1 || request.linkDomains != 0)
    return badInput(
        "--num-replicas, --ipus-per-replica and --num-ilds say what a run uses, but the combinations of a "
        "sweep or a plan have systems of their own: leave them out, and vary replication_factor.");
  request.replicas = request.instances;
  return {};
}

base::Status checkSizes(PoprunRequest& request) {
  if (request.replicas % request.instances != 0)
    return badInput(
        fmt::format("--num-replicas {} does not divide by --num-instances {}: every instance has as "
                    "many replicas as the others.",
                    request.replicas, request.instances));
  const int each = request.ipus() / request.instances;
  if (each > kMostIpusOfProcess)
    return badInput(
        fmt::format("An instance would have {} IPUs ({} replicas of {}), but one process has at most "
                    "{}: use --num-instances {} or more.",
                    each, request.replicas / request.instances, request.ipusPerReplica, kMostIpusOfProcess,
                    (request.ipus() + kMostIpusOfProcess - 1) / kMostIpusOfProcess));
  if (request.ipus() > kMostIpus)
    return badInput(
        fmt::format("{} replicas of {} IPUs take {}, but the largest emulated system has {}: use "
                    "fewer replicas.",
                    request.replicas, request.ipusPerReplica, request.ipus(), kMostIpus));
  const int needed = (request.ipus() + kIpusOfDomain - 1) / kIpusOfDomain;
  if (request.linkDomains == 0) request.linkDomains = needed;
  if (request.linkDomains != needed)
    return badInput(
        fmt::format("--num-ilds is {}, but {} IPUs take {} IPU-Link domain{} of {}: leave it out.",
                    request.linkDomains, request.ipus(), needed, needed == 1 ? "" : "s", kIpusOfDomain));
  return {};
}

}  // namespace

base::Status completePoprun(PoprunRequest& request) {
  if (request.program.empty())
    return badInput(
        "poprun needs a program: pipescope poprun --num-instances 2 --num-replicas 4 run CONFIG.toml, or … "
        "python3 SCRIPT.py.");
  if (request.offline && request.program.front() == kOwnProgram)
    return badInput(
        "--offline-mode compiles only, which `pipescope run` does not do: leave it out, or start a Python "
        "program.");
  const std::string command = request.command();
  if (command == kPlan && std::ranges::count(request.program, "--profile") > 0)
    return badInput(
        "A plan from costs alone takes less time than it takes to start instances: run `pipescope plan "
        "--profile` without poprun.");
  PIPESCOPE_TRY(command == kSweep || command == kPlan ? completeSweep(request) : checkSizes(request));
  if (request.outputFrom >= request.instances)
    return badInput(fmt::format("--only-output-from-instance is {}, but the instances are 0 to {}.",
                                request.outputFrom, request.instances - 1));
  if (!request.hosts.empty() && !request.hostFile.empty())
    return badInput("--host and --hostfile exclude each other: leave one of them out.");
  if (!request.hostFile.empty() && !fs::exists(request.hostFile))
    return badInput(fmt::format("--hostfile: there is no file {}.", request.hostFile));
  return request.hostFile.empty() ? base::Status() : checkHostFile(request.hostFile);
}

std::string poprunTopology(const PoprunRequest& request) {
  const int each = request.replicas / request.instances, ipus = each * request.ipusPerReplica;
  std::string text = fmt::format("{} instance{}, {} replicas, {} IPUs in {} IPU-Link domain{}\n",
                                 request.instances, request.instances == 1 ? "" : "s", request.replicas,
                                 request.ipus(), request.linkDomains, request.linkDomains == 1 ? "" : "s");
  text +=
      fmt::format("{:<10}{:<20}{:<12}{:<10}{}\n", "Instance", "Host", "Replicas", "IPUs", "IPU-Link domain");
  const auto range = [](int first, int count) {
    return count == 1 ? fmt::format("{}", first) : fmt::format("{}-{}", first, first + count - 1);
  };
  for (int i = 0; i < request.instances; ++i) {
    // Instances go onto the hosts in turn, one after another, as mpirun maps by node.
    const std::string host = !request.hostFile.empty() ? "as in the hostfile"
                             : request.hosts.empty()
                                 ? "this host"
                                 : request.hosts[static_cast<std::size_t>(i) % request.hosts.size()];
    const int first = i * ipus / kIpusOfDomain, last = (i * ipus + ipus - 1) / kIpusOfDomain;
    text += fmt::format("{:<10}{:<20}{:<12}{:<10}{}\n", i, host, range(i * each, each), range(i * ipus, ipus),
                        range(first, last - first + 1));
  }
  return text;
}

std::vector<std::string> mpirunCommand(const PoprunRequest& request, const std::string& mpirun,
                                       const fs::path& self, const fs::path& folder) {
  std::vector<std::string> command{mpirun, "-n", std::to_string(request.instances), "--oversubscribe"};
  const auto add = [&](const std::vector<std::string>& words) {
    command.insert(command.end(), words.begin(), words.end());
  };
  if (geteuid() == 0) add({"--allow-run-as-root"});
  // Containers often forbid the single copy between processes; Open MPI then prints warnings. Version 4 says
  // "quiet" by its option and by this parameter, version 5 by the variable that waitFor sets.
  add({"--mca", "btl_vader_single_copy_mechanism", "none", "--mca", "orte_abort_print_stack", "0", "--mca",
       "orte_execute_quiet", "1"});
  add(request.numaAware ? std::vector<std::string>{"--map-by", "numa", "--bind-to", "numa"}
                        : std::vector<std::string>{"--bind-to", "none"});
  if (!request.hosts.empty())
    add({"--host", fmt::format("{}", fmt::join(request.hosts, ",")), "--map-by", "node"});
  if (!request.hostFile.empty()) add({"--hostfile", request.hostFile});
  const auto give = [&](const std::string& name, const std::string& value) {
    add({"-x", name + "=" + value});
  };
  give("POPDIST_NUM_TOTAL_REPLICAS", std::to_string(request.replicas));
  give("POPDIST_NUM_IPUS_PER_REPLICA", std::to_string(request.ipusPerReplica));
  give("POPDIST_NUM_ILDS", std::to_string(request.linkDomains));
  if (request.offline) give("POPDIST_OFFLINE_MODE", "1");
  if (!request.executableCache.empty()) give("POPTORCH_CACHE_DIR", request.executableCache);
  add(wordsOf(request.globalArguments));
  add(wordsOf(request.localArguments));
  add({self.string(), "poprun", "--as-instance", folder.string(), "--only-output-from-instance",
       std::to_string(request.outputFrom)});
  add(request.program);
  return command;
}

base::Result<int> launchInstances(const PoprunRequest& request) {
  const std::string mpirun = findProgram("mpirun");
  if (mpirun.empty())
    return badInput("poprun needs Open MPI's mpirun, which is not installed: install openmpi-bin.");
  const ReportFolder folder;
  if (folder.path().empty())
    return base::ioError(
        "Cannot make a folder for the instances' reports: is there room for temporary files?");
  std::error_code error;
  const fs::path self = fs::read_symlink("/proc/self/exe", error);
  PIPESCOPE_ASSIGN(const int status, waitFor(mpirunCommand(request, mpirun, self, folder.path())));
  if (status == 0) return 0;
  const std::optional<InstanceEnd> end = firstFailure(folder.path());
  const std::string cause =
      end ? fmt::format("Instance {} of {} on host {} {}; the others were stopped.", end->instance,
                        request.instances, end->host, end->cause)
          : fmt::format(
                "The launcher mpirun ended with exit status {} before an instance on this host reported how "
                "it "
                "ended: look at the messages above (an instance on another host, a host that cannot be "
                "reached, or no Pipescope at {} there).",
                status, self.string());
  endProfiles(folder.path(), cause);
  return base::refused(cause);
}

}  // namespace pipescope::cli
