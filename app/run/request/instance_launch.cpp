#include "app/run/request/instance_launch.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string_view>
#include <thread>

#include "profiler/base/version.h"

namespace pipescope::app {
namespace {

using base::badInput;

base::Result<std::optional<std::int64_t>> countIn(const std::function<const char*(const char*)>& getenv,
                                                  const char* name) {
  const char* text = getenv(name);
  if (text == nullptr) return std::optional<std::int64_t>();
  std::int64_t value = 0;
  const char* end = text + std::strlen(text);
  if (const auto read = std::from_chars(text, end, value);
      read.ec == std::errc() && read.ptr == end && value >= 0)
    return std::optional(value);
  return badInput(
      fmt::format("The environment variable {} is \"{}\", but must be a whole number: start "
                  "instances with `pipescope poprun`.",
                  name, text));
}

/// FNV-1a, which gives the same everywhere.
std::uint64_t hashOf(std::string_view text, std::uint64_t hash) {
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211ULL;
  return hash;
}

}  // namespace

base::Result<std::optional<Launch>> launchOf(const std::function<const char*(const char*)>& getenv) {
  PIPESCOPE_ASSIGN(const auto replicas, countIn(getenv, "POPDIST_NUM_TOTAL_REPLICAS"));
  PIPESCOPE_ASSIGN(const auto instances, countIn(getenv, "OMPI_COMM_WORLD_SIZE"));
  PIPESCOPE_ASSIGN(const auto instance, countIn(getenv, "OMPI_COMM_WORLD_RANK"));
  PIPESCOPE_ASSIGN(const auto onHost, countIn(getenv, "OMPI_COMM_WORLD_LOCAL_SIZE"));
  if (!replicas || !instances || !instance || *instances <= 1) return std::optional<Launch>();
  if (*replicas % *instances != 0 || *replicas == 0)
    return badInput(fmt::format("{} replicas do not divide by {} instances: change one of the numbers.",
                                *replicas, *instances));
  return std::optional(Launch{static_cast<int>(*instances), static_cast<int>(*instance), *replicas,
                              static_cast<int>(std::max<std::int64_t>(1, onHost.value_or(1)))});
}

base::Status useLaunch(const Launch& launch, config::Configuration& configuration) {
  const std::int64_t each = launch.replicas / launch.instances;
  for (const char* key : {"training.replication_factor", "inference.replication_factor"}) {
    if (configuration.given(key) && configuration.integer(key) != launch.replicas)
      return badInput(
          fmt::format("{} is {}, but the launcher starts {} replicas ({} instances with {} each): leave the "
                      "factor out, or set --num-replicas to it.",
                      key, configuration.integer(key), launch.replicas, launch.instances, each));
    PIPESCOPE_TRY(configuration.set(key, launch.replicas, config::Origin::environment));
  }
  for (const char* key : {"execution.instances", "data.instances", "data.instance"}) {
    if (configuration.given(key))
      return badInput(fmt::format(
          "{} is given, but the launcher starts the instances and divides the data: leave it out.", key));
  }
  if (configuration.integer("execution.threads") == 0) {
    const std::int64_t cores = std::thread::hardware_concurrency();
    PIPESCOPE_TRY(
        configuration.replace("execution.threads", std::max<std::int64_t>(1, cores / launch.onHost)));
  }
  for (const char* key : {"execution.metrics", "execution.metrics_prometheus",
                          "execution.metrics_tensorboard", "execution.save_weights"}) {
    if (launch.instance > 0 && configuration.given(key))
      PIPESCOPE_TRY(configuration.replace(key, std::string()));
  }
  PIPESCOPE_TRY(
      configuration.set("execution.instances", std::int64_t{launch.instances}, config::Origin::environment));
  PIPESCOPE_TRY(
      configuration.set("data.instances", std::int64_t{launch.instances}, config::Origin::environment));
  return configuration.set("data.instance", std::int64_t{launch.instance}, config::Origin::environment);
}

base::Status compareInstances(const numerics::Instances& instances,
                              const config::Configuration& configuration) {
  constexpr std::uint64_t kBasis = 14695981039346656037ULL;
  std::uint64_t own[2] = {hashOf(base::version(), kBasis), kBasis};
  for (const config::OptionRow& row : configuration.dump()) {
    const bool differs = row.path == "data.instance" || row.path.starts_with("execution.metrics") ||
                         row.path == "execution.threads" || row.path == "execution.save_weights";
    if (!differs) own[1] = hashOf(row.path + "=" + row.value + "\n", own[1]);
  }
  const std::vector<std::byte> all = instances.gather(std::as_bytes(std::span(own)));
  for (int i = 1; i < instances.count(); ++i) {
    std::uint64_t other[2], first[2];
    std::memcpy(first, all.data(), sizeof first);
    std::memcpy(other, all.data() + static_cast<std::size_t>(i) * sizeof other, sizeof other);
    if (other[0] != first[0])
      return badInput(
          fmt::format("Instance {} on {} runs another version of Pipescope than instance 0 on {} "
                      "({} here): install the same one on all hosts.",
                      i, instances.host(i), instances.host(0), base::version()));
    if (other[1] != first[1])
      return badInput(
          fmt::format("Instance {} on {} has another configuration than instance 0 on {}: give all "
                      "instances the same options, files and environment variables.",
                      i, instances.host(i), instances.host(0)));
  }
  return {};
}

base::Status tellLauncher(const std::filesystem::path& profile) {
  const char* folder = std::getenv(kLauncherFolder);
  if (folder == nullptr) return {};
  std::ofstream file(std::filesystem::path(folder) / kLauncherProfiles, std::ios::app);
  file << std::filesystem::absolute(profile).string() << '\n';
  if (!file.flush())
    return base::ioError(fmt::format("Cannot write into {}, the launcher's folder.", folder));
  return {};
}

}  // namespace pipescope::app
