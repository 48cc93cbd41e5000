#pragma once
// The float8 types: what their 256 patterns mean, and conversion to and from float32.
//
// A pattern has a sign bit, an exponent e and a fraction f of n bits. It means ±(1 + f/2ⁿ)·2^(e − bias), or
// ±f/2ⁿ·2^(1 − bias) if e is 0. The types differ in their bias and in their special patterns:
//
//   type             bias  largest  infinity   NaN                used by
//   float8_143          7      240  0x78,0xF8  other e = 15       Gaudi2
//   float8_143fn        7      448  none       0x7F, 0xFF         Gaudi3; ONNX FLOAT8E4M3FN (OCP)
//   float8_143fnuz      8      240  none       0x80               Graphcore C600; ONNX FLOAT8E4M3FNUZ
//   float8_152         15    57344  0x7C,0xFC  other e = 31       Gaudi2, Gaudi3; ONNX FLOAT8E5M2
//   float8_152fnuz     16    57344  none       0x80               Graphcore C600; ONNX FLOAT8E5M2FNUZ
//
// (Sources: ONNX, "Float stored in 8 bits"; Open Compute Project, "OCP 8-bit Floating Point Specification";
// graphcore/poplibs, tests of casts to and from quarter, and Noune et al. 2022, "8-bit numerical formats for
// deep neural networks"; huggingface/optimum-habana, quantizer for float8: ±240 on Gaudi2, ±448 later.)
#include <cstdint>
#include <optional>

#include "engine/graph/tensor_type.h"

namespace pipescope::ops {

struct Float8Definition {
  int fraction = 3;       ///< bits of the fraction
  int bias = 7;           ///< bias of the exponent
  float largest = 448;    ///< the largest finite number
  bool infinity = false;  ///< it has infinities
  bool oneZero = false;   ///< 0x80 is NaN instead of a negative zero
};

/// The definition of a float8 type.
const Float8Definition& float8Definition(graph::ElementType type);
/// The type with this many bits of fraction, this bias and this largest number, if there is one.
std::optional<graph::ElementType> float8TypeOf(int fraction, double bias, double largest);

/// Exact.
float widenedFloat8(graph::ElementType type, std::uint8_t bits);
/// Rounds to nearest, ties to even. Numbers that are too large, and infinities, become the largest number if
/// `saturate` is set; otherwise they become infinity, or NaN in a type without it. NaN stays NaN.
std::uint8_t narrowedToFloat8(graph::ElementType type, float value, bool saturate = true);

/// Writes the numbers times `factor`.
void widenFloat8(graph::ElementType type, const std::uint8_t* from, float* to, std::int64_t count,
                 float factor = 1);
/// Reads numbers times `factor`; saturates.
void narrowToFloat8(graph::ElementType type, const float* from, std::uint8_t* to, std::int64_t count,
                    float factor = 1);

}  // namespace pipescope::ops
