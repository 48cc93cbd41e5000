#include "profiler/import/read/trace_tables.h"

namespace pipescope::importing {

ProcessId TraceTables::process(std::string_view key) {
  const auto found = processIds_.find(key);
  if (found != processIds_.end()) return found->second;
  const ProcessId id = processes.nextId();
  processes.push_back({std::string(key), {}, {}, 0});
  return processIds_[std::string(key)] = id;
}

ThreadId TraceTables::thread(ProcessId process, std::string_view key) {
  std::pair<std::int64_t, std::string> pair(process.value, key);
  const auto found = threadIds_.find(pair);
  if (found != threadIds_.end()) return found->second;
  const ThreadId id = threads.nextId();
  threads.push_back({process, pair.second, {}, 0});
  return threadIds_[std::move(pair)] = id;
}

std::optional<Argument> TraceTables::argumentNamed(std::string_view name) const {
  return importing::argumentNamed(name, ownArguments);
}

}  // namespace pipescope::importing
