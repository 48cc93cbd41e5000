#pragma once
// Bytes of code and state that vertices take on a tile. The code sizes are the lengths of the assembly in
// PopLibs (C), or the middle of a known range.
#include <cstdint>

namespace pipescope::devices::ipu {

inline constexpr std::int64_t kCodeConvNx1 = 2324 + 404, kCodeConv1x1 = 920 + 388, kCodeHorizontalMac = 756,
                              kCodeSlic = 1276;
inline constexpr std::int64_t kCodeOuterProduct = 712;  ///< taken as the smallest horizontal MAC
inline constexpr std::int64_t kCodeReduceAdd = 1148, kCodeReduceAddSingle = 544, kCodeReduce = 1352;
inline constexpr std::int64_t kCodeScaledAdd = 1772, kCodeNonLinearity = 512, kCodeGelu = 574,
                              kCodeCast = 216, kCodeFill = 528;
inline constexpr std::int64_t kCodeElementwise = 512;  ///< taken as a nonlinearity
inline constexpr std::int64_t kCodeMultiSlice = 504, kCodeMultiUpdate = 980, kCodeDynamicSlice = 728,
                              kCodePooling = 840;
inline constexpr std::int64_t kCodeLossTransform = 436, kCodeRandom = 464;
inline constexpr std::int64_t kCodeCopy = 528;  ///< on-tile copy, taken as a fill
inline constexpr std::int64_t kCodeSort = 728;  ///< compare and exchange, taken as a dynamic slice

/// State of a vertex with a few pointers and sizes. (X: popliner's BERT-Large profile has 59 bytes for a
/// matrix product of two vertices.)
inline constexpr std::int64_t kStateSimple = 20, kStateConv = 40, kStateReduce = 28;
/// Bytes of control code per program (X: popliner's BERT-Large profile has 11 kB a tile for 1,550 programs).
inline constexpr std::int64_t kControlPerProgram = 7;
/// Bytes of exchange code per exchange, and per message received (X: 350 bytes for a matrix product of hidden
/// size 1,024 and sequence 128 in the same profile).
inline constexpr std::int64_t kExchangeBase = 16, kExchangePerMessage = 8;
/// Bytes of the descriptor of an on-tile copy.
inline constexpr std::int64_t kCopyDescriptor = 8;
/// Bytes of the packet header of a stream copy or an exchange between IPUs, on each tile that takes part.
inline constexpr std::int64_t kPacketHeader = 8;

}  // namespace pipescope::devices::ipu
