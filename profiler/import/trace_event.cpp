#include "profiler/import/trace_event.h"

namespace pipescope::importing {
namespace {

struct ArgumentName {
  std::string_view name;
  Argument argument;
};
constexpr ArgumentName kArgumentNames[] = {
    {"correlation", Argument::correlation},
    {"External id", Argument::externalId},
    {"external id", Argument::externalId},
    {"device", Argument::device},
    {"stream", Argument::stream},
    {"bytes", Argument::bytes},
    {"Bytes", Argument::memoryBytes},
    {"step", Argument::step},
    {"iteration", Argument::step},
    {"stage", Argument::stage},
    {"mb_id", Argument::microBatch},
    {"micro_batch", Argument::microBatch},
    {"model_chunk", Argument::modelChunk},
    {"seq_id", Argument::sequence},
    {"Seq", Argument::sequence},
    {"Collective name", Argument::collective},
    {"Process Group Name", Argument::processGroup},
    {"Group size", Argument::groupSize},
    {"In msg nelems", Argument::elements},
    {"dtype", Argument::elementType},
    {"Src Rank", Argument::source},
    {"Dst Rank", Argument::destination},
    {"Total Allocated", Argument::memoryBytes},
};

}  // namespace

NameId Names::add(std::string_view text) {
  const auto found = ids_.find(text);
  if (found != ids_.end()) return found->second;
  const NameId id = texts_.nextId();
  // Elements of an unordered map keep their address when it grows.
  texts_.push_back(&ids_.emplace(text, id).first->first);
  return id;
}

std::optional<Argument> argumentNamed(std::string_view name) {
  for (const auto& [known, argument] : kArgumentNames)
    if (known == name) return argument;
  return std::nullopt;
}

std::string argumentNames() {
  std::string names;
  for (const auto& [name, argument] : kArgumentNames)
    names += (names.empty() ? "" : ", ") + std::string(name);
  return names;
}

}  // namespace pipescope::importing
