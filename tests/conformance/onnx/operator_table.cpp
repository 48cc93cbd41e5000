#include "operator_table.h"
#include "engine/ops/standard_operators.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <onnx/defs/schema.h>

#include <fstream>
#include <iterator>

#include "engine/onnx/model.h"
#include "engine/onnx/upgrades.h"
#include "engine/ops/core/operator.h"

namespace pipescope::conformance {
namespace {

using Cases = std::map<std::string, OperatorCases>;

/// The version of the operator in opset 17, or 0 if it is not an operator of ONNX.
int versionOf(const std::string& op) {
  for (const char* domain : {"", "ai.onnx.preview.training"}) {
    const auto* schema = ::onnx::OpSchemaRegistry::Schema(op, 17, domain);
    if (schema && !(schema->Deprecated() && !onnx::isRenamed(op))) return schema->since_version();
  }
  return 0;
}

std::string noteOf(const std::string& op) {
  if (onnx::isControlFlow(op)) return "interpreted; unrolled where its condition or trip count is fixed";
  if (op == "Constant") return "read as a value";
  if (op == "Upsample") return "computed as Resize";
  if (op == "Scatter") return "computed as ScatterElements";
  return onnx::isRandom(op) ? "draws are functions of seed, node, iteration, micro-batch and replica" : "";
}

std::string gradientOf(const std::string& op) {
  const ops::OperatorDefinition* definition = ops::standardOperators().find(op);
  if (!definition) return onnx::isRenamed(op) || onnx::isControlFlow(op) ? "as its parts" : "–";
  return definition->gradient ? "yes" : "no";
}

std::string table(const Cases& cases) {
  std::string text =
      "# ONNX operators\n\n"
      "Opsets 7 to 17 are read; older forms of an operator are brought up to opset 17. Columns: the "
      "operator's version that\n"
      "opset 17 means; whether training can go through it; how many of ONNX's own test cases pass (the "
      "others are refused by\n"
      "a sentence before anything runs); the types of the first input in cases that passed. Sequences, "
      "optionals, maps,\n"
      "strings, complex numbers and sparse tensors are not supported.\n\n"
      "This table is generated: `conformance_onnx_nodes CASES --write-table FILE` "
      "(tests/conformance/onnx).\n\n"
      "| operator | version | gradient | cases | types tested | notes |\n|---|---|---|---|---|---|\n";
  std::set<std::string> names{"If", "Loop", "Scan", "Constant", "Upsample", "Scatter"};
  for (const std::string& op : ops::standardOperators().types()) {
    if (versionOf(op) > 0) names.insert(op);
  }
  for (const std::string& op : names) {
    const auto found = cases.find(op);
    const OperatorCases counts = found == cases.end() ? OperatorCases() : found->second;
    text += fmt::format("| {} | {} | {} | {} | {} | {} |\n", op, versionOf(op), gradientOf(op),
                        counts.all == 0 ? "–" : fmt::format("{} of {}", counts.passed, counts.all),
                        fmt::join(counts.types, ", "), noteOf(op));
  }
  return text;
}

}  // namespace

bool isCurrent(const Cases& cases, const std::string& file) {
  std::ifstream stream(file, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
  if (text == table(cases)) return true;
  fmt::print("{} is not current: write it with --write-table {}.\n", file, file);
  return false;
}

bool writeOperatorTable(const Cases& cases, const std::string& file) {
  std::ofstream stream(file, std::ios::binary | std::ios::trunc);
  return static_cast<bool>(stream << table(cases) << std::flush);
}

}  // namespace pipescope::conformance
