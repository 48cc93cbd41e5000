#pragma once
// Operations that wait for each other: when each of them would end with other durations.
#include <cstddef>
#include <cstdint>
#include <vector>

namespace pipescope::analysis {

/// An operation starts when all operations that it follows have ended. Operations of one group, such as a
/// send with its receive or the members of a collective, start together.
class OperationGraph {
 public:
  /// Adds an operation in a group of its own and returns its index.
  std::size_t add();
  /// Puts two operations into one group.
  void join(std::size_t one, std::size_t other);
  void follow(std::size_t operation, std::size_t before) { edges_.push_back({operation, before}); }
  std::size_t size() const { return parent_.size(); }
  /// The part of the graph that each operation belongs to: no operation waits for one of another part.
  std::vector<std::size_t> parts() const;

  /// Finds an order in which the groups can run. Returns false if groups wait for each other in a circle.
  /// Call it after the last add(), join() and follow(), and before ends().
  bool order();
  /// The end of each operation, if each lasts `durations` and what waits for nothing starts at 0.
  std::vector<double> ends(const std::vector<double>& durations) const;

 private:
  struct Edge {
    std::size_t operation, before;
  };
  std::size_t groupOf(std::size_t operation);

  std::vector<std::size_t> parent_;  // parents in the groups' trees; the root names the group
  std::vector<Edge> edges_;
  // Groups in an order in which they can run, each with its members and with what these follow.
  struct Group {
    std::size_t firstMember, firstBefore;
  };
  std::vector<Group> groups_;
  std::vector<std::size_t> members_, before_;
};

}  // namespace pipescope::analysis
