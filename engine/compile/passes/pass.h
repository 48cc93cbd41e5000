#pragma once
// What a pass of the compiler is. One file a pass; each says PIPESCOPE_REGISTER_PASS(name) {
// registry.add({…}); } and is found by the build. README.md tells which there are and where each one acts.
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "engine/compile/plan.h"
#include "engine/graph/graph.h"
#include "engine/ops/core/operator.h"
#include "profiler/base/result.h"

namespace pipescope::compile {

struct PassContext {
  const ops::OperatorRegistry& registry;
  std::map<std::string, int> stageOf;  ///< by block
  /// Half results are rounded by words that are keyed by the node's name: nodes are then not interchangeable.
  bool stochasticRounding = false;
};

/// What a pass changed in one executable.
struct PassEffect {
  std::int64_t changes = 0;
  base::Bytes bytes;   ///< memory that it saves, one replica; where it adds some, negative
  double ticks = 0;    ///< time that it saves per micro-batch, sum over devices
  std::string counts;  ///< what `changes` counts: "nodes computed by the compiler"
  /// Operators that no longer run, and those that run in their place, by stage: what they cost less is the
  /// time saved.
  std::map<int, std::vector<PlanOperator>> removed = {}, added = {};
};

/// A pass acts on the graph once it has its gradients, or on the plan. None of them changes a bit of what is
/// computed.
struct PassDefinition {
  std::string name;  ///< its key is "compile.<name>"
  std::string doc;   ///< one sentence
  int order = 0;
  base::Result<PassEffect> (*onGraph)(graph::Graph& graph, const PassContext& context) = nullptr;
  PassEffect (*onPlan)(ExecutablePlan& plan) = nullptr;
  /// What is done to the plan where the pass is switched off: what operators offer is taken back. May be
  /// null.
  void (*withoutIt)(ExecutablePlan& plan) = nullptr;
};

class PassRegistry {
 public:
  void add(PassDefinition definition);
  const std::vector<PassDefinition>& all() const { return definitions_; }  ///< by order

 private:
  std::vector<PassDefinition> definitions_;
};

/// Calls every pass's registration (generated).
void registerPasses(PassRegistry& registry);
/// All passes, made once.
const PassRegistry& passRegistry();

struct PassReport {
  std::string name;
  bool enabled = true;
  PassEffect effect;
};

/// Runs the passes that `enabled` wants over the graph, then over the plan that is made of it, in their
/// order.
class PassRunner {
 public:
  PassRunner(PassContext context, std::function<bool(const std::string& name)> enabled)
      : context_(std::move(context)), enabled_(std::move(enabled)) {}
  base::Status runOn(graph::Graph& graph);
  void runOn(ExecutablePlan& plan);
  /// Passes over the graph first; complete once both have run.
  const std::vector<PassReport>& reports() const { return reports_; }
  /// Adds what a device did with what a pass proposed.
  void addClaim(const std::string& pass, std::int64_t changes, base::Bytes bytes, double ticks);

 private:
  PassContext context_;
  std::function<bool(const std::string& name)> enabled_;
  std::vector<PassReport> reports_;
};

}  // namespace pipescope::compile

#define PIPESCOPE_REGISTER_PASS(name)           \
  void register_##name(PassRegistry& registry); \
  void register_##name(PassRegistry& registry)
