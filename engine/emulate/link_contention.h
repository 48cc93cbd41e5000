#pragma once
// Computes how long transfers take that share links. The device family answers once for each set of
// concurrent transfers, and the answer is remembered.
#include <unordered_map>
#include <vector>

#include "engine/devices/core/device_family.h"
#include "profiler/clock/contention.h"

namespace pipescope::emulate {

using FlowLists = std::vector<std::vector<devices::Flow>>;

/// Ticks × slowdown, rounded up.
base::Ticks slower(base::Ticks ticks, double slowdown);

/// Ticks of `flows` if all of them and all flows in `beside` start together.
std::vector<base::Ticks> ticksBeside(const devices::System& system, std::vector<devices::Flow> flows,
                                     const FlowLists& beside);

/// The shares of links that a kind of collective takes, and the axis of the mesh along which it runs.
struct LinkLoad {
  std::vector<devices::LinkShare> shares;
  model::MeshAxis axis = model::MeshAxis::data;
  bool always = false;  ///< it matters on links that a single axis uses, too
  friend auto operator<=>(const LinkLoad&, const LinkLoad&) = default;
};

/// Flows share a link byte by byte, as the family says. Beside loads, each flow wants a whole link, and a
/// load its share of it. Where all together want more than there is, everything on the link takes longer by
/// the same factor; the start of a message does not.
class LinkContention : public clock::Contention {
 public:
  /// `slowdowns` has a factor for the time of each flow; empty: all are 1. Each list in `beside` is like
  /// `flows` and runs in step with it: while a flow is under way, its counterparts in all lists are too
  /// (other replicas over the same links).
  LinkContention(const devices::System& system, std::vector<devices::Flow> flows,
                 std::vector<double> slowdowns = {}, FlowLists beside = {});

  /// Sets the loads. A load matters on links that several axes of the mesh use; flows use the axis `pipe`. On
  /// a link of a single axis it changes nothing, because the lengths of that axis's collectives contain what
  /// they do to each other (LinkLoad::always is the exception).
  void setLoads(std::vector<LinkLoad> loads);
  /// Two flows are in one group if they share links, directly or through other flows of the group.
  int groupOf(int flow) const override { return groups_[static_cast<std::size_t>(flow)]; }
  int groups() const override { return groupCount_; }
  int flows() const override { return static_cast<int>(flows_.size()); }
  model::MeshAxis axisOf(int load) const { return loads_[static_cast<std::size_t>(load)].axis; }
  base::Ticks alone(int flow) const { return alone_[static_cast<std::size_t>(flow)]; }
  const std::vector<base::Ticks>& together(const std::vector<int>& flows) override;

 private:
  struct Hash {
    std::size_t operator()(const std::vector<int>& flows) const;
  };
  void findGroups();
  const LinkLoad& loadOf(int index) const { return loads_[static_cast<std::size_t>(index - flows())]; }
  /// The links of a flow and of its counterparts, with repetitions.
  std::vector<std::int64_t> linksOf(std::size_t flow) const;
  std::vector<base::Ticks> solveFlows(const std::vector<int>& flows) const;

  const devices::System& system_;
  base::Ticks slowed(int flow, base::Ticks ticks) const;
  std::vector<base::Ticks> solve(const std::vector<int>& flows) const;

  std::vector<devices::Flow> flows_;
  std::vector<double> slowdowns_;
  FlowLists beside_;
  std::vector<LinkLoad> loads_;
  std::vector<std::vector<std::int64_t>> ownLinks_, allLinks_;  ///< of flows: alone, and with counterparts
  std::vector<base::Ticks> starts_;                             ///< of messages, by flow
  std::vector<base::Ticks> alone_;
  std::vector<int> groups_;
  int groupCount_ = 0;
  std::unordered_map<std::vector<int>, std::vector<base::Ticks>, Hash> known_;
};

}  // namespace pipescope::emulate
