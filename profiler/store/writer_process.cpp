#include "profiler/store/writer_process.h"

#include <signal.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <fstream>
#include <sstream>

namespace pipescope::store {
namespace {

std::string hostName() {
  std::array<char, 256> name{};
  if (gethostname(name.data(), name.size() - 1) != 0) return {};
  std::array<char, 64> processes{};  // "pid:[4026531836]"
  const bool known = readlink("/proc/self/ns/pid", processes.data(), processes.size() - 1) > 0;
  return known ? std::string(name.data()) + " " + processes.data() : std::string(name.data());
}

std::string bootId() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string id;
  std::getline(file, id);
  return id;
}

// Field 22 of the stat file in proc(5). The second field, the command in brackets, may itself contain spaces
// and brackets.
std::int64_t startOf(std::int64_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string line;
  std::getline(file, line);
  const std::size_t bracket = line.rfind(')');
  if (bracket == std::string::npos) return 0;
  std::istringstream fields(line.substr(bracket + 1));
  std::string skipped;
  for (int field = 3; field < 22; ++field) fields >> skipped;
  std::int64_t start = 0;
  fields >> start;
  return start;
}

}  // namespace

WriterProcess thisProcess() {
  return {hostName(), bootId(), getpid(), startOf(getpid())};
}

bool isDead(const WriterProcess& writer) {
  if (writer.host.empty() || writer.host != hostName() || writer.pid <= 0) return false;
  if (writer.boot != bootId()) return true;
  if (kill(static_cast<pid_t>(writer.pid), 0) != 0 && errno == ESRCH) return true;
  const std::int64_t start = startOf(writer.pid);
  return writer.start != 0 && start != 0 &&
         start != writer.start;  // The id has been given to another process.
}

}  // namespace pipescope::store
