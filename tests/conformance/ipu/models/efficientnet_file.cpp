#include "efficientnet_file.h"

#include <string>

#include "onnx_model_writer.h"

namespace pipescope::conformance {
namespace {

struct Blocks {
  std::int64_t count, kernel, stride, expansion, channels;
  bool depthwise;
};

/// The published blocks with a width of 1.2 and a depth of 1.4.
constexpr Blocks kBlocks[] = {{2, 3, 1, 4, 32, false}, {3, 3, 2, 8, 40, false}, {6, 3, 2, 8, 56, false},
                              {7, 5, 2, 8, 112, true}, {6, 5, 1, 8, 176, true}, {3, 5, 2, 8, 232, true}};
constexpr std::int64_t kImage = 224, kStem = 32, kHead = 1280, kClasses = 1001;

class EfficientNetWriter : private OnnxModelWriter {
 public:
  explicit EfficientNetWriter(std::int64_t batch)
      : OnnxModelWriter("efficientnet_edgetpu_l"), batch_(batch) {}

  std::filesystem::path write(const std::filesystem::path& folder) {
    addInput("input", Proto::FLOAT, {batch_, 3, kImage, kImage});
    std::string x = relu("stem", convolution("stem", "input", 3, kStem, 3, 2));
    std::int64_t channels = kStem, index = 0;
    for (const Blocks& blocks : kBlocks) {
      for (std::int64_t i = 0; i < blocks.count; ++i) {
        x = block("blocks_" + std::to_string(index++), x, channels, blocks, i == 0 ? blocks.stride : 1);
        channels = blocks.channels;
      }
    }
    x = relu("head", convolution("head", x, channels, kHead, 1, 1));
    x = node("GlobalAveragePool", "pool", {x});
    x = node("Flatten", "flatten", {x});
    x = node("MatMul", "dense/MatMul", {x, weight("dense/kernel", {kHead, kClasses})});
    x = node("Add", "dense/BiasAdd", {x, weight("dense/bias", {kClasses})});
    addOutput(x, Proto::FLOAT, {batch_, kClasses});
    return OnnxModelWriter::write(folder);
  }

 private:
  /// A convolution with TensorFlow's padding "SAME", which puts the odd zero behind, and a bias.
  std::string convolution(const std::string& at, const std::string& x, std::int64_t inputs,
                          std::int64_t outputs, std::int64_t kernel, std::int64_t stride,
                          std::int64_t groups = 1) {
    const std::int64_t zeros = kernel - stride, before = zeros > 0 ? zeros / 2 : 0,
                       behind = zeros > 0 ? zeros - before : 0;
    const std::string product =
        node("Conv", at + "/conv", {x, weight(at + "/kernel", {outputs, inputs / groups, kernel, kernel})},
             {{"kernel_shape", {kernel, kernel}},
              {"strides", {stride, stride}},
              {"pads", {before, before, behind, behind}}});
    setInteger("group", groups);
    return node("Add", at + "/add_1", {product, weight(at + "/bias", {1, outputs, 1, 1})});
  }
  std::string relu(const std::string& at, const std::string& x) { return node("Relu", at + "/Relu", {x}); }

  std::string block(const std::string& at, const std::string& input, std::int64_t channels,
                    const Blocks& blocks, std::int64_t stride) {
    const std::int64_t wide = channels * blocks.expansion;
    std::string x;
    if (blocks.depthwise) {
      x = relu(at + "/expand", convolution(at + "/expand", input, channels, wide, 1, 1));
      x = relu(at + "/depthwise", convolution(at + "/depthwise", x, wide, wide, blocks.kernel, stride, wide));
      x = convolution(at + "/project", x, wide, blocks.channels, 1, 1);
    } else {
      // Fused blocks take their stride in the second convolution.
      x = relu(at + "/expand", convolution(at + "/expand", input, channels, wide, blocks.kernel, 1));
      x = convolution(at + "/project", x, wide, blocks.channels, 1, stride);
    }
    return stride == 1 && channels == blocks.channels ? node("Add", at + "/Add", {x, input}) : x;
  }

  std::int64_t batch_;
};

}  // namespace

std::filesystem::path writeEfficientNetEdgeL(std::int64_t batch, const std::filesystem::path& folder) {
  return EfficientNetWriter(batch).write(folder);
}

}  // namespace pipescope::conformance
