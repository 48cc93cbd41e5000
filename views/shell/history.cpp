#include "views/shell/history.h"

namespace pipescope::shell {
namespace {

/// Moves from one end of the history to the other.
std::optional<Visit> moveTo(std::vector<Visit>& from, std::vector<Visit>& to, const Visit& present) {
  if (from.empty()) return std::nullopt;
  to.push_back(present);
  Visit next = from.back();
  from.pop_back();
  return next;
}

}  // namespace

void History::leave(const Visit& present) {
  future_.clear();
  past_.push_back(present);
  if (past_.size() > kRemembered) past_.erase(past_.begin());
}

std::optional<Visit> History::back(const Visit& present) {
  return moveTo(past_, future_, present);
}

std::optional<Visit> History::forward(const Visit& present) {
  return moveTo(future_, past_, present);
}

void History::clear() {
  past_.clear();
  future_.clear();
}

}  // namespace pipescope::shell
