#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "profiler/export/chrome.h"
#include "profiler/export/wanted_rows.h"

namespace pipescope::exporting {

/// Work that the operators of an executable do in its passes and steps. Exported events state it, so that
/// viewers and queries of other tools can sum it up: no work is stated twice among the passes of a
/// micro-batch, or among their steps.
class EventWork {
 public:
  struct Work {
    std::int64_t flops = 0;
    std::int64_t bytes = 0;  ///< operands and results
  };
  struct StepWork {
    std::string_view kind, block;  ///< kind and block of the operator; empty: none
    Work work;
    const model::Collective* collective = nullptr;  ///< what chips do together; null: the operator is none
  };

  explicit EventWork(const ChromeRequest& request) : request_(request) {}

  /// Reads the operators. If a device runs a pass in several segments, an operator belongs to the one that
  /// has its longest step, and to the longest segment if its steps are not known.
  base::Status read(const WantedRows& rows);
  /// Takes the steps of a segment. An operator with several steps has its work in the longest one that
  /// computes and does not only copy; without such a step, in the longest one.
  void addSteps(const model::Segment& segment, const std::vector<model::Step>& steps);

  Work ofPass(const model::Segment& segment) const;
  /// `index`: which of the segment's steps it is. `op`: the operator of the step's program.
  StepWork ofStep(const model::Segment& segment, std::size_t index, model::OperatorId op) const;
  model::OperatorId operatorOf(model::ProgramId program) { return useOf(program).op; }

 private:
  struct Use {
    model::OperatorId op;
    bool copies = false;
  };
  struct Sum {
    double flops = 0, bytes = 0;
    void add(const Sum& other, int sign = 1);
  };
  struct Fact {
    std::size_t kind = 0, block = 0;  // index in texts_
    std::int32_t stage = -1;
    model::Pass pass = model::Pass::other;
    Sum work;
  };
  struct Longest {
    const model::Segment* segment = nullptr;
    Sum rest;  // sum of operators without steps
  };
  struct Place {
    int fitness = 0;
    base::Ticks ticks;
    model::SegmentId segment;
    std::size_t index = 0;
  };
  const Fact* find(model::OperatorId op) const;
  const Use& useOf(model::ProgramId program);
  std::size_t textOf(const std::string& text);
  static Work workOf(const Sum& sum);

  const ChromeRequest& request_;
  std::vector<std::string> texts_;
  std::unordered_map<std::string, std::size_t> known_;
  std::unordered_map<model::OperatorId, Fact> facts_;
  std::unordered_map<model::OperatorId, model::Collective> collectives_;
  std::map<std::tuple<model::DeviceId, std::int32_t, model::Pass>, Longest> passes_;  // keyed with the stage
  std::unordered_map<model::SegmentId, Sum> segments_;
  std::map<std::pair<model::DeviceId, model::OperatorId>, Place> longest_;
  std::unordered_map<model::ProgramId, Use> uses_;
};

}  // namespace pipescope::exporting
