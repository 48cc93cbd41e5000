#include "engine/numerics/instance_module.h"

#include <dlfcn.h>

namespace pipescope::numerics {
namespace {

struct InstanceModule {
  void* library = nullptr;
  std::shared_ptr<const Instances> instances;
};

InstanceModule& instanceModule() {
  static InstanceModule module;
  return module;
}

template <class Function>
Function functionOf(void* library, const char* name) {
  return reinterpret_cast<Function>(dlsym(library, name));
}

}  // namespace

base::Result<std::shared_ptr<const Instances>> joinInstances() {
  InstanceModule& module = instanceModule();
  if (module.instances) return module.instances;
  // MPI loads modules of its own, which look for its symbols: they must be global.
  module.library = dlopen("libpipescope_mpi.so", RTLD_NOW | RTLD_GLOBAL);
  if (module.library == nullptr) {
    const char* why = dlerror();
    return base::badInput(
        std::string("Several instances talk through Open MPI, which this build of Pipescope cannot load (") +
        (why == nullptr ? "no reason given" : why) +
        "): install openmpi-bin and libopenmpi-dev, and build Pipescope again.");
  }
  const auto join = functionOf<const Instances* (*)()>(module.library, "pipescope_join_instances");
  const Instances* joined = join == nullptr ? nullptr : join();
  if (joined == nullptr) return base::internalError("MPI does not start.");
  module.instances = std::shared_ptr<const Instances>(joined, [](const Instances*) {});
  return module.instances;
}

void leaveInstances() {
  InstanceModule& module = instanceModule();
  if (!module.instances) return;
  module.instances.reset();
  if (const auto leave = functionOf<void (*)()>(module.library, "pipescope_leave_instances")) leave();
}

}  // namespace pipescope::numerics
