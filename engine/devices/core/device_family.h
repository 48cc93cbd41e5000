#pragma once
// The interface between a model's IR (engine/compile) and the devices, which turn it into segments with
// steps and memory. Each family (ipu, gaudi, fixed) implements System. No code outside engine/devices asks
// which family a system belongs to.
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/compile/ir.h"
#include "engine/devices/core/shared_list.h"
#include "profiler/base/result.h"
#include "profiler/model/rows.h"

namespace pipescope::devices {

using base::Bytes;
using base::Ticks;

/// Units first … first + count − 1 each work for `ticks`.
struct LoweredUnitTicks {
  std::int64_t first = 0, count = 1;
  Ticks ticks;
};

/// One step of a segment. The steps of an IPU follow each other; those of other devices may run side by side
/// on different lanes.
struct LoweredStep {
  model::StepKind kind = model::StepKind::compute;
  model::LaneRole lane = model::LaneRole::compute;
  std::string program;  ///< program type: on an IPU as PopVision names it (OnTileExecute, DoExchange, Sync,
                        ///< StreamCopyMid …)
  std::string name;     ///< name path, "layer1/conv/Convolve"
  int op = -1;          ///< index into LoweredPass::operators; −1: none
  Ticks offset, ticks;  ///< `offset` counts from the segment's start
  std::int64_t activeUnits = 0;
  Ticks minTicks, maxTicks;  ///< ticks of the fastest active unit and of the slowest unit
  double meanTicks = 0;      ///< mean over all units; idle ones count as 0
  Bytes bytesIn, bytesOut;
  /// The work of single units, ascending. A unit that is not named is idle. Empty: the family does not know
  /// it.
  std::vector<LoweredUnitTicks> units;
};

struct LoweredSegment {
  std::string name;
  model::LaneRole lane = model::LaneRole::compute;
  Ticks ticks;
  std::vector<LoweredStep> steps;
  /// Overrides the kind of the enclosing pass, for example for a remote load or a collective within an
  /// update. The replicas wait for each other at a collective segment that runs once per iteration.
  std::optional<model::Pass> pass = std::nullopt;
  /// Only for collectives of the pass `collective`, which run on their own lane beside the backward pass, one
  /// after another. Such a collective starts after this segment of the last micro-batch's backward pass. −1:
  /// it starts when all micro-batches are done.
  int after = -1;
  /// Only for collectives of the pass `collective` that run over places: the operator. These places wait for
  /// each other before it.
  int tied = -1;
};

struct LoweredOperator {
  std::string name, kind;
  double flops = 0;
  Bytes bytes = {};                                ///< operands and results
  std::string block = {};                          ///< see IrOperator::block
  std::optional<model::Pass> pass = std::nullopt;  ///< none: the pass of the enclosing one
  /// The time of its FLOP if each product ran at the device's peak for the types that it multiplies and sums
  /// in; 0: the family does not know.
  double leastSeconds = 0;
  bool product = false;                            ///< it contains products, so it has steps of its own
  std::optional<ops::Collective> collective = {};  ///< of several the first, with the elements of all
};

/// Operators first … first + count − 1 of a pass share the code of a function, which the device keeps once.
struct LoweredCall {
  std::string function, name;
  int first = 0, count = 0;
};

/// Result of a family for a proposal of the compiler (engine/compile/passes).
struct Claim {
  std::string pass;
  std::int64_t changes = 0;
  Bytes bytes;  ///< bytes saved
  Ticks ticks;  ///< ticks saved per micro-batch
};

/// A pass of a stage on its device. Its segments follow each other.
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

/// A half-open range of the device's program steps, in the order of LoweredMemory::steps.
struct LifeSteps {
  std::int32_t first = 0, end = 0;
};

/// Each of the units first … first + count − 1 holds `bytes`.
struct UnitBytes {
  std::int64_t first = 0, count = 1;
  Bytes bytes;
  std::int64_t address = -1;  ///< -1: readers of the profile lay the unit out
};

struct LoweredVariable {
  std::string name;      ///< name path
  std::string category;  ///< name of a TensorUse, or libpva's category for code and descriptors
  std::string shape;     ///< empty for code
  Bytes bytes, maxUnitBytes;
  bool alwaysLive = false;
  int stage = -1;
  std::vector<LifeSteps> lives;       ///< empty for always-live ones
  std::vector<UnitBytes> units = {};  ///< ascending; empty: there is one unit, or the family does not know
  std::string unitCategory = {};      ///< category in UnitBytesRun; empty: the same as `category`
  model::MemoryPlace place = model::MemoryPlace::anywhere;
};

/// The vertices of one type in the compute set of a program step.
struct LoweredVertices {
  std::int32_t step = 0;  ///< index into LoweredMemory::steps
  std::string type;
  std::int64_t firstUnit = 0, unitCount = 1;  ///< units that hold them
  std::int64_t count = 1;                     ///< number on each of these units
  Bytes code, state, fields;                  ///< bytes on each of these units; the code is that of the type
};

struct LoweredStepMemory {
  std::string name;  ///< name path of the program step
  std::string program;
  model::Pass pass = model::Pass::forward;
  Bytes notAlwaysLive, maxUnitNotAlwaysLive;
};

/// Neighbouring units that hold equally much of one category.
struct UnitBytesRun {
  std::string category, region;
  bool alwaysLive = false;
  std::int64_t firstUnit = 0, unitCount = 1;
  Bytes bytes;  ///< bytes in each unit
};

/// Content of one memory space of a device for one executable.
struct LoweredMemory {
  int space = 0;  ///< index into the device's memory spaces
  std::vector<LoweredVariable> variables;
  std::vector<LoweredStepMemory> steps;
  std::vector<UnitBytesRun> units;
  std::vector<LoweredVertices> vertices = {};
  /// A text for each thing that does not fit; lines after its first are advice. Empty: everything fits.
  std::vector<std::string> overflow;
};

/// Everything that one device does and holds for one executable.
struct LoweredDevice {
  int device = 0;
  std::vector<LoweredPass> passes;
  std::vector<LoweredMemory> memory;
  std::vector<Claim> claims = {};
};

struct MemorySpaceInfo {
  std::string kind;
  std::int64_t units = 1;
  Bytes bytesPerUnit, interleavedStart, elementBytes = {};
};

struct DeviceInfo {
  std::string kind, name;  ///< chip and "IPU0"
  std::int64_t ticksPerSecond = 1;
  std::int64_t units = 1;
  std::string unitName;
  SharedList<model::LaneRole> lanes;
  SharedList<MemorySpaceInfo> memory = {};
  /// The lane that carries data to and from other devices, and on which the device waits for them.
  model::LaneRole transferLane = model::LaneRole::exchange;
  /// Titles of lanes, such as "MME" for the matrix lane of a Gaudi, which equal devices share. Other lanes
  /// are called after their role. Null: there are none.
  std::shared_ptr<const std::map<model::LaneRole, std::string>> laneTitles = nullptr;
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

/// A link, by the number that System::linksOf gives it, and the share of its capacity that something takes.
struct LinkShare {
  std::int64_t link = 0;
  double share = 0;
  friend auto operator<=>(const LinkShare&, const LinkShare&) = default;
};

/// One named figure of a device or system, as `pipescope devices` shows it.
struct Figure {
  std::string name, value, unit, grade, source;
};

/// Types with which the devices of a system multiply float8.
struct Float8Support {
  /// The types with 4 and with 5 bits of exponent, as these devices define them.
  graph::ElementType e143 = graph::ElementType::float8_143fn, e152 = graph::ElementType::float8_152;
  graph::ElementType beside = graph::ElementType::bfloat16;  ///< the 16-bit type of everything else
  graph::ElementType sums = graph::ElementType::float32;     ///< type in which products are summed
  bool blocks = false;  ///< they multiply blocks of 32 with scales of their own (MXFP8)
  bool float4 = false;  ///< they multiply blocks of 16 numbers of four bits (NVFP4)
};

/// Words and properties with which reports and pages describe a system.
struct SystemFacts {
  std::string deviceNoun = {};  ///< word for one device: "IPU", "HPU", "device"
  /// Name of the devices in frameworks: "ipu", "hpu"; empty: no framework has them.
  std::string accelerator = {};
  /// Unit in which people count its time: "cycles", "cost units"; empty: seconds only.
  std::string tickNoun = {};
  /// True if the configuration states all costs: the system takes no model and has no error bands.
  bool costsGiven = false;
  bool costsAreTimes = false;  ///< with costsGiven: their unit is a unit of time
};

/// A family's model of one system. It never changes after it has been made, and any thread may call it.
class System {
 public:
  virtual ~System() = default;

  /// The family's name, for the record. Callers do not compare it; they ask facts().
  virtual std::string family() const = 0;
  virtual SystemFacts facts() const = 0;
  virtual std::string name() const = 0;
  virtual std::string description() const = 0;
  virtual const std::vector<DeviceInfo>& devices() const = 0;
  /// The links of the system. One of many devices lists those of its first devices; route() names all.
  virtual const std::vector<LinkInfo>& links() const = 0;
  virtual std::vector<Figure> figures() const = 0;

  /// Lowers all stages that one device holds (ascending) to segments and memory. A model that does not fit is
  /// lowered too; LoweredMemory::overflow then says so.
  virtual base::Result<LoweredDevice> lower(const std::vector<const compile::StageIr*>& stages) const = 0;

  /// The ticks of each flow when all of them start together, in the order given. All flows are between
  /// devices.
  virtual std::vector<Ticks> transferTicks(const std::vector<Flow>& concurrent) const = 0;
  /// The links that a flow uses, by numbers of the system's own. Flows that share no link do not slow each
  /// other; a flow without links is never slowed. By default all flows share one link.
  virtual std::vector<std::int64_t> linksOf(const Flow&) const { return {0}; }
  /// Returns the shares of the links of one chip that a collective among the chips of `group` (ascending)
  /// takes while it runs. By default there are none: the collective shares links with nothing else, as on
  /// IPUs, which take part in one exchange at a time.
  virtual std::vector<LinkShare> linkShares(const ops::Collective&, int /*device*/,
                                            const std::vector<int>& /*group*/) const {
    return {};
  }
  /// Number of chips after which links look alike, where each link belongs to one chip at each end: replicas
  /// whose chips lie a multiple of it apart have equal times. 0: links are shared, or not alike.
  virtual int period() const { return 0; }
  /// Ticks of an external sync of `devices` devices; it comes before an exchange between devices.
  virtual Ticks syncTicks(int devices) const = 0;
  /// Ticks between two calls of the host.
  virtual Ticks callTicks() const = 0;
  /// Bytes per second that the host's network brings to this device of the first replica, where a memory
  /// beside the devices holds what the host sends ahead. Copies from the host then only take as long as this
  /// memory needs. 0: the host sends while a device copies.
  virtual double sentAheadBytesPerSecond(int, const compile::Mesh&) const { return 0; }
  /// Bytes of gradients that one all-reduce bundles, in the order in which the backward pass makes gradients.
  /// The last number holds for all further bundles. Empty: one all-reduce of all gradients follows the last
  /// micro-batch.
  virtual std::vector<Bytes> gradientBuckets() const { return {}; }
  /// True if collectives of devices in different places of a replica may use the same links, so that what the
  /// others send counts (compile::Mesh::ringBytes).
  virtual bool placesShareLinks() const { return false; }
  /// Types of float8 products; nullopt if the devices do not multiply float8.
  virtual std::optional<Float8Support> float8() const { return std::nullopt; }
  /// True if the system's framework orders the operators of training by the memory that they need. Otherwise
  /// they keep the order of the model.
  virtual bool ordersForMemory() const { return false; }
  /// True if the values that a forward pass leaves to its backward pass stay where they are. Otherwise they
  /// are copied into a ring and back.
  virtual bool keepsInPlace() const { return false; }
  /// True if the system's framework computes the stages of a pipeline again in the backward pass unless told
  /// otherwise, as PopART does. Others keep activations, as Megatron-LM and DeepSpeed do.
  virtual bool recomputesPipelines() const { return true; }
  /// True if the system's framework keeps a copy of a weight on each device whose stages use it, and adds up
  /// the gradients of the copies, as Megatron-LM and DeepSpeed do. Otherwise its users share a device.
  virtual bool copiesWeights() const { return false; }
  /// True if the system's framework adds the gradients of training with master weights into buffers that
  /// stay, even if one micro-batch makes an update (IrOptions::gradientBuffers).
  virtual bool keepsGradientBuffers() const { return false; }
  /// True if the system's software casts weights to float8 once an update and keeps the results, as
  /// TransformerEngine does in the first micro-batch. Otherwise each pass casts them.
  virtual bool keepsCastWeights() const { return false; }
  /// True if the system's framework gathers sharded weights for one block of the model at a time. Otherwise
  /// it gathers those of a pass at its start.
  virtual bool gathersByBlock() const { return false; }
  /// The least number of keys from which on the system's software usually fuses attention
  /// (engine/compile/attention/fused_attention.h). None: it never does.
  virtual std::optional<std::int64_t> fusesAttentionFrom() const { return std::nullopt; }
  /// True if the kernels of fused attention leave out tiles of scores that a causal mask hides.
  virtual bool skipsMaskedAttention() const { return false; }
  /// True if the devices can keep the code of repeated operators once. Otherwise the compiler looks for none.
  virtual bool sharesCode() const { return false; }
  /// True if the system's framework runs convolutions side by side where the model asks for it.
  virtual bool runsSideBySide() const { return false; }
  /// True if the devices follow the compiler's proposals to fuse elementwise operators and to compute in
  /// place. Otherwise their framework decides for itself.
  virtual bool takesProposals() const { return true; }
  /// The links that bytes from one device to another cross, in their order. A link that links() lacks belongs
  /// to a network that joins many devices. By default the direct link is the way.
  virtual std::vector<LinkInfo> route(int, int) const { return {}; }
};

}  // namespace pipescope::devices
