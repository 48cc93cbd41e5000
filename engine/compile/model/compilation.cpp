#include "engine/compile/model/compilation.h"

namespace pipescope::compile {

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

}  // namespace pipescope::compile
