// Values of tensors as float32, and which operator makes a number that is not finite.
#include "engine/numerics/values.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "engine/numerics/finite_check.h"

namespace pipescope::numerics {
namespace {

using graph::ElementType;

TEST(Values, PartsAreReadAndWrittenAtTheirPlace) {
  for (const ElementType type : {ElementType::float32, ElementType::float16, ElementType::bfloat16}) {
    std::vector<float> all(100);
    for (int i = 0; i < 100; ++i)
      all[static_cast<std::size_t>(i)] = static_cast<float>(i);  // exact in each type
    std::vector<std::byte> tensor(100 * static_cast<std::size_t>(graph::sizeOf(type)));
    writeFloats(type, std::span(all).subspan(0, 60), 0, tensor);
    writeFloats(type, std::span(all).subspan(60), 60, tensor);
    std::vector<float> read(100);
    readFloats(type, tensor, 0, std::span(read).subspan(0, 33));
    readFloats(type, tensor, 33, std::span(read).subspan(33));
    EXPECT_EQ(read, all) << graph::toString(type);
    EXPECT_TRUE(isTrainable(type));
  }
  EXPECT_FALSE(isTrainable(ElementType::int32));
  EXPECT_FALSE(isTrainable(ElementType::float64));
}

TEST(Values, RoundingKeepsTheBitsOfTheType) {
  std::vector<float> values(20'000, 1.0F + 0x1p-9F);  // more than a piece
  values.back() = 1.0F + 0x1p-7F;
  std::vector<float> same = values;
  roundTo(ElementType::float32, same);
  EXPECT_EQ(same, values);
  roundTo(ElementType::float16, same);
  EXPECT_EQ(same, values) << "ten bits behind the point";
  roundTo(ElementType::bfloat16, same);
  EXPECT_EQ(same.front(), 1.0F) << "seven bits";
  EXPECT_EQ(same[8192], 1.0F);
  EXPECT_EQ(same.back(), values.back());
}

constexpr float kInfinite = std::numeric_limits<float>::infinity(),
                kNan = std::numeric_limits<float>::quiet_NaN();

std::vector<std::byte> tensorOf(std::vector<float> values) {
  std::vector<std::byte> bytes(values.size() * sizeof(float));
  writeFloats(ElementType::float32, values, 0, bytes);
  return bytes;
}

TEST(FiniteCheck, CountsWhereverTheyAre) {
  for (const std::size_t size :
       {std::size_t{1}, std::size_t{2047}, std::size_t{2048}, std::size_t{2049}, std::size_t{5000}}) {
    std::vector<float> values(size, 1.0F);
    EXPECT_EQ(countNotFinite(ElementType::float32, tensorOf(values)), 0) << size;
    values.back() = kNan;
    EXPECT_EQ(countNotFinite(ElementType::float32, tensorOf(values)), 1) << size;
    values.front() = -kInfinite;
    EXPECT_EQ(countNotFinite(ElementType::float32, tensorOf(values)), size == 1 ? 1 : 2) << size;
    EXPECT_EQ(countNotFinite(ElementType::int32, tensorOf(values)), 0) << "whole numbers have none";
  }
}

/// Returns the sentence that refuses a node with these inputs and outputs, or an empty text if nothing
/// refuses it.
std::string toldOf(const char* op, const std::vector<std::vector<float>>& inputs,
                   const std::vector<float>& output) {
  CheckedNode node;
  node.title = std::string(op) + " head";
  node.compares = std::string(op) == "Less";
  node.inputs.assign(inputs.size(), ElementType::float32);
  node.outputs = {ElementType::float32};
  std::vector<std::vector<std::byte>> kept;
  for (const auto& input : inputs) kept.push_back(tensorOf(input));
  const std::vector<std::span<const std::byte>> values(kept.begin(), kept.end());
  const Numbers start = node.start(values);
  std::vector<std::byte> made = tensorOf(output);
  const std::vector<std::span<std::byte>> results = {made};
  const base::Status status = node.check(start, results);
  return status.ok() ? "" : status.error().message;
}

TEST(FiniteCheck, NamesWhatInputsDoNotExplain) {
  EXPECT_EQ(toldOf("Log", {{1, 2}}, {0, 1}), "");
  EXPECT_EQ(toldOf("Log", {{0, 0}}, {-kInfinite, kNan}),
            "Floating-point exception: Log head makes 2 infinite or NaN values from finite inputs.");
  EXPECT_EQ(toldOf("Add", {{1, 2}, {kInfinite, 0}}, {kInfinite, 2}), "") << "infinite from infinite";
  EXPECT_EQ(toldOf("Sub", {{kInfinite, 0}, {kInfinite, 0}}, {kNan, 0}),
            "Floating-point exception: Sub head makes 1 NaN values from infinite inputs.");
  EXPECT_EQ(toldOf("Add", {{kInfinite, 2}, {kNan, 0}}, {kNan, kInfinite}), "") << "NaN explains everything";
  EXPECT_EQ(toldOf("Less", {{kNan, 2}}, {0, 1}), "Floating-point exception: Less head compares with NaN.");
  EXPECT_EQ(toldOf("Less", {{kInfinite, 2}}, {0, 1}), "");
}

}  // namespace
}  // namespace pipescope::numerics
