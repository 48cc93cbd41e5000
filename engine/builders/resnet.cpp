// Residual networks (He, Zhang, Ren, Sun: "Deep residual learning for image recognition", CVPR 2016) and
// ResNeXt (Xie et al., CVPR 2017) as torchvision implements them: the 3×3 convolution of a bottleneck has the
// stride.
#include <fmt/format.h>

#include <array>
#include <cmath>
#include <span>

#include "engine/builders/model_writer.h"

namespace pipescope::builders {
namespace {

using graph::Initializer;
using Ints = std::vector<std::int64_t>;

struct Depth {
  std::int64_t depth;
  bool bottleneck;
  std::array<std::int64_t, 4> blocks;
};
constexpr Depth kDepths[] = {{18, false, {2, 2, 2, 2}},
                             {34, false, {3, 4, 6, 3}},
                             {50, true, {3, 4, 6, 3}},
                             {101, true, {3, 4, 23, 3}},
                             {152, true, {3, 8, 36, 3}}};

class ResNet {
 public:
  ResNet(ModelWriter& writer, const Depth& depth)
      : w_(writer),
        depth_(depth),
        groups_(writer.settings().integer("groups")),
        widthPerGroup_(writer.settings().integer("width_per_group")) {}

  void build() {
    const BuilderSettings& s = w_.settings();
    TensorId x = stem(s.text("stem") == "cifar");
    for (std::size_t stage = 0; stage < depth_.blocks.size(); ++stage) {
      for (std::int64_t block = 0; block < depth_.blocks[stage]; ++block) {
        const std::string name = fmt::format("layer{}/block{}", stage + 1, block);
        w_.block(name);
        const ModelWriter::Scope scope(w_, name);
        x = residual(x, std::int64_t{64} << stage, block == 0 && stage > 0 ? 2 : 1);
      }
    }
    head(x, s.integer("classes"));
  }

 private:
  /// The images, normalized on the device if the host sends their bytes.
  TensorId images() {
    const BuilderSettings& s = w_.settings();
    const std::int64_t edge = s.integer("image_size"), channels = s.integer("channels");
    const bool bytes = s.text("samples_type") == "uint8";
    TensorId x = w_.input("samples", {bytes ? graph::ElementType::uint8 : graph::ElementType::float32,
                                      {w_.microBatch(), channels, edge, edge}});
    if (!bytes) return x;
    // Mean and deviation of ImageNet's channels, as torchvision has them.
    constexpr std::array kMean{0.485F, 0.456F, 0.406F}, kDeviation{0.229F, 0.224F, 0.225F};
    std::vector<float> scale, shift;
    for (std::size_t c = 0; c < static_cast<std::size_t>(channels); ++c) {
      const float mean = channels == 3 ? kMean[c % 3] : 0.5F,
                  deviation = channels == 3 ? kDeviation[c % 3] : 0.5F;
      scale.push_back(1 / (255 * deviation));
      shift.push_back(-mean / deviation);
    }
    const auto perChannel = [&](const char* name, const std::vector<float>& values) {
      const auto raw = std::as_bytes(std::span(values));
      return w_.constant(name, {graph::ElementType::float32, {channels, 1, 1}}, {raw.begin(), raw.end()});
    };
    x = w_.node("Cast", "normalize/cast", {x}, {{"to", std::int64_t{1}}});  // ONNX's number of float32
    x = w_.node("Mul", "normalize/scale", {x, perChannel("normalize/factors", scale)});
    return w_.node("Add", "normalize/shift", {x, perChannel("normalize/offsets", shift)});
  }

  TensorId stem(bool small) {
    w_.block("stem");
    const ModelWriter::Scope scope(w_, "stem");
    TensorId x = images();
    x = relu("relu", norm("norm", small ? conv("conv", x, 64, 3, 1, 1) : conv("conv", x, 64, 7, 2, 1)));
    if (small) return x;
    return w_.node("MaxPool", "pool", {x},
                   {{"kernel_shape", Ints{3, 3}}, {"strides", Ints{2, 2}}, {"pads", Ints(4, 1)}});
  }

  TensorId residual(TensorId x, std::int64_t width, std::int64_t stride) {
    const std::int64_t outputs = depth_.bottleneck ? 4 * width : width;
    TensorId y = x;
    if (depth_.bottleneck) {
      const std::int64_t inner = width * widthPerGroup_ / 64 * groups_;
      y = relu("relu1", norm("norm1", conv("conv1", y, inner, 1, 1, 1)));
      y = relu("relu2", norm("norm2", conv("conv2", y, inner, 3, stride, groups_)));
      y = norm("norm3", conv("conv3", y, outputs, 1, 1, 1));
    } else {
      y = relu("relu1", norm("norm1", conv("conv1", y, width, 3, stride, 1)));
      y = norm("norm2", conv("conv2", y, width, 3, 1, 1));
    }
    if (stride != 1 || w_.shapeOf(x).at(1 % w_.shapeOf(x).size()) != outputs)
      x = norm("shortcut/norm", conv("shortcut/conv", x, outputs, 1, stride, 1));
    return relu("relu", w_.node("Add", "add", {y, x}));
  }

  void head(TensorId x, std::int64_t classes) {
    w_.block("head");
    const ModelWriter::Scope scope(w_, "head");
    x = w_.node("GlobalAveragePool", "pool", {x});
    x = w_.node("Flatten", "flatten", {x}, {{"axis", std::int64_t{1}}});
    const double bound = 1 / std::sqrt(static_cast<double>(w_.shapeOf(x).back()));
    x = w_.linear(
        "linear", x,
        {.outputs = classes, .initializer = {Initializer::Kind::uniform, bound, {}}, .uniformBias = bound});
    w_.output(x);
    if (w_.training()) w_.crossEntropy(x, {w_.microBatch()});
  }

  TensorId relu(const std::string& name, TensorId x) { return w_.node("Relu", name, {x}); }

  TensorId conv(const std::string& name, TensorId x, std::int64_t filters, std::int64_t kernel,
                std::int64_t stride, std::int64_t groups) {
    const Shape shape = w_.shapeOf(x);
    const std::int64_t channels = shape.size() > 1 ? shape[1] : 1;
    // The deviation of He et al., "Delving deep into rectifiers", for the fan-out, as in torchvision.
    const double deviation = std::sqrt(2.0 / static_cast<double>(filters / groups * kernel * kernel));
    const TensorId weight = w_.parameter(name + "/weight", {filters, channels / groups, kernel, kernel},
                                         {Initializer::Kind::normal, deviation, {}});
    return w_.node("Conv", name, {x, weight},
                   {{"kernel_shape", Ints{kernel, kernel}},
                    {"strides", Ints{stride, stride}},
                    {"pads", Ints(4, kernel / 2)},
                    {"group", groups}});
  }

  TensorId norm(const std::string& name, TensorId x) {
    constexpr double kKeep = 0.9, kEpsilon = 1e-5;
    const Shape shape = w_.shapeOf(x);
    const std::int64_t channels = shape.size() > 1 ? shape[1] : 1;
    const Initializer ones{Initializer::Kind::ones, 0, {}};
    const TensorId mean = w_.parameter(name + "/running_mean", {channels}, {}),
                   variance = w_.parameter(name + "/running_variance", {channels}, ones);
    const std::vector<TensorId> inputs{x, w_.parameter(name + "/weight", {channels}, ones),
                                       w_.parameter(name + "/bias", {channels}, {}), mean, variance};
    const auto y = w_.nodes(
        "BatchNormalization", name, inputs,
        {{"epsilon", kEpsilon}, {"momentum", kKeep}, {"training_mode", std::int64_t{w_.training() ? 1 : 0}}},
        w_.training() ? 3 : 1);
    if (w_.training() && y[0].valid()) {
      const auto count = static_cast<double>(graph::elementCount(shape) / channels);
      w_.moves({.parameter = mean, .result = y[1], .keep = kKeep});
      w_.moves({.parameter = variance,
                .result = y[2],
                .keep = kKeep,
                .scale = count > 1 ? count / (count - 1) : 1});
    }
    return y[0];
  }

  ModelWriter& w_;
  const Depth& depth_;
  std::int64_t groups_, widthPerGroup_;
};

base::Result<graph::Graph> buildResnet(const BuildContext& context) {
  const std::int64_t asked = context.settings.integer("depth");
  for (const Depth& depth : kDepths) {
    if (depth.depth != asked) continue;
    const std::int64_t groups = context.settings.integer("groups");
    if (!depth.bottleneck && (groups != 1 || context.settings.integer("width_per_group") != 64)) {
      return base::badInput(fmt::format(
          "model.groups and model.width_per_group need bottleneck blocks: depth 50, 101 or 152, not {}",
          asked));
    }
    ModelWriter writer(context);
    ResNet(writer, depth).build();
    return writer.finish();
  }
  return base::badInput(fmt::format("model.depth is {}; it must be one of 18, 34, 50, 101, 152", asked));
}

}  // namespace

PIPESCOPE_REGISTER_BUILDER(resnet) {
  registry.add(
      {"resnet",
       "residual network for images",
       {{"depth", std::int64_t{50}, 1, 1000, {}, "Layers: 18, 34, 50, 101 or 152."},
        {"groups",
         std::int64_t{1},
         1,
         1024,
         {},
         "Groups of the 3x3 convolutions of bottlenecks; ResNeXt has 32."},
        {"width_per_group", std::int64_t{64}, 1, 4096, {}, "Channels per group of the first stage."},
        {"stem",
         std::string("imagenet"),
         0,
         0,
         {"imagenet", "cifar"},
         "First layers: imagenet (7x7 with stride 2, and pooling) or cifar (3x3)."},
        {"image_size", std::int64_t{224}, 1, 16384, {}, "Edge of the square images."},
        {"channels", std::int64_t{3}, 1, 4096, {}, "Channels of the images."},
        {"classes", std::int64_t{1000}, 1, 1e7, {}, "Classes."},
        {"samples_type",
         std::string("float32"),
         0,
         0,
         {"float32", "uint8"},
         "Type of the images. uint8: the host sends the bytes of the pixels, and the model divides them by "
         "255 and normalizes them with the mean and deviation of ImageNet's channels (with another number "
         "of channels than three, 0.5 and 0.5)."}},
       buildResnet});
}

}  // namespace pipescope::builders
