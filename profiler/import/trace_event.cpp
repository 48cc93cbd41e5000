#include "profiler/import/trace_event.h"

namespace pipescope::importing {

NameId Names::add(std::string_view text) {
  const auto found = ids_.find(text);
  if (found != ids_.end()) return found->second;
  const NameId id = texts_.nextId();
  // Elements of an unordered map keep their address when it grows.
  texts_.push_back(&ids_.emplace(text, id).first->first);
  return id;
}

}  // namespace pipescope::importing
