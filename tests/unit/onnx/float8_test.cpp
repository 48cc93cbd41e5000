// Float8 in ONNX files. Debian's onnx does not name the types, so their numbers are written out here.
#include <gmock/gmock.h>

#include "engine/onnx/tensors.h"
#include "model_maker.h"

namespace pipescope::onnx_test {
namespace {

using graph::ElementType;

/// ONNX's FLOAT8E4M3FN, FLOAT8E4M3FNUZ, FLOAT8E5M2 and FLOAT8E5M2FNUZ, and what 0x38 and 0xC0 mean in them.
struct Float8InOnnx {
  int number;
  ElementType type;
  float first, second;
};
const Float8InOnnx kOnnxFloat8[] = {{17, ElementType::float8_143fn, 1.0F, -2.0F},
                                    {18, ElementType::float8_143fnuz, 0.5F, -1.0F},
                                    {19, ElementType::float8_152, 0.5F, -2.0F},
                                    {20, ElementType::float8_152fnuz, 0.25F, -1.0F}};

TEST(OnnxFloat8, InitializersAreCast) {
  for (const Float8InOnnx& row : kOnnxFloat8) {
    const auto model = makeModel(17, [&](GraphMaker& g) {
      g.input("x", Proto::FLOAT, {2}).output("z");
      Proto* weight = g->add_initializer();
      weight->set_name("w");
      weight->set_data_type(row.number);
      weight->add_dims(2);
      weight->add_int32_data(0x38);
      weight->add_int32_data(0xC0);
      setInt(g.node("Cast", {"w"}, {"wide"}), "to", Proto::FLOAT);
      g.node("Add", {"x", "wide"}, {"z"});
    });
    const auto outputs = interpret(model, {floatTensor({2}, {10, 20})});
    ASSERT_TRUE(outputs.ok()) << outputs.error().message;
    EXPECT_THAT(valuesOf<float>(outputs->at(0)), ::testing::ElementsAre(10 + row.first, 20 + row.second))
        << toString(row.type);
  }
}

TEST(OnnxFloat8, TensorsAreWrittenAndReadAgain) {
  const std::vector<std::byte> bytes{std::byte{0x38}, std::byte{0xC0}, std::byte{0x80}};
  for (const Float8InOnnx& row : kOnnxFloat8) {
    Proto proto;
    onnx::writeTensor(proto, {row.type, {3}}, bytes);
    EXPECT_EQ(proto.data_type(), row.number);
    const auto read = onnx::readTensor(proto, {}, "tensor w");
    ASSERT_TRUE(read.ok()) << read.error().message;
    EXPECT_EQ(read->type.element, row.type);
    EXPECT_EQ(read->bytes, bytes);
    EXPECT_EQ(onnx::nameOfDataType(row.number), toString(row.type));
  }
}

}  // namespace
}  // namespace pipescope::onnx_test
