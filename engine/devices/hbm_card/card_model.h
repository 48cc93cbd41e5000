#pragma once
// The interface between a family of cards with HBM and the code that lowers stages for all of them. A
// family says what each piece of Work costs on its engines; lists of kernels, times, traffic, buckets and
// memory are the same for all.
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/compile/ir.h"
#include "engine/devices/core/device_family.h"
#include "engine/devices/hbm_card/engine_kernel.h"
#include "engine/devices/hbm_card/kernel_list.h"
#include "engine/devices/hbm_card/on_chip_traffic.h"
#include "engine/graph/tensor_type.h"
#include "engine/ops/core/work.h"
#include "profiler/base/result.h"
#include "profiler/base/units.h"

namespace pipescope::devices::hbm_card {

using graph::ElementType;

/// A tick is a picosecond, because the engines of a card have different clocks.
inline constexpr std::int64_t kTicksPerSecond = 1'000'000'000'000;

/// The figures of a card that all families have.
struct CardFigures {
  std::string name, description;
  std::optional<Float8Support> float8 = {};  ///< nothing: the card does not multiply float8
  std::int64_t hbmBytes = 1, hbmReserved = 0;
  /// Bytes that the software's libraries keep as scratch memory for as long as it runs: for each host thread
  /// that issues kernels (one, and another one for backward passes), and once. Products of groups with
  /// weights of their own, such as experts, run in so many streams, each of which has another shared
  /// workspace.
  std::int64_t threadWorkspace = 0, sharedWorkspace = 0, groupStreams = 0;
  std::int64_t cacheLine = 1;     ///< variables begin at multiples of it
  std::int64_t onChipBytes = 1;   ///< SRAM or cache that all engines share
  bool onChipIsCache = false;     ///< all results lie in HBM; on-chip memory has copies of what was used last
  bool resultsPassCache = false;  ///< results that leave their bundle are written past the cache
  std::int64_t sliceBytes = 1;    ///< most bytes of a slice that one engine hands to another
  bool operandsByCopy = false;    ///< copy engines bring the operands of products into on-chip memory
  double kernelOverhead = 0;      ///< seconds from the arrival of the operands to the start of a kernel
  double recipeLaunch = 0;        ///< seconds in which the host starts the kernels of a pass
  /// One kernel at a time runs on the engines, as the kernels of one stream do, and each pays kernelOverhead.
  /// Otherwise the engines work side by side, and kernelOverhead counts from the arrival of the operands.
  bool oneStream = false;
  /// Seconds in which the host issues a kernel, and those for a product, whose layer does more on the host;
  /// 0: it issues all at once.
  double kernelIssue = 0, productIssue = 0;
  std::size_t mostOperands = 1;  ///< operands that a fused kernel may have
  /// Cards that update shares sum gradients where they were accumulated, instead of in a buffer of their own.
  bool sumsInPlace = false;
  /// Products of weight gradients add to the accumulator themselves.
  bool productsAccumulate = false;
  /// Results take the place of the operands that operators name for it (OperatorDefinition::replacedInput).
  bool replacesOperands = false;
  /// Fused kernels of elementwise functions keep only their operands for the backward pass.
  bool keepsOperandsAlone = false;
  double callOverhead = 0;  ///< seconds between two calls of the host
  double hostBytesPerSecond = 1, hostLatency = 0;

  std::int64_t usableHbm() const { return hbmBytes - hbmReserved; }
  base::Timebase timebase() const { return {kTicksPerSecond}; }
};

/// Types of programs, as reports name them.
struct ProgramNames {
  std::array<const char*, kEngines> kernels;  ///< by Engine
  const char* slices;                         ///< copies that bring slices of operands
  const char* launch;                         ///< the host starts a pass
};

/// Seconds on the engine, of reading and writing on-chip memory, of HBM, and of the kernel alone.
struct KernelCost {
  double engine = 0, onChipReads = 0, onChipWrites = 0, memory = 0, alone = 0;
};

class CardModel {
 public:
  CardModel() = default;
  CardModel(const CardModel&) = delete;
  CardModel& operator=(const CardModel&) = delete;
  virtual ~CardModel() = default;

  virtual const CardFigures& figures() const = 0;
  virtual const ProgramNames& programs() const = 0;
  /// Lowers one execution of the Work; the caller applies the repeat count. `what` names the operator for
  /// the error sentence if the card cannot do it.
  virtual base::Result<EngineKernel> lowerWork(const ops::WorkItem& item, const std::string& what) const = 0;
  /// Seconds of the vector engines to copy these elements, while the data is at hand.
  virtual double copySeconds(std::int64_t elements, ElementType type) const = 0;
  /// FLOP per second of products in this type; 0: the card does not multiply it.
  virtual double peakFlops(ElementType type) const = 0;
  /// The number of each kernel's bundle, within which kernels hand each other slices; −1: in none.
  virtual std::vector<std::int32_t> bundlesOf(const compile::StageIr& stage,
                                              const KernelList& list) const = 0;
  virtual KernelCost costOf(const EngineKernel& kernel, const Traffic& traffic) const = 0;
  /// Seconds of the host to issue kernel `index` of a pass.
  virtual double issueSeconds(const KernelList& list, std::size_t index) const;
};

}  // namespace pipescope::devices::hbm_card
