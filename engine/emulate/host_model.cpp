#include "engine/emulate/host_model.h"

#include <fmt/format.h>

#include <algorithm>

#include "profiler/base/byte_text.h"

namespace pipescope::emulate {

double HostModel::crowding(std::int64_t replicas) const {
  if (cores <= 0) return 1;
  const std::int64_t sharing = processes > 0 ? std::min(processes, replicas) : replicas;
  // A process that only waits for its workers leaves its core to them.
  const bool works = loaderWorkers == 0 || secondsPerStep > 0 || secondsPerSample > 0;
  const std::int64_t busy = sharing * (loaderWorkers + (works ? 1 : 0));
  return std::max(1.0, static_cast<double>(busy) / static_cast<double>(cores));
}

std::int64_t HostModel::processesOfHost(std::int64_t replicas, std::int64_t ranks) const {
  return processes > 0 ? std::min(processes, replicas * ranks) : replicas * ranks;
}

std::string HostModel::memoryOverflow(std::int64_t replicas, std::int64_t ranks, Bytes streams) const {
  const std::int64_t count = processesOfHost(replicas, ranks), all = replicas * ranks;
  const Bytes own((streams.count * count + all - 1) / all), held = weights * count + own;
  if (memory.count <= 0 || held <= memory) return {};
  return fmt::format(
      "Host: its {} process{} read the weights of the whole model, {} each, and the data of a call takes {}: "
      "{} together, but host.memory is {}, {} too few. Use fewer processes on a host (host.processes), or a "
      "host with more memory.",
      count, count == 1 ? "" : "es", base::byteText(weights.count), base::byteText(own.count),
      base::byteText(held.count), base::byteText(memory.count), base::byteText((held - memory).count));
}

double HostModel::stepSeconds(std::int64_t samples, std::int64_t replicas) const {
  const double own = loaderWorkers == 0 ? secondsPerSample + secondsPerLoad : secondsPerSample;
  return (secondsPerStep + own * static_cast<double>(samples)) * crowding(replicas);
}

double HostModel::samplesPerSecond(std::int64_t replicas) const {
  const double prepared = preparedPerSecond(replicas);
  if (prepared <= 0 || networkRate <= 0) return std::max(prepared, networkRate);
  return std::min(prepared, networkRate);
}

double HostModel::preparedPerSecond(std::int64_t replicas) const {
  if (loaderRate > 0) return loaderRate / crowding(replicas);
  if (loaderWorkers == 0 || secondsPerLoad <= 0) return 0;
  return static_cast<double>(loaderWorkers) / (secondsPerLoad * crowding(replicas));
}

}  // namespace pipescope::emulate
