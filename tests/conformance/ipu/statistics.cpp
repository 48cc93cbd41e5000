#include "tests/conformance/ipu/statistics.h"

#include <algorithm>
#include <cmath>

namespace pipescope::conformance {
namespace {

/// The value below which a `share` of a sorted list lies, interpolated between neighbours.
double quantile(const std::vector<double>& sorted, double share) {
  if (sorted.empty()) return 0;
  const double place = share * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (place - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

}  // namespace

ErrorFigures errorsOf(std::vector<double> logarithms) {
  ErrorFigures errors;
  errors.points = static_cast<std::int64_t>(logarithms.size());
  std::sort(logarithms.begin(), logarithms.end());
  errors.bias = quantile(logarithms, 0.5);
  for (double& value : logarithms) value = std::abs(value);
  std::sort(logarithms.begin(), logarithms.end());
  errors.median = quantile(logarithms, 0.5);
  errors.p90 = quantile(logarithms, 0.9);
  errors.worst = logarithms.empty() ? 0 : logarithms.back();
  return errors;
}

std::string toString(Quantity quantity) {
  switch (quantity) {
    case Quantity::cycles:
      return "cycles";
    case Quantity::totalBytes:
      return "total_bytes";
    case Quantity::maxTileBytes:
      break;
  }
  return "max_tile_bytes";
}

double logarithmOf(const LayerResult& result, Quantity quantity) {
  const auto ratio = [](std::int64_t ours, std::int64_t theirs) {
    return std::log(static_cast<double>(std::max<std::int64_t>(1, ours)) / static_cast<double>(theirs));
  };
  switch (quantity) {
    case Quantity::cycles:
      return ratio(result.ours.cycles, result.row.measured.cycles);
    case Quantity::totalBytes:
      return ratio(result.ours.totalBytes, result.row.measured.totalBytes);
    case Quantity::maxTileBytes:
      break;
  }
  return ratio(result.ours.maxTileBytes, result.row.measured.maxTileBytes);
}

std::string kindOfTool(const std::string& tool) {
  static const std::map<std::string, std::string> kinds{{"general_matrix_multiply", "matrix product"},
                                                        {"fully_connected_layer", "fully connected"},
                                                        {"single_conv_layer", "convolution"},
                                                        {"oct_conv_layer", "octave convolution"},
                                                        {"pooling_layer", "pooling"},
                                                        {"reduce_op", "reduction"},
                                                        {"embedding_layer", "embedding"},
                                                        {"lstm_layer", "lstm"},
                                                        {"gru_layer", "gru"},
                                                        {"rnn_layer", "rnn"}};
  const auto found = kinds.find(tool);
  return found == kinds.end() ? tool : found->second;
}

std::vector<KindErrors> errorsByKind(const std::vector<LayerResult>& results) {
  std::map<std::pair<std::string, std::string>, std::vector<const LayerResult*>> kinds;
  for (const LayerResult& result : results) {
    if (result.modelled) kinds[{result.row.target, kindOfTool(result.row.tool)}].push_back(&result);
  }
  std::vector<KindErrors> list;
  for (const auto& [key, members] : kinds) {
    for (const Quantity quantity : kQuantities) {
      KindErrors row{key.first, key.second, quantity, {}, 0, 0};
      std::vector<double> own, others;
      for (const LayerResult* member : members) {
        if (member->compared()) {
          own.push_back(logarithmOf(*member, quantity));
        } else {
          ++row.failed;
        }
      }
      for (const LayerResult& other : results) {
        if (other.compared() && other.row.target == key.first && kindOfTool(other.row.tool) != key.second)
          others.push_back(logarithmOf(other, quantity));
      }
      row.errors = errorsOf(own);
      const double bias = errorsOf(others).bias;
      for (double& value : own) value -= bias;
      row.leaveOneOut = errorsOf(own).median;
      list.push_back(row);
    }
  }
  return list;
}

}  // namespace pipescope::conformance
