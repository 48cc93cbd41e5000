// Every operator with arbitrary inputs, values and attributes gives a result or a sentence and never crashes.
// A kernel writes all of its outputs, with the same bits wherever the memory lies.
#include <limits>
#include <random>

#include "engine/ops/standard_operators.h"
#include "op_runner.h"

namespace pipescope::ops_test {
namespace {

using Bytes = std::vector<std::byte>;

constexpr std::int64_t kMostElements = 20'000, kMostScratch = std::int64_t{1} << 22;

/// The numbers of std::mt19937 are the same everywhere; those of the standard's distributions are not.
class Dice {
 public:
  explicit Dice(const std::string& name) {
    std::uint32_t seed = 1;
    for (const char c : name) seed = seed * 31 + static_cast<unsigned char>(c);
    engine_.seed(seed);
  }
  std::size_t below(std::size_t count) { return engine_() % count; }
  bool chance(unsigned percent) { return engine_() % 100 < percent; }
  template <class T>
  T of(std::initializer_list<T> values) {
    return values.begin()[below(values.size())];
  }
  std::uint32_t bits() { return static_cast<std::uint32_t>(engine_()); }

 private:
  std::mt19937 engine_;
};

std::int64_t anyInteger(Dice& dice) {
  return dice.of<std::int64_t>({-100, -3, -2, -1, 0, 0, 1, 1, 1, 2, 2, 3, 4, 7, 100, 1 << 30,
                                std::int64_t{1} << 62, std::numeric_limits<std::int64_t>::max(),
                                std::numeric_limits<std::int64_t>::min()});
}

double anyReal(Dice& dice) {
  return dice.of<double>(
      {-1, 0, 0.5, 0.5, 1, 1, 2, 1e30, -1e30, std::nan(""), std::numeric_limits<double>::infinity()});
}

std::string anyText(Dice& dice) {
  return dice.of<std::string>({"x",
                               "",
                               "sum",
                               "mean",
                               "none",
                               "add",
                               "mul",
                               "max",
                               "constant",
                               "reflect",
                               "edge",
                               "linear",
                               "cubic",
                               "nearest",
                               "bilinear",
                               "bicubic",
                               "SAME_UPPER",
                               "VALID",
                               "NOTSET",
                               "reverse",
                               "bidirectional",
                               "forward",
                               "align_corners",
                               "asymmetric",
                               "tf_crop_and_resize",
                               "DCR",
                               "CRD",
                               "Tanh",
                               "Relu",
                               "ij,jk->ik",
                               "zeros",
                               "border",
                               "reflection",
                               "tanh"});
}

Shape anyShape(Dice& dice) {
  Shape shape(dice.below(5));
  for (std::int64_t& extent : shape) extent = dice.of<std::int64_t>({0, 1, 1, 2, 2, 3, 4, 6});
  return shape;
}

ElementType anyType(Dice& dice) {
  if (dice.chance(50)) return ElementType::float32;
  if (dice.chance(50)) return ElementType::int64;
  return static_cast<ElementType>(dice.below(13));
}

Bytes anyValue(Dice& dice, const graph::TensorType& type) {
  Value value{type.shape, {}, type.element};
  const bool wild = dice.chance(20);
  for (std::int64_t i = 0; i < type.elements(); ++i) {
    double x = static_cast<double>(dice.below(7)) - 2;
    if (type.element == ElementType::float32 && dice.chance(30)) x = wild ? anyReal(dice) : x / 3;
    if (type.element == ElementType::int64 && wild) x = dice.of<double>({-1e6, -5, 1e6, 5});
    const bool isUnsigned = type.element >= ElementType::uint8;
    value.data.push_back(isUnsigned ? std::abs(x) : x);
  }
  return encode(value, type.element);
}

graph::Attribute anyAttribute(Dice& dice, ops::AttributeKind kind) {
  const std::size_t count = dice.below(5);
  if (kind == ops::AttributeKind::integer) return anyInteger(dice);
  if (kind == ops::AttributeKind::real) return anyReal(dice);
  if (kind == ops::AttributeKind::text) return anyText(dice);
  if (kind == ops::AttributeKind::integers) {
    Ints values;
    for (std::size_t i = 0; i < count; ++i)
      values.push_back(dice.chance(70) ? dice.of<std::int64_t>({0, 1, 1, 2, 3}) : anyInteger(dice));
    return values;
  }
  if (kind == ops::AttributeKind::reals) {
    std::vector<double> values;
    for (std::size_t i = 0; i < count; ++i) values.push_back(anyReal(dice));
    return values;
  }
  if (kind == ops::AttributeKind::texts) {
    std::vector<std::string> values;
    for (std::size_t i = 0; i < count; ++i) values.push_back(anyText(dice));
    return values;
  }
  graph::TensorValue value{{anyType(dice), anyShape(dice)}, {}};
  value.bytes = anyValue(dice, value.type);
  return std::make_shared<const graph::TensorValue>(value);
}

struct Trial {
  graph::Graph graph;
  graph::Node node;
  std::vector<Bytes> values;
};

Trial anyTrial(Dice& dice, const ops::OperatorDefinition& definition) {
  Trial trial;
  trial.node.op = definition.type;
  trial.node.name = "node";
  const std::size_t most = std::min<std::size_t>(definition.maxInputs, definition.minInputs + 4);
  const std::size_t count = definition.minInputs + dice.below(most - definition.minInputs + 1);
  const bool alike = dice.chance(50), floats = dice.chance(50);
  const graph::TensorType common{anyType(dice), anyShape(dice)};
  for (std::size_t i = 0; i < count; ++i) {
    trial.values.emplace_back();
    if (i >= definition.minInputs && dice.chance(20)) {
      trial.node.inputs.emplace_back();
      continue;
    }
    graph::TensorType type = alike ? common : graph::TensorType{anyType(dice), anyShape(dice)};
    if (floats && i == 0) type.element = ElementType::float32;
    if (i > 0 && dice.chance(25)) type = {ElementType::int64, {static_cast<std::int64_t>(dice.below(5))}};
    trial.values.back() = anyValue(dice, type);
    const std::string name = "in" + std::to_string(i);
    trial.node.inputs.push_back(dice.chance(70)
                                    ? trial.graph.addConstant(name, type, trial.values.back())
                                    : trial.graph.addTensor(name, type, graph::TensorRole::input));
  }
  for (const ops::AttributeRule& rule : definition.attributes) {
    if (rule.kind != ops::AttributeKind::graph && dice.chance(50))
      trial.node.attributes[rule.name] = anyAttribute(dice, rule.kind);
  }
  return trial;
}

/// Runs the kernel on memory that starts `offset` bytes into a fresh block filled with `fill`.
std::vector<Bytes> run(const ops::Kernel& kernel, const ops::OperatorCall& call,
                       const std::vector<Bytes>& values, std::size_t offset, std::byte fill, bool& done) {
  std::vector<Bytes> inputs, outputs;
  std::vector<std::span<const std::byte>> reads;
  std::vector<std::span<std::byte>> writes;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::size_t size = values[i].size();
    Bytes& block = inputs.emplace_back(size + offset + 1);  // tensors without elements have an address too
    std::ranges::copy(values[i], block.begin() + static_cast<std::ptrdiff_t>(offset));
    reads.push_back(call.has(i) ? std::span<const std::byte>(block).subspan(offset, size)
                                : std::span<const std::byte>());
  }
  for (const graph::TensorType& type : call.outputs) {
    outputs.emplace_back(static_cast<std::size_t>(type.bytes().count) + 1, fill);
    outputs.back().back() = std::byte{0};
  }
  for (Bytes& block : outputs) writes.push_back(std::span(block).first(block.size() - 1));
  Bytes scratch(static_cast<std::size_t>(kernel.scratchBytes) + 64, fill);
  void* start = scratch.data();
  std::size_t room = scratch.size();
  std::align(64, static_cast<std::size_t>(kernel.scratchBytes), start, room);
  const ops::KernelArguments arguments{
      reads, writes, {static_cast<std::byte*>(start), static_cast<std::size_t>(kernel.scratchBytes)}, {}};
  done = kernel.run(arguments).ok();
  return outputs;
}

enum class Outcome { refused, ran, differs };

Outcome tryOut(Trial& trial, const ops::OperatorDefinition& definition, std::size_t outputs) {
  auto types = ops::inferOutputs(trial.graph, trial.node, outputs, ops::standardOperators());
  if (!types.ok()) {
    EXPECT_FALSE(types.error().message.empty());
    return Outcome::refused;
  }
  for (std::size_t i = 0; i < types->size(); ++i) {
    const graph::TensorType& type = (*types)[i];
    std::int64_t elements = 1;
    for (const std::int64_t extent : type.shape) {
      if (extent > kMostElements) return Outcome::refused;
      elements *= extent;
      if (elements > kMostElements) return Outcome::refused;
    }
    trial.node.outputs.push_back(
        trial.graph.addTensor("out" + std::to_string(i), type, graph::TensorRole::activation));
  }
  const ops::OperatorCall call = ops::callOf(trial.graph, trial.node);
  for (const ops::Work& work : definition.work(call)) EXPECT_GE(work.repeat, 0) << definition.type;
  if (!definition.kernel) return Outcome::refused;
  const base::Result<ops::Kernel> kernel = definition.kernel(call);
  if (!kernel.ok() || kernel->scratchBytes > kMostScratch) return Outcome::refused;
  bool done = false, again = false;
  const std::vector<Bytes> first = run(*kernel, call, trial.values, 0, std::byte{0x00}, done);
  const std::vector<Bytes> second = run(*kernel, call, trial.values, 8, std::byte{0xa5}, again);
  if (done != again || (done && first != second)) return Outcome::differs;
  return done ? Outcome::ran : Outcome::refused;
}

TEST(EveryOperator, RefusesOutputsThatItDoesNotMake) {
  ops::OperatorRegistry registry;
  registry.add({.type = "Sparing",
                .minInputs = 0,
                .maxOutputs = 3,
                .infer = [](const ops::OperatorCall&) -> base::Result<std::vector<graph::TensorType>> {
                  return std::vector<graph::TensorType>{{ElementType::float32, {}}};
                },
                .work = [](const ops::OperatorCall&) { return std::vector<ops::Work>(); }});
  graph::Node node;
  node.op = "Sparing";
  node.name = "node";
  EXPECT_TRUE(ops::inferOutputs(graph::Graph(), node, 1, registry).ok());
  const auto refused = ops::inferOutputs(graph::Graph(), node, 3, registry);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().message, "Sparing node has 3 outputs; with its attributes it makes 1");
}

TEST(EveryOperator, TakesAnythingWithoutFailing) {
  std::size_t ran = 0;
  for (const std::string& type : ops::standardOperators().types()) {
    if (type.starts_with("Grad")) continue;  // only gradient functions make these, and they fit
    Dice dice(type);
    const ops::OperatorDefinition& definition = *ops::standardOperators().find(type);
    for (int i = 0; i < 2000; ++i) {
      Trial trial = anyTrial(dice, definition);
      const std::size_t outputs = 1 + dice.below(std::min<std::size_t>(definition.maxOutputs, 4));
      const Outcome outcome = tryOut(trial, definition, outputs);
      ran += outcome == Outcome::ran ? 1 : 0;
      if (outcome != Outcome::differs) continue;
      std::string inputs;
      for (const graph::TensorId id : trial.node.inputs)
        inputs += " " + (id.valid() ? graph::toString(trial.graph.tensor(id).type) : "-");
      ADD_FAILURE() << type << " writes other bits in other memory: trial " << i << " with" << inputs;
      break;
    }
  }
  EXPECT_GT(ran, 20000U);  // otherwise the trials would be too wild to test anything
}

}  // namespace
}  // namespace pipescope::ops_test
