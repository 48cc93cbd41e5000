#include "engine/numerics/instance_module.h"

#include <dlfcn.h>

#include "profiler/record/host_span.h"

namespace pipescope::numerics {
namespace {

/// Adds the time that this process spends with the others to the timeline of the host.
class TracedInstances : public Instances {
 public:
  explicit TracedInstances(const Instances& joined) : joined_(joined) {}
  int count() const override { return joined_.count(); }
  int index() const override { return joined_.index(); }
  std::string host(int index) const override { return joined_.host(index); }
  double waitedSeconds() const override { return joined_.waitedSeconds(); }
  void sumInOrder(std::span<const std::span<float>> parts) const override {
    PIPESCOPE_HOST_SPAN(span, "instances", "sum gradients");
    joined_.sumInOrder(parts);
  }
  std::int64_t sum(std::int64_t value) const override {
    PIPESCOPE_HOST_SPAN(span, "instances", "sum a number");
    return joined_.sum(value);
  }
  void broadcast(std::span<std::byte> bytes) const override {
    PIPESCOPE_HOST_SPAN(span, "instances", "broadcast");
    joined_.broadcast(bytes);
  }
  std::vector<std::byte> gather(std::span<const std::byte> bytes) const override {
    PIPESCOPE_HOST_SPAN(span, "instances", "gather");
    return joined_.gather(bytes);
  }

 private:
  const Instances& joined_;
};

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
  module.instances = std::make_shared<const TracedInstances>(*joined);
  return module.instances;
}

void leaveInstances() {
  InstanceModule& module = instanceModule();
  if (!module.instances) return;
  module.instances.reset();
  if (const auto leave = functionOf<void (*)()>(module.library, "pipescope_leave_instances")) leave();
}

}  // namespace pipescope::numerics
