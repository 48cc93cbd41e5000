#pragma once
// The figures of an executable as sections, page models and analyses state them, and what must be equal among
// them.
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "profiler/analysis/pipeline/pipeline_grid.h"
#include "profiler/analysis/timeline/far_statistics.h"
#include "profiler/sections/frame/reports.h"
#include "profiler/sections/replays.h"

namespace pipescope::testing {

struct Sample {
  std::string name, path;
};

/// A profile of one sample, without numerics.
struct Recorded {
  std::shared_ptr<model::ProfileSource> source;
  std::shared_ptr<const analysis::Catalog> catalog;
};
/// Runs a sample. Null if it cannot be run, which is a failure of the test.
std::shared_ptr<Recorded> record(const Sample& sample);
/// Runs a sample with other settings, keyed by configuration key. An error says why it cannot be run so.
base::Result<std::shared_ptr<Recorded>> recordWith(const Sample& sample,
                                                   const std::map<std::string, std::string>& settings);

/// All figures of one executable.
class Figures {
 public:
  Figures(const Recorded& recorded, model::ExecutableId executable);

  const nlohmann::json& operator[](const char* section) const { return sections_.at(section); }
  const analysis::Catalog& catalog() const { return context_.catalog; }
  const sections::Context& context() const { return context_; }
  const model::Run& run() const { return *run_; }
  std::int64_t replicas() const { return catalog().executable(context_.executable)->replicas; }
  bool ran() const { return run_ != nullptr; }
  const analysis::Trace& trace() const { return *trace_; }
  const std::vector<analysis::PipelineGrid>& grids() const { return grids_; }
  /// The compute passes of an iteration of the first replica.
  std::vector<model::Placement> passes(std::int32_t iteration) const;
  double callTicks() const { return static_cast<double>((run_->end - run_->start).count); }
  const analysis::Execution& execution() const { return **sections::executionOf(context_); }
  const analysis::StagesReport& stages() const { return **sections::stagesOf(context_); }
  const analysis::Memory& memory() const { return **sections::memoryOf(context_); }
  /// The recorded devices over the whole call.
  std::vector<analysis::RangeStatistics> ranges() const {
    return analysis::rangeStatistics(*trace_, run_->start, run_->end);
  }

 private:
  sections::Context context_;
  const model::Run* run_;
  std::map<std::string, nlohmann::json> sections_;
  std::shared_ptr<const analysis::Trace> trace_;
  std::vector<analysis::PipelineGrid> grids_;
};

constexpr double kRounding = 2;  ///< ticks; figures of single parts are rounded

// Times of steps, devices, engines, waits and stages (agreement_times.cpp).
void expectStepTimesAgree(const Figures& of);
void expectBusyAgrees(const Figures& of);
void expectTimesOfDevicesAgree(const Figures& of);
void expectWaitsAgree(const Figures& of);
void expectEnginesAgree(const Figures& of);
void expectPathsAgree(const Figures& of);
void expectLimitingStagesAgree(const Figures& of);

// Memory and addresses (agreement_memory.cpp).
void expectMemoryAgrees(const Figures& of);
void expectAddressesAgree(const Figures& of);

// Bytes, operations, programs, copies and launches (agreement_work.cpp).
void expectBytesAgree(const Figures& of);
void expectOperationsAgree(const Figures& of);
void expectGraphAgrees(const Figures& of);
void expectProgramsAgree(const Figures& of);
void expectCopiesAgree(const Figures& of);
void expectLaunchesAgree(const Figures& of);

// Advice and replays (agreement_answers.cpp).
void expectRecordedStepAgrees(const Figures& of);
void expectUnchangedReplayAgrees(const Figures& of);
void expectInsightsAgree(const Figures& of);

// Profiles that a what-if makes (agreement_made.cpp).
void expectMadeProfilesAgree(const Figures& of);

}  // namespace pipescope::testing
