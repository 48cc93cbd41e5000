// RNN, GRU and LSTM, compared with loops of ONNX's equations, and their gradients.
#include <gmock/gmock.h>

#include <algorithm>

#include "engine/ops/standard_operators.h"
#include "index_oracle.h"

namespace pipescope::ops_test {
namespace {

using testing::HasSubstr;
using Function = std::function<double(double)>;

constexpr std::int64_t kTime = 4, kBatch = 3, kInput = 2, kHidden = 3;

struct Case {
  std::string name, op;
  std::string direction = "forward";
  bool batchFirst = false, bias = true, lengths = false, initial = true, peephole = false;
  bool linearBeforeReset = false, coupled = false;
  double clip = 0;
  std::vector<std::string> activations = {};

  std::int64_t gates() const { return op == "LSTM" ? 4 : (op == "GRU" ? 3 : 1); }
  std::int64_t directions() const { return direction == "bidirectional" ? 2 : 1; }
  std::size_t outputs() const { return op == "LSTM" ? 3 : 2; }

  Attributes attributes() const {
    Attributes all{{"direction", direction}, {"hidden_size", kHidden}, {"layout", std::int64_t{batchFirst}}};
    if (linearBeforeReset) all["linear_before_reset"] = std::int64_t{1};
    if (coupled) all["input_forget"] = std::int64_t{1};
    if (clip > 0) all["clip"] = clip;
    if (!activations.empty()) all["activations"] = activations;
    return all;
  }
  std::vector<Value> inputs() const {
    const std::int64_t d = directions(), width = gates() * kHidden;
    const Shape state = batchFirst ? Shape{kBatch, d, kHidden} : Shape{d, kBatch, kHidden};
    std::vector<Value> all{noise(batchFirst ? Shape{kBatch, kTime, kInput} : Shape{kTime, kBatch, kInput}, 1),
                           noise({d, width, kInput}, 2), noise({d, width, kHidden}, 3)};
    all.push_back(bias ? noise({d, 2 * width}, 4) : absent());
    all.push_back(lengths ? labels({kBatch}, {2, 0, 4}, ElementType::int32) : absent());
    all.push_back(initial ? noise(state, 5) : absent());
    if (op == "LSTM") {
      all.push_back(initial ? noise(state, 6) : absent());
      all.push_back(peephole ? noise({d, 3 * kHidden}, 7) : absent());
    }
    return all;
  }

  friend void PrintTo(const Case& one, std::ostream* out) { *out << one.name; }
};

double sigmoid(double x) {
  return 1 / (1 + std::exp(-x));
}

Function named(const std::string& name) {
  if (name == "Tanh") return [](double x) { return std::tanh(x); };
  if (name == "Sigmoid") return sigmoid;
  if (name == "Relu") return [](double x) { return std::max(x, 0.0); };
  if (name == "Elu") return [](double x) { return x < 0 ? std::exp(x) - 1 : x; };
  if (name == "HardSigmoid") return [](double x) { return std::clamp(0.2 * x + 0.5, 0.0, 1.0); };
  if (name == "LeakyRelu") return [](double x) { return x < 0 ? 0.01 * x : x; };
  if (name == "Softsign") return [](double x) { return x / (1 + std::abs(x)); };
  return [](double x) { return std::log1p(std::exp(x)); };  // Softplus
}

/// Computes one direction of one sequence at a time, as the equations are printed.
struct Oracle {
  const Case& c;
  std::vector<Value> in = c.inputs();
  std::vector<Value> out;

  double state(std::size_t input, std::int64_t d, std::int64_t b, std::int64_t i) const {
    if (in[input].data.empty()) return 0;
    return at(in[input], c.batchFirst ? Ints{b, d, i} : Ints{d, b, i});
  }
  double bias(std::int64_t d, std::int64_t row) const { return in[3].data.empty() ? 0 : at(in[3], {d, row}); }
  double peep(std::int64_t d, std::int64_t gate, std::int64_t i) const {
    return in.size() < 8 || in[7].data.empty() ? 0 : at(in[7], {d, gate * kHidden + i});
  }
  double clipped(double x) const { return c.clip > 0 ? std::clamp(x, -c.clip, c.clip) : x; }
  double fromInput(std::int64_t d, std::int64_t t, std::int64_t b, std::int64_t row) const {
    double sum = bias(d, row);
    for (std::int64_t k = 0; k < kInput; ++k)
      sum += at(in[0], c.batchFirst ? Ints{b, t, k} : Ints{t, b, k}) * at(in[1], {d, row, k});
    return sum;
  }
  double fromState(std::int64_t d, const std::vector<double>& h, std::int64_t row) const {
    double sum = bias(d, c.gates() * kHidden + row);
    for (std::int64_t k = 0; k < kHidden; ++k) sum += h[static_cast<std::size_t>(k)] * at(in[2], {d, row, k});
    return sum;
  }

  void step(std::int64_t d, std::int64_t t, std::int64_t b, std::vector<double>& h, std::vector<double>& cell,
            const std::vector<Function>& f) const {
    const std::vector<double> before = h;
    const auto gate = [&](std::int64_t g, std::int64_t i) {
      return fromInput(d, t, b, g * kHidden + i) + fromState(d, before, g * kHidden + i);
    };
    for (std::int64_t i = 0; i < kHidden; ++i) {
      const auto n = static_cast<std::size_t>(i);
      if (c.op == "RNN") h[n] = f[0](clipped(gate(0, i)));
      if (c.op == "LSTM") {
        const double input = f[0](clipped(gate(0, i) + peep(d, 0, i) * cell[n]));
        const double forget = c.coupled ? 1 - input : f[0](clipped(gate(2, i) + peep(d, 2, i) * cell[n]));
        cell[n] = forget * cell[n] + input * f[1](clipped(gate(3, i)));
        h[n] = f[0](clipped(gate(1, i) + peep(d, 1, i) * cell[n])) * f[2](clipped(cell[n]));
      }
      if (c.op == "GRU") {
        const double z = f[0](clipped(gate(0, i)));
        std::vector<double> reset(before.size());
        for (std::int64_t k = 0; k < kHidden; ++k)
          reset[static_cast<std::size_t>(k)] =
              f[0](clipped(gate(1, k))) * before[static_cast<std::size_t>(k)];
        const double r = f[0](clipped(gate(1, i)));
        const double input = fromInput(d, t, b, 2 * kHidden + i);
        const double candidate = c.linearBeforeReset ? input + r * fromState(d, before, 2 * kHidden + i)
                                                     : input + fromState(d, reset, 2 * kHidden + i);
        h[n] = (1 - z) * f[1](clipped(candidate)) + z * before[n];
      }
    }
  }

  void run() {
    const std::int64_t directions = c.directions();
    const Shape states =
        c.batchFirst ? Shape{kBatch, directions, kHidden} : Shape{directions, kBatch, kHidden};
    out = {noise(c.batchFirst ? Shape{kBatch, kTime, directions, kHidden}
                              : Shape{kTime, directions, kBatch, kHidden},
                 0),
           noise(states, 0), noise(states, 0)};
    std::ranges::fill(out[0].data, 0);
    for (std::int64_t d = 0; d < directions; ++d) {
      const std::vector<std::string> defaults =
          c.op == "LSTM" ? std::vector<std::string>{"Sigmoid", "Tanh", "Tanh"}
                         : (c.op == "GRU" ? std::vector<std::string>{"Sigmoid", "Tanh"}
                                          : std::vector<std::string>{"Tanh"});
      std::vector<Function> f;
      for (std::size_t i = 0; i < defaults.size(); ++i)
        f.push_back(named(c.activations.empty()
                              ? defaults[i]
                              : c.activations[static_cast<std::size_t>(d) * defaults.size() + i]));
      for (std::int64_t b = 0; b < kBatch; ++b) {
        std::vector<double> h, cell;
        for (std::int64_t i = 0; i < kHidden; ++i) {
          h.push_back(state(5, d, b, i));
          cell.push_back(c.op == "LSTM" ? state(6, d, b, i) : 0);
        }
        const std::int64_t length =
            c.lengths ? static_cast<std::int64_t>(in[4].data[static_cast<std::size_t>(b)]) : kTime;
        for (std::int64_t s = 0; s < length; ++s) {
          const std::int64_t t = c.direction == "reverse" || d == 1 ? length - 1 - s : s;
          step(d, t, b, h, cell, f);
          for (std::int64_t i = 0; i < kHidden; ++i)
            out[0].data[flatOf(out[0].shape, c.batchFirst ? Ints{b, t, d, i} : Ints{t, d, b, i})] =
                h[static_cast<std::size_t>(i)];
        }
        for (std::int64_t i = 0; i < kHidden; ++i) {
          const std::size_t place = flatOf(states, c.batchFirst ? Ints{b, d, i} : Ints{d, b, i});
          out[1].data[place] = h[static_cast<std::size_t>(i)];
          out[2].data[place] = cell[static_cast<std::size_t>(i)];
        }
      }
    }
  }
};

class Recurrent : public ::testing::TestWithParam<Case> {};

TEST_P(Recurrent, FollowsTheEquations) {
  Oracle oracle{GetParam()};
  oracle.run();
  for (const ElementType real : {ElementType::float64, ElementType::float32}) {
    const auto y = compute(GetParam().op, oracle.in, GetParam().attributes(), GetParam().outputs(), real);
    ASSERT_TRUE(y.ok()) << y.error().message;
    for (std::size_t i = 0; i < GetParam().outputs(); ++i) {
      EXPECT_EQ((*y)[i].shape, oracle.out[i].shape);
      expectNear((*y)[i], oracle.out[i].data, real == ElementType::float64 ? 1e-13 : 1e-5);
    }
  }
}

TEST_P(Recurrent, HasTheGradientsOfItsDifferences) {
  const Case& c = GetParam();
  for (std::size_t output = 0; output < c.outputs(); ++output)
    GradientCheck(c.op, c.inputs(), c.attributes(), c.outputs(), output).run(2e-7);
}

INSTANTIATE_TEST_SUITE_P(
    Configurations, Recurrent,
    testing::Values(
        Case{"rnn", "RNN"}, Case{"rnn_reverse_lengths", "RNN", "reverse", false, true, true},
        Case{"rnn_both_batch_first", "RNN", "bidirectional", true, false, true, false},
        Case{.name = "rnn_activations",
             .op = "RNN",
             .direction = "bidirectional",
             .activations = {"Elu", "Softplus"}},
        Case{.name = "rnn_clip", .op = "RNN", .clip = 0.3}, Case{"gru", "GRU"},
        Case{"gru_both_lengths", "GRU", "bidirectional", false, true, true},
        Case{"gru_reverse_batch_first", "GRU", "reverse", true, false, false, false},
        Case{.name = "gru_linear", .op = "GRU", .linearBeforeReset = true},
        Case{.name = "gru_linear_both",
             .op = "GRU",
             .direction = "bidirectional",
             .lengths = true,
             .linearBeforeReset = true},
        Case{.name = "gru_linear_no_bias", .op = "GRU", .bias = false, .linearBeforeReset = true},
        Case{.name = "gru_activations", .op = "GRU", .activations = {"HardSigmoid", "Softsign"}},
        Case{.name = "gru_clip", .op = "GRU", .clip = 0.4},
        Case{.name = "gru_linear_clip", .op = "GRU", .lengths = true, .linearBeforeReset = true, .clip = 0.3},
        Case{.name = "lstm_coupled_clip",
             .op = "LSTM",
             .direction = "bidirectional",
             .lengths = true,
             .peephole = true,
             .coupled = true,
             .clip = 0.25},
        Case{"lstm", "LSTM"}, Case{"lstm_no_bias", "LSTM", "forward", false, false, false, false},
        Case{"lstm_reverse_lengths", "LSTM", "reverse", false, true, true},
        Case{"lstm_both_batch_first", "LSTM", "bidirectional", true, true, true},
        Case{.name = "lstm_peephole", .op = "LSTM", .lengths = true, .peephole = true},
        Case{.name = "lstm_peephole_both", .op = "LSTM", .direction = "bidirectional", .peephole = true},
        Case{.name = "lstm_activations",
             .op = "LSTM",
             .activations = {"HardSigmoid", "LeakyRelu", "Softsign"}},
        Case{.name = "lstm_clip", .op = "LSTM", .peephole = true, .clip = 0.3},
        Case{.name = "lstm_coupled", .op = "LSTM", .peephole = true, .coupled = true}),
    [](const auto& each) { return each.param.name; });

/// The sentence that refuses the case with these changes.
std::string refused(Case c, const std::function<void(std::vector<Value>&, Attributes&)>& change) {
  std::vector<Value> inputs = c.inputs();
  Attributes attributes = c.attributes();
  change(inputs, attributes);
  return refusal(c.op, inputs, attributes);
}

TEST(RecurrentSentences, NameWhatDoesNotFit) {
  const Case lstm{"", "LSTM"};
  EXPECT_THAT(refused(lstm, [](auto&, auto& a) { a["direction"] = std::string("up"); }),
              HasSubstr("direction is up"));
  EXPECT_THAT(refused(lstm, [](auto&, auto& a) { a["layout"] = std::int64_t{2}; }), HasSubstr("layout is 2"));
  EXPECT_THAT(refused(lstm, [](auto&, auto& a) { a["clip"] = -1.0; }), HasSubstr("clip is -1"));
  EXPECT_THAT(refused(lstm, [](auto&, auto& a) { a["hidden_size"] = std::int64_t{9}; }),
              HasSubstr("hidden_size is 9, but R is 1x12x3"));
  EXPECT_THAT(refused(lstm, [](auto&, auto& a) { a["activations"] = std::vector<std::string>{"Tanh"}; }),
              HasSubstr("activations has 1 names; it needs 3"));
  EXPECT_THAT(refused(lstm,
                      [](auto&, auto& a) {
                        a["activations"] = std::vector<std::string>{"Tanh", "Sin", "Tanh"};
                      }),
              HasSubstr("activation Sin is not known; known are Affine, Elu"));
  EXPECT_THAT(refused(lstm,
                      [](auto&, auto& a) {
                        a["activations"] = std::vector<std::string>{"Affine", "Tanh", "Tanh"};
                      }),
              HasSubstr("activation Affine needs its numbers"));
  EXPECT_THAT(refused(lstm,
                      [](auto& in, auto&) {
                        in[1] = noise({1, 12, 5}, 1);
                      }),
              HasSubstr("W (input 1) is 1x12x5 float64; it must be 1x12x2 float64"));
  EXPECT_THAT(refused(lstm,
                      [](auto& in, auto&) {
                        in[0] = noise({4, 2}, 1);
                      }),
              HasSubstr("both must have 3 axes"));
  for (const std::string op : {"RNN", "GRU", "LSTM"}) {
    EXPECT_THAT(refused(Case{"", op},
                        [](auto& in, auto&) {
                          in[4] = labels({3}, {1, 5, 2}, ElementType::int32);
                        }),
                HasSubstr("sequence 1 is said to be 5 long; X has 4 steps"));
  }
  const Value dy = noise({4, 1, 3, 2}, 1);
  EXPECT_THAT(refused(lstm, [](auto&, auto&) {}), testing::IsEmpty());
  std::vector<Value> inputs = lstm.inputs();
  inputs.push_back(dy);
  EXPECT_THAT(refusal("GradLSTM", inputs, lstm.attributes(), 6),
              HasSubstr("the gradient by output 0 is 4x1x3x2 float64, but the output is 4x1x3x3 float64"));
}

/// The sentence that says why a case cannot be trained.
std::string untrainable(const Case& c, const Attributes& extra) {
  Attributes attributes = c.attributes();
  for (const auto& [name, value] : extra) attributes[name] = value;
  auto one = oneNode(c.op, c.inputs(), attributes, 1, ElementType::float64, graph::TensorRole::parameter);
  PIPESCOPE_CHECK(one.ok(), one.error().message);
  graph::Node sum;
  sum.op = "ReduceSum";
  sum.name = "sum";
  sum.inputs = {one->graph.outputs[0]};
  sum.attributes = {{"keepdims", std::int64_t{0}}};
  const auto loss =
      ops::appendNode(one->graph, sum, {"loss"}, graph::TensorRole::activation, ops::standardOperators());
  PIPESCOPE_CHECK(loss.ok(), loss.error().message);
  one->graph.loss = (*loss)[0];
  const auto result = compile::addGradients(one->graph, ops::standardOperators());
  return result.ok() ? "" : result.error().message;
}

TEST(RecurrentSentences, NameWhatCannotBeTrained) {
  EXPECT_THAT(untrainable({"", "RNN"}, {{"activations", std::vector<std::string>{"Elu"}},
                                        {"activation_alpha", std::vector<double>{-1}}}),
              HasSubstr("cannot train with an activation_alpha of -1"));
  EXPECT_EQ(untrainable({"", "GRU"}, {}), "");
}

}  // namespace
}  // namespace pipescope::ops_test
