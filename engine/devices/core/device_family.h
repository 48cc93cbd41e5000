#pragma once
// The seam between what a model needs (engine/compile's plans) and what a device makes of it (segments with
// steps, memory). A family — ipu, gaudi, fixed — implements System; nothing outside engine/devices asks which
// family it is.
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/compile/plan.h"
#include "profiler/base/result.h"
#include "profiler/model/rows.h"

namespace pipescope::devices {

using base::Bytes;
using base::Ticks;

/// Units first … first + count − 1 work that long.
struct UnitTicks {
  std::int64_t first = 0, count = 1;
  Ticks ticks;
};

/// One step of a segment; steps follow each other, or run side by side on lanes of their own.
struct LoweredStep {
  model::StepKind kind = model::StepKind::compute;
  model::LaneRole lane = model::LaneRole::compute;
  std::string
      program;  ///< program type as PopVision names it: OnTileExecute, DoExchange, Sync, StreamCopyMid …
  std::string name;     ///< name path, "layer1/conv/Convolve"
  int op = -1;          ///< index into LoweredPass::operators; −1: none
  Ticks offset, ticks;  ///< offset from the segment's start
  std::int64_t activeUnits = 0;
  Ticks minTicks, maxTicks;  ///< of the fastest active and the slowest unit
  double meanTicks = 0;      ///< over all units, idle ones count 0
  Bytes bytesIn, bytesOut;
  /// What single units do, ascending; a unit that is not named does nothing. Empty: the family does not know.
  std::vector<UnitTicks> units;
};

struct LoweredSegment {
  std::string name;
  model::LaneRole lane = model::LaneRole::compute;
  Ticks ticks;
  std::vector<LoweredStep> steps;
  /// What it is where it is not what its pass is: a remote load within an update, a collective. At a
  /// collective segment that runs once per iteration the replicas wait for each other.
  std::optional<model::Pass> pass = std::nullopt;
  /// Collectives of pass `collective` only: they run on their own lane beside the backward pass, one after
  /// another, each from the end of this segment of the last micro-batch's backward pass on. −1: when the
  /// flush is done.
  int after = -1;
};

struct LoweredOperator {
  std::string name, kind;
  double flops = 0;
  Bytes bytes = {};        ///< operands and results
  std::string block = {};  ///< see PlanOperator::block
};

/// Operators first … first + count − 1 of a pass run the code of a function, which the device keeps once.
struct LoweredCall {
  std::string function, name;
  int first = 0, count = 0;
};

/// What a family did with what a pass of the compiler proposed (engine/compile/passes).
struct Claim {
  std::string pass;
  std::int64_t changes = 0;
  Bytes bytes;  ///< that it saves
  Ticks ticks;  ///< likewise, per micro-batch
};

/// A pass of a stage on its device: segments that follow each other.
struct LoweredPass {
  int stage = 0;
  model::Pass pass = model::Pass::forward;
  std::vector<LoweredOperator> operators;
  std::vector<LoweredSegment> segments;
  std::vector<LoweredCall> calls = {};
  Ticks ticks() const {
    Ticks sum;
    for (const LoweredSegment& segment : segments) sum += segment.ticks;
    return sum;
  }
};

/// Half-open range of program steps of the device, in the order of LoweredMemory::steps.
struct LifeInterval {
  std::int32_t first = 0, end = 0;
};

/// Units first … first + count − 1 hold so many bytes each.
struct UnitBytes {
  std::int64_t first = 0, count = 1;
  Bytes bytes;
};

struct LoweredVariable {
  std::string name;      ///< name path
  std::string category;  ///< a TensorUse's name, or libpva's category for code and descriptors
  std::string shape;     ///< empty for code
  Bytes bytes, maxUnitBytes;
  bool alwaysLive = false;
  int stage = -1;
  std::vector<LifeInterval> lives;    ///< empty for always-live ones
  std::vector<UnitBytes> units = {};  ///< ascending; empty: one unit, or the family does not know
};

struct LivenessStep {
  std::string name;  ///< name path of the program step
  std::string program;
  model::Pass pass = model::Pass::forward;
  Bytes notAlwaysLive, maxUnitNotAlwaysLive;
};

/// Equal neighbours in one category.
struct UnitRun {
  std::string category, region;
  bool alwaysLive = false;
  std::int64_t firstUnit = 0, unitCount = 1;
  Bytes bytes;  ///< in each unit
};

/// Use of one memory space of one device.
struct LoweredMemory {
  int space = 0;  ///< index into the device's memory spaces
  std::vector<LoweredVariable> variables;
  std::vector<LivenessStep> steps;
  std::vector<UnitRun> units;
  /// Sentences for diagnostics where something does not fit; empty: fits.
  std::vector<std::string> overflow;
};

/// Everything one device does and holds for one executable.
struct LoweredDevice {
  int device = 0;
  std::vector<LoweredPass> passes;
  std::vector<LoweredMemory> memory;
  std::vector<Claim> claims = {};
};

struct MemorySpaceInfo {
  std::string kind;
  std::int64_t units = 1;
  Bytes bytesPerUnit, interleavedStart;
};

struct DeviceInfo {
  std::string kind, name;  ///< chip and "IPU0"
  std::int64_t ticksPerSecond = 1;
  std::int64_t units = 1;
  std::string unitName;
  std::vector<model::LaneRole> lanes;
  std::vector<MemorySpaceInfo> memory = {};
  /// The lane of what goes to and comes from other devices, and of waiting for them.
  model::LaneRole transferLane = model::LaneRole::exchange;
};

struct LinkInfo {
  int from = 0, to = 0;  ///< device indices; −1: the host
  std::string name;
  double bytesPerSecond = 0;
};

/// Bytes from one device to another; −1: the host.
struct Flow {
  int from = 0, to = 0;
  Bytes bytes;
  friend auto operator<=>(const Flow&, const Flow&) = default;
};

/// One named figure of a device or system, for `pipescope devices`.
struct Figure {
  std::string name, value, unit, grade, source;
};

/// What reports and pages must know of a system to speak of it in its own words.
struct SystemFacts {
  std::string deviceNoun = {};  ///< what people call one device: "IPU", "HPU", "device"
  std::string accelerator =
      {};  ///< what frameworks call the devices: "ipu", "hpu"; empty: no framework has them
  std::string tickNoun = {};  ///< what people count its time in: "cycles", "cost units"; empty: seconds only
  bool costsGiven =
      false;  ///< the configuration states all costs: the system takes no model and has no error bands
};

/// A family's model of one system. Immutable after creation; all members may be called from any thread.
class System {
 public:
  virtual ~System() = default;

  /// The family's name, for the record. Callers do not compare it; they ask facts().
  virtual std::string family() const = 0;
  virtual SystemFacts facts() const = 0;
  virtual std::string name() const = 0;
  virtual std::string description() const = 0;
  virtual const std::vector<DeviceInfo>& devices() const = 0;
  virtual const std::vector<LinkInfo>& links() const = 0;
  virtual std::vector<Figure> figures() const = 0;

  /// Lowers all stages that one device holds (ascending; all of the same device) to segments and memory. A
  /// model that does not fit is lowered too: LoweredMemory::overflow says so.
  virtual base::Result<LoweredDevice> lower(const std::vector<const compile::StagePlan*>& stages) const = 0;

  /// Ticks each flow takes when all start together; in the order given. Called with device-to-device flows.
  virtual std::vector<Ticks> transferTicks(const std::vector<Flow>& concurrent) const = 0;
  /// Links that a flow goes through, numbered by the system: flows without a common one do not slow each
  /// other, and one without any is not slowed by another of its kind either. Here all share one.
  virtual std::vector<std::int64_t> linksOf(const Flow&) const { return {0}; }
  /// Ticks of an external sync of `devices` devices, paid before an inter-device exchange.
  virtual Ticks syncTicks(int devices) const = 0;
  /// Ticks between two calls from the host.
  virtual Ticks callTicks() const = 0;
  /// Bytes of gradients that go into one all-reduce, in the order in which the backward pass makes them; the
  /// last number holds for all further ones. Empty: one all-reduce of all gradients, after the flush.
  virtual std::vector<Bytes> gradientBuckets() const { return {}; }
};

}  // namespace pipescope::devices
