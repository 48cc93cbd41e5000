#include "app/run/request/onnx_model.h"

#include "engine/onnx/reader.h"
#include "engine/ops/standard_operators.h"

namespace pipescope::app {

base::Result<onnx::Model> readOnnxModel(const config::Configuration& c, onnx::Weights weights) {
  const std::string& file = c.text("model.onnx");
  if (const auto content = c.content("model.onnx"))
    return onnx::parseModel(*content, {}, file, ops::standardOperators(), weights);
  return onnx::readModel(file, ops::standardOperators(), weights);
}

}  // namespace pipescope::app
