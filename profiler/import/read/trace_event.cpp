#include "profiler/import/read/trace_event.h"

namespace pipescope::importing {
namespace {

struct ArgumentName {
  std::string_view name;
  Argument argument;
};
constexpr ArgumentName kArgumentNames[] = {
    {"correlation", Argument::correlation},
    {"correlationId", Argument::correlation},
    {"External id", Argument::externalId},
    {"external id", Argument::externalId},
    {"device", Argument::device},
    {"stream", Argument::stream},
    {"bytes", Argument::bytes},
    {"comm_size", Argument::bytes},
    {"Bytes", Argument::memoryBytes},
    {"step", Argument::step},
    {"iteration", Argument::step},
    {"stage", Argument::stage},
    {"replica", Argument::replica},
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
    {"comm_src", Argument::source},
    {"comm_dst", Argument::destination},
    {"Dst Rank", Argument::destination},
    {"Total Allocated", Argument::memoryBytes},
    {"bytes_in", Argument::bytesIn},
    {"bytes_out", Argument::bytesOut},
    {"num_ops", Argument::operations},
    {"flops", Argument::operations},
    {"tensor_size", Argument::tensorBytes},
    {"operand_bytes", Argument::tensorBytes},
};

constexpr std::size_t kLongestArgumentName = 24;

/// The names by their length, and where those of each length begin. Most arguments of a trace have none of
/// these names, and nearly all lengths occur a few times at most.
struct NamesByLength {
  std::array<ArgumentName, std::size(kArgumentNames)> names{};
  std::array<std::uint8_t, kLongestArgumentName + 2> begin{};
};
constexpr NamesByLength kNamesByLength = [] {
  NamesByLength sorted;
  std::size_t count = 0;
  for (std::size_t length = 0; length <= kLongestArgumentName; ++length) {
    sorted.begin[length] = static_cast<std::uint8_t>(count);
    for (const ArgumentName& name : kArgumentNames)
      if (name.name.size() == length) sorted.names[count++] = name;
  }
  sorted.begin[kLongestArgumentName + 1] = static_cast<std::uint8_t>(count);
  return sorted;
}();
static_assert(kNamesByLength.begin.back() == std::size(kArgumentNames),
              "a name is longer than kLongestArgumentName");

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
  if (name.size() > kLongestArgumentName) return std::nullopt;
  for (std::size_t i = kNamesByLength.begin[name.size()]; i < kNamesByLength.begin[name.size() + 1]; ++i)
    if (kNamesByLength.names[i].name == name) return kNamesByLength.names[i].argument;
  return std::nullopt;
}

std::optional<Argument> argumentNamed(std::string_view name, const std::vector<std::string>& own) {
  if (const auto known = argumentNamed(name)) return known;
  for (std::size_t i = 0; i < own.size(); ++i)
    if (own[i] == name) return static_cast<Argument>(kKnownArguments + i);
  return std::nullopt;
}

std::string argumentNames() {
  std::string names;
  for (const auto& [name, argument] : kArgumentNames)
    names += (names.empty() ? "" : ", ") + std::string(name);
  return names;
}

}  // namespace pipescope::importing
