#pragma once
// One kernel of one engine of a card, before it is known when it runs and which of its tensors lie in HBM.
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "engine/ops/core/work.h"
#include "profiler/base/result.h"
#include "profiler/model/enums.h"

namespace pipescope::devices::hbm_card {

/// Kinds of engines: for products, for everything else, for copies within the memory of the card, for
/// communication, and for copies to and from the host.
enum class Engine : std::uint8_t { matrix, vector, copy, network, host };
inline constexpr std::size_t kEngines = 5;
/// The lane on which an engine works.
model::LaneRole laneOf(Engine engine);
/// The kind of its steps.
model::StepKind kindOf(Engine engine);

/// A product, as far as the compiler of a card bundles kernels by it.
struct ProductTraits {
  bool convolution = false;
  bool batched = false;  ///< many products of operands of their own, as in attention
  ops::Contraction::Phase phase = ops::Contraction::Phase::forward;
};

/// A kernel's own time covers what its engine does while all data is at hand. The time to read and write
/// HBM is added once it is known which tensors lie there (card_lowering.h).
struct EngineKernel {
  Engine engine = Engine::vector;
  std::string name;         ///< part of the name path: "Gemm", "Add"
  ProductTraits product;    ///< of the matrix engines' kernels
  double arithmetic = 0;    ///< seconds on the engine's units
  std::int64_t units = 1;   ///< units of the card that work
  std::int64_t starts = 1;  ///< starts that depend on each other, as in a loop of the operator
  /// A collective that products before and behind it hand this many parts, one by one.
  std::int64_t parts = 1;
  /// The host reads the result before it issues what follows: how many rows each expert has.
  bool hostReads = false;
  std::int64_t issues = 1;  ///< kernels that the host issues for it, as a product for each of several experts
  /// Bytes that move between on-chip memory and the engine beyond reading each operand and writing each
  /// result once.
  std::int64_t onChipBytes = 0;
  /// Bytes that groups of engines read of all operands if each keeps what it needs in its own part of
  /// on-chip memory; -1: that does not fit, or there are no parts.
  std::int64_t groupBytes = -1;
  /// Bytes of operands that come from HBM again if they do not fit into on-chip memory.
  std::int64_t againBytes = 0;
  std::int64_t workspace = 0;  ///< bytes of HBM that it needs while it runs
  /// Bytes moved ÷ bytes used over all operands and results; above 1 if rows do not fill their cache lines.
  double spread = 1;
  /// Bytes that move besides, because rows that indices name do not fill what an access moves.
  std::int64_t wastedBytes = 0;
  /// It works element by element, so it may be fused with a neighbour that does too.
  bool elementwise = false;
  /// It moves bytes of a micro-batch while the engines compute another one, so no kernel waits for it: it
  /// only takes its time on its engine.
  bool beside = false;
  /// The result is known only when everything has been read, so whatever follows reads the operands again.
  bool barrier = false;
  /// Reads only `pickedBytes`, the rows that indices name, of an operand of `tableBytes`. If tableBytes is 0,
  /// the kernel reads its operands whole.
  std::int64_t tableBytes = 0, pickedBytes = 0;
  std::int64_t bytesIn = 0,
               bytesOut = 0;  ///< only for host copies and collectives
  /// Bytes of gradient buckets that it reads from and writes to HBM, besides its tensors.
  std::int64_t bucketRead = 0, bucketWritten = 0;
};

/// Fails with a sentence unless each extent is at least 1 and their product at most 2^48: the scores of a
/// million tokens, which fused attention never writes, are some 10^13. `what` names the operator.
base::Status checkElements(const std::string& extent, const std::vector<std::int64_t>& factors,
                           const std::string& what);

}  // namespace pipescope::devices::hbm_card
