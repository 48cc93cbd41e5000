#include "app/run/compilation.h"

namespace pipescope::app {

std::vector<std::string> Compilation::overflow() const {
  std::vector<std::string> sentences;
  for (const CompiledExecutable& executable : executables) {
    for (const devices::LoweredDevice& device : executable.lowered) {
      for (const devices::LoweredMemory& memory : device.memory) {
        sentences.insert(sentences.end(), memory.overflow.begin(), memory.overflow.end());
      }
    }
  }
  return sentences;
}

RecordedCompilation recordCompilation(record::Recorder& recorder, const Compilation& compilation,
                                      emulate::RecordLevel level) {
  RecordedCompilation recorded;
  recorded.ids = emulate::recordSystem(recorder, *compilation.system, compilation.devicesUsed);
  for (const CompiledExecutable& executable : compilation.executables) {
    recorded.executables.push_back(emulate::recordExecutable(recorder, *compilation.system, recorded.ids,
                                                             executable.plan, executable.lowered,
                                                             executable.order, executable.facts, level));
  }
  for (const std::string& notice : compilation.notices) {
    recorder.add(model::Diagnostic{model::Severity::info, "notice", notice, {}, {}});
  }
  return recorded;
}

}  // namespace pipescope::app
