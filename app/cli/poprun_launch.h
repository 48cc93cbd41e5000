#pragma once
// Starts instances of a program with Open MPI's mpirun and says how they ended.
#include <filesystem>
#include <string>
#include <vector>

#include "profiler/base/result.h"

namespace pipescope::cli {

/// Stands for this program itself as the program of an instance.
inline constexpr const char* kOwnProgram = "/proc/self/exe";
/// The commands whose combinations the instances share.
inline constexpr const char *kSweep = "sweep", *kPlan = "plan";

/// Request to launch a program: `pipescope poprun [flags] PROGRAM …`.
struct PoprunRequest {
  int instances = 1;
  int replicas = 1;        ///< replicas of all instances together
  int ipusPerReplica = 1;  ///< width of the model
  int linkDomains = 0;     ///< IPU-Link domains; 0: as many as the IPUs need
  std::vector<std::string> hosts;
  std::string hostFile, executableCache, globalArguments, localArguments;
  bool numaAware = false, offline = false;
  int outputFrom = -1;  ///< the instance whose output is shown; −1: all
  std::vector<std::string> program;

  int ipus() const { return replicas * ipusPerReplica; }
  /// The command of this program that the instances run; empty: another program.
  std::string command() const {
    return program.size() > 1 && program.front() == kOwnProgram ? program[1] : std::string();
  }
};

/// Refuses numbers that do not divide, more IPUs than a process or the largest system has, and a program that
/// is missing. Fills in what follows from the others.
base::Status completePoprun(PoprunRequest& request);

/// Table of the replicas and IPUs that each instance has.
std::string poprunTopology(const PoprunRequest& request);

/// Expands names such as "host[0-2,4]" and lists with commas. Errors: a bracket that does not close, a range
/// that runs backwards.
base::Result<std::vector<std::string>> expandHosts(const std::string& names);

/// The words of a line, divided at spaces; quotes join words.
std::vector<std::string> wordsOf(const std::string& line);

/// The command line of mpirun. Instances report to `folder`. `self` is the path of this program.
std::vector<std::string> mpirunCommand(const PoprunRequest& request, const std::string& mpirun,
                                       const std::filesystem::path& self,
                                       const std::filesystem::path& folder);

/// Runs the instances and waits for them. Returns the exit status. If an instance failed, the error names it,
/// its host and the cause; the others were ended.
base::Result<int> launchInstances(const PoprunRequest& request);

}  // namespace pipescope::cli
