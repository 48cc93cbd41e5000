#include "engine/numerics/parameters.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <numbers>

#include "engine/numerics/values.h"
#include "engine/ops/core/random.h"

namespace pipescope::numerics {

using base::badInput;
using base::Status;

Parameters::Parameters(const graph::Graph& graph) {
  std::int64_t bytes = 0;
  for (const graph::Tensor& tensor : graph.tensors()) {
    if (tensor.role != graph::TensorRole::parameter) continue;
    entries_.push_back({tensor.name, tensor.type, bytes});
    bytes += alignedBytes(tensor.type.bytes().count);
  }
  memory_ = AlignedBuffer(bytes);
}

Parameters::Parameters(const Parameters& other)
    : entries_(other.entries_), memory_(static_cast<std::int64_t>(other.memory_.bytes().size())) {
  std::ranges::copy(other.memory_.bytes(), memory_.bytes().begin());
}

Parameters& Parameters::operator=(const Parameters& other) {
  if (this != &other) *this = Parameters(other);
  return *this;
}

namespace {

/// Draws values first … first + values.size() − 1 of the normal distribution from pairs of words (Box and
/// Muller: "A note on the generation of random normal deviates", 1958).
void drawNormal(const ops::RandomSequence& random, double deviation, std::size_t first,
                std::span<float> values) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::uint64_t pair = (first + i) / 2;
    const std::array<std::uint32_t, 4> words = random.block(pair / 2);
    const double u = (static_cast<double>(words[pair % 2 * 2]) + 0.5) * 0x1p-32,
                 v = (static_cast<double>(words[pair % 2 * 2 + 1]) + 0.5) * 0x1p-32;
    const double radius = deviation * std::sqrt(-2 * std::log(u)), angle = 2 * std::numbers::pi * v;
    values[i] = static_cast<float>(radius * ((first + i) % 2 == 0 ? std::cos(angle) : std::sin(angle)));
  }
}

/// Draws in pieces, so that half-precision weights need no float32 copy of the whole tensor.
void draw(const graph::Initializer& initializer, const graph::Tensor& tensor,
          const ops::RunIdentity& identity, std::span<std::byte> bytes) {
  using Kind = graph::Initializer::Kind;
  const ops::RandomSequence random(identity, tensor.name);
  std::array<float, 4096> piece;
  const auto elements = static_cast<std::size_t>(tensor.type.elements());
  for (std::size_t first = 0; first < elements; first += piece.size()) {
    const auto values = std::span(piece).first(std::min(piece.size(), elements - first));
    if (initializer.kind == Kind::uniform) {
      random.uniform(values, static_cast<float>(initializer.bound), first);
    } else if (initializer.kind == Kind::normal) {
      drawNormal(random, initializer.bound, first, values);
    } else {
      std::ranges::fill(values, initializer.kind == Kind::ones ? 1.0F : 0.0F);
    }
    writeFloats(tensor.type.element, values, first, bytes);
  }
}

}  // namespace

Status Parameters::initialize(const graph::Graph& graph, std::uint64_t seed) {
  using Kind = graph::Initializer::Kind;
  for (const graph::Tensor& tensor : graph.tensors()) {
    if (tensor.role != graph::TensorRole::parameter) continue;
    if (const graph::Initializer& given = graph.initializer(tensor.id); given.kind == Kind::values) {
      PIPESCOPE_CHECK(given.values && given.values->type == tensor.type, tensor.name);
      std::ranges::copy(given.values->bytes, bytes(find(tensor.name)).begin());
      continue;
    }
    if (!isTrainable(tensor.type.element)) {
      return badInput(
          fmt::format("weight {} is {}; only float32, float16 and bfloat16 weights can be initialised",
                      tensor.name, graph::toString(tensor.type)));
    }
    const std::size_t index = find(tensor.name);
    PIPESCOPE_CHECK(index < count(), tensor.name);
    const graph::Initializer& initializer = graph.initializer(tensor.id);
    draw(initializer, tensor, {.seed = seed}, bytes(index));
  }
  return {};
}

Status Parameters::assignFrom(const Parameters& other) {
  for (std::size_t i = 0; i < count(); ++i) {
    const std::size_t from = other.find(name(i));
    if (from == other.count()) return badInput(fmt::format("there is no weight {} to take over", name(i)));
    if (other.type(from) != type(i)) {
      return badInput(fmt::format("weight {} is {}, but {} is needed", name(i),
                                  graph::toString(other.type(from)), graph::toString(type(i))));
    }
  }
  for (std::size_t i = 0; i < count(); ++i)
    std::ranges::copy(other.bytes(other.find(name(i))), bytes(i).begin());
  return {};
}

std::int64_t Parameters::elements() const {
  std::int64_t sum = 0;
  for (const Entry& entry : entries_) sum += entry.type.elements();
  return sum;
}

std::size_t Parameters::find(const std::string& name) const {
  const auto found = std::ranges::find(entries_, name, &Entry::name);
  return static_cast<std::size_t>(found - entries_.begin());
}

namespace {
/// FNV-1a over words of eight bytes, with a shift that spreads high bits to low ones.
class Hash {
 public:
  void add(std::uint64_t word) {
    state_ = (state_ ^ word) * 0x100000001b3ULL;
    state_ ^= state_ >> 29;
  }
  void add(std::span<const std::byte> bytes) {
    add(bytes.size());
    for (std::size_t at = 0; at < bytes.size(); at += sizeof(std::uint64_t)) {
      std::uint64_t word = 0;
      std::memcpy(&word, bytes.data() + at, std::min(sizeof(word), bytes.size() - at));
      add(word);
    }
  }
  std::uint64_t value() const { return state_; }

 private:
  std::uint64_t state_ = 0xcbf29ce484222325ULL;
};
}  // namespace

std::uint64_t Parameters::hash() const {
  Hash hash;
  for (std::size_t i = 0; i < count(); ++i) {
    hash.add(std::as_bytes(std::span(name(i))));
    hash.add(static_cast<std::uint64_t>(type(i).element));
    for (const std::int64_t extent : type(i).shape) hash.add(static_cast<std::uint64_t>(extent));
    hash.add(bytes(i));
  }
  return hash.value();
}

}  // namespace pipescope::numerics
