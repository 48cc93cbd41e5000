#pragma once
// Bytes of code and state that vertices take on a tile. The code sizes are the lengths of the assembly in
// PopLibs (C), or the middle of a known range. A file with variants for all pairs of float16 and float32
// counts a quarter, because a vertex type is one variant. (M) marks figures of single operations in
// popliner's profile of BERT-Large (tests/test_popart_bert_inf.py of graphcore/popliner). That profile keeps
// the code of each layer apart, because it was made with popliner's expression for the outliner.
#include <cstdint>

namespace pipescope::devices::ipu {

inline constexpr std::int64_t kCodeConvNx1 = 2324 + 404, kCodeConv1x1 = 920 + 388, kCodeHorizontalMac = 756,
                              kCodeSlic = 1276, kCodeVerticalMac = 575;
inline constexpr std::int64_t kCodeOuterProduct = 712;  ///< taken as the smallest horizontal MAC
/// (M: a product of two vertices has 1,612 bytes of code, 1,308 of them for the AMP.)
inline constexpr std::int64_t kCodeReduceAdd = 1148 / 4, kCodeReduce = 1352 / 4;
inline constexpr std::int64_t kCodeScaledAdd = 1772, kCodeNonLinearity = 512, kCodeGelu = 574,
                              kCodeCast = 216, kCodeFill = 528;
/// (M: a subtraction has 262 bytes, a multiplication 261, a comparison 264.)
inline constexpr std::int64_t kCodeElementwise = 262;
inline constexpr std::int64_t kCodeMultiSlice = 504, kCodeMultiUpdate = 980, kCodeDynamicSlice = 728,
                              kCodePooling = 840;
inline constexpr std::int64_t kCodeLossTransform = 436, kCodeRandom = 464;
inline constexpr std::int64_t kCodeCopy = 528;  ///< on-tile copy, taken as a fill
inline constexpr std::int64_t kCodeSort = 728;  ///< compare and exchange, taken as a dynamic slice

/// State of a vertex with a few pointers and sizes. (M: 59 bytes for a matrix product of two vertices.)
inline constexpr std::int64_t kStateSimple = 20, kStateConv = 40, kStateReduce = 28;
/// State of an elementwise vertex: its size, and a pointer for each edge. (M: 12 bytes for a cast, 16 for a
/// subtraction, 12 for a multiplication in place.)
constexpr std::int64_t stateOfEdges(std::int64_t edges) {
  return 4 + 4 * edges;
}
/// Bytes of control code of a compute set on each tile that takes part, and of an exchange on all tiles.
/// (M: a cast, a subtraction and a multiplication on four tiles have 80 bytes each. An exchange alone has 12
/// on each tile, one beside an addition 4 or 8.)
inline constexpr std::int64_t kControlPerComputeSet = 20, kControlPerExchange = 8;
/// Bytes of exchange code for each exchange, and for each message that a tile receives or sends. (X: fitted
/// on the three matrix products of popliner's profile, 301 to 353 bytes on a tile.)
inline constexpr std::int64_t kExchangeBase = 16, kExchangePerMessage = 8;
/// Bytes of the descriptor of an on-tile copy.
inline constexpr std::int64_t kCopyDescriptor = 8;
/// Bytes of the packet header of a stream copy or an exchange between IPUs, on each tile that takes part.
inline constexpr std::int64_t kPacketHeader = 8;

}  // namespace pipescope::devices::ipu
