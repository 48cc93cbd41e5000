#include "engine/ops/dense/einsum_setup.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "engine/ops/core/shape_tools.h"

namespace pipescope::ops {

using base::badInput;

namespace {

/// The labels of one term. Letters stand for themselves; the axes under an ellipsis are −1, −2, … counted
/// from the last one.
using Term = std::vector<int>;

struct Equation {
  std::vector<std::string> terms;
  std::string result;
  bool explicitResult = false;
};

Result<Equation> split(const OperatorCall& call, std::string text) {
  std::erase(text, ' ');
  Equation equation;
  const std::size_t arrow = text.find("->");
  equation.explicitResult = arrow != std::string::npos;
  if (equation.explicitResult) equation.result = text.substr(arrow + 2);
  const std::string left = text.substr(0, arrow);
  for (std::size_t start = 0;;) {
    const std::size_t comma = left.find(',', start);
    equation.terms.push_back(left.substr(start, comma - start));
    if (comma == std::string::npos) break;
    start = comma + 1;
  }
  if (equation.terms.size() == call.inputs.size()) return equation;
  return badInput(fmt::format("{}: its equation has {} terms, but there are {} inputs", call.title(),
                              equation.terms.size(), call.inputs.size()));
}

/// `ellipsis` is the number of axes that an ellipsis stands for.
Result<Term> labelsOf(const OperatorCall& call, const std::string& term, std::size_t ellipsis) {
  Term labels;
  bool seen = false;
  for (std::size_t i = 0; i < term.size(); ++i) {
    const char c = term[i];
    if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')) {
      labels.push_back(c);
    } else if (term.compare(i, 3, "...") == 0 && !seen) {
      seen = true;
      i += 2;
      for (std::size_t axis = ellipsis; axis > 0; --axis) labels.push_back(-static_cast<int>(axis));
    } else {
      return badInput(fmt::format("{}: its equation's term '{}' may hold letters and one '...' only",
                                  call.title(), term));
    }
  }
  return labels;
}

std::size_t lettersOf(const std::string& term) {
  return static_cast<std::size_t>(std::ranges::count_if(term, [](char c) { return c != '.'; }));
}

/// The letters that occur once, sorted, after the axes under ellipses.
Term implicitResult(const std::vector<Term>& terms) {
  std::map<int, int> counts;
  for (const Term& term : terms) {
    for (const int label : term) counts[label] += 1;
  }
  Term result;
  for (const auto& [label, count] : counts) {
    if (label < 0 || count == 1) result.push_back(label);
  }
  return result;
}

Status readExtents(const OperatorCall& call, const std::vector<Term>& terms,
                   const std::vector<const Shape*>& operands, std::map<int, std::int64_t>& extents) {
  for (std::size_t i = 0; i < terms.size(); ++i) {
    if (terms[i].size() != operands[i]->size()) {
      return badInput(fmt::format("{}: its equation gives input {} {} axes, but it is {}", call.title(), i,
                                  terms[i].size(), extentsText(*operands[i])));
    }
    for (std::size_t axis = 0; axis < terms[i].size(); ++axis) {
      std::int64_t& extent = extents.try_emplace(terms[i][axis], 1).first->second;
      const std::int64_t own = (*operands[i])[axis];
      if (own != extent && own != 1 && extent != 1) {
        return badInput(fmt::format("{}: a label of its equation stands for {} and for {} elements",
                                    call.title(), extent, own));
      }
      if (own != 1) extent = own;
    }
  }
  return {};
}

}  // namespace

Result<EinsumSetup> einsumSetupOf(const OperatorCall& call, const std::string& text,
                                  const std::vector<const Shape*>& operands) {
  PIPESCOPE_ASSIGN(const Equation equation, split(call, text));
  std::vector<Term> terms;
  std::size_t widest = 0;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const std::size_t letters = lettersOf(equation.terms[i]), rank = operands[i]->size();
    const bool open = equation.terms[i].find('.') != std::string::npos;
    const std::size_t under = open && rank > letters ? rank - letters : 0;
    widest = std::max(widest, under);
    PIPESCOPE_ASSIGN(Term term, labelsOf(call, equation.terms[i], under));
    terms.push_back(std::move(term));
  }
  std::map<int, std::int64_t> extents;
  PIPESCOPE_TRY(readExtents(call, terms, operands, extents));
  Term result = implicitResult(terms);
  if (equation.explicitResult) {
    PIPESCOPE_ASSIGN(result, labelsOf(call, equation.result, widest));
  }
  EinsumSetup setup;
  Term order;
  for (const int label : result) {
    if (!extents.contains(label) || std::ranges::count(result, label) > 1) {
      return badInput(
          fmt::format("{}: its equation's result '{}' names a label that no input has, or one twice",
                      call.title(), equation.result));
    }
    order.push_back(label);
    setup.result.push_back(extents.at(label));
  }
  setup.kept = order.size();
  for (const auto& [label, extent] : extents) {
    if (std::ranges::find(result, label) == result.end()) order.push_back(label);
  }
  for (const int label : order) setup.extents.push_back(extents.at(label));
  PIPESCOPE_TRY(requireSize(call, setup.extents));
  setup.resultStrides = stridesOf(setup.result);
  setup.resultStrides.resize(order.size(), 0);
  for (std::size_t i = 0; i < terms.size(); ++i) {
    const Ints steps = stridesOf(*operands[i]);
    Ints strides(order.size(), 0);
    for (std::size_t axis = 0; axis < terms[i].size(); ++axis) {
      const auto at = static_cast<std::size_t>(std::ranges::find(order, terms[i][axis]) - order.begin());
      if ((*operands[i])[axis] != 1) strides[at] += steps[axis];
    }
    setup.strides.push_back(std::move(strides));
  }
  return setup;
}

}  // namespace pipescope::ops
