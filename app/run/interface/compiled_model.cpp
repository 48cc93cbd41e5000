#include "app/run/interface/compiled_model.h"

#if __has_include(<malloc.h>)
#include <malloc.h>
#endif

#include <fmt/format.h>

#include "app/plan/fit_advice.h"
#include "app/run/interface/emulation.h"
#include "app/run/io/weights_file.h"
#include "app/run/request/accelerator.h"
#include "app/run/request/compile_run.h"
#include "app/run/request/model_defaults.h"
#include "app/run/request/onnx_choice.h"
#include "engine/numerics/thread_pool.h"
#include "profiler/record/host_span.h"

namespace pipescope::run {
namespace {

/// Forgets the Work of operators, which nothing but devices reads, and gives memory back to the system that
/// compiling has freed: in long models a tenth of all.
void forgetWork(compile::Compilation& compilation) {
  for (compile::CompiledExecutable& executable : compilation.executables) {
    for (compile::StageIr& stage : executable.ir.stages) {
      for (compile::PassIr& pass : stage.passes)
        for (compile::IrOperator& op : pass.operators) op.work = std::vector<ops::Work>();
    }
  }
#if defined(__GLIBC__)
  malloc_trim(0);
#endif
}

}  // namespace

std::shared_ptr<base::Executor> makeThreads(std::int64_t count) {
  return std::make_shared<numerics::ThreadPool>(count > 0 ? static_cast<std::size_t>(count)
                                                          : numerics::ThreadPool::hardwareThreads());
}

CompiledModel::CompiledModel(config::Configuration configuration, std::shared_ptr<base::Executor> threads,
                             compile::Compilation compilation,
                             std::shared_ptr<const numerics::Instances> instances)
    : configuration_(std::move(configuration)),
      threads_(std::move(threads)),
      compilation_(std::move(compilation)),
      instances_(std::move(instances)),
      overflow_(compilation_.overflow()) {
  for (const compile::CompiledExecutable& executable : compilation_.executables) {
    hostFacts_.push_back(executable.facts);
    if (instances_) hostFacts_.back().replicas /= instances_->count();
    executables_.push_back(describeExecutable(executable, *compilation_.system));
    executables_.back().replicas = hostFacts_.back().replicas;
  }
}

base::Result<std::shared_ptr<const CompiledModel>> CompiledModel::compile(
    const ModelOptions& options, base::Progress& progress, std::shared_ptr<base::Executor> threads) {
  progress.report(0, "compiling");
  PIPESCOPE_HOST_SPAN(span, "compiler", "compile");
  PIPESCOPE_ASSIGN(const config::Configuration defaults, app::withModelDefaults(options.configuration()));
  PIPESCOPE_ASSIGN(app::ChosenSystem chosen, app::chooseSystem(defaults));
  config::Configuration& configuration = chosen.configuration;
  if (configuration.text("execution.save_weights").ends_with(".onnx"))
    PIPESCOPE_TRY(app::checkSaveWeights(configuration));
  PIPESCOPE_TRY(app::checkWeightFiles(configuration));
  if (!threads) threads = makeThreads(configuration.integer("execution.threads"));
  plan::SharedStages known(plan::SharedStages::Remembers::splits);
  PIPESCOPE_ASSIGN(compile::Compilation compilation, app::compileRun(configuration, threads.get(), &known));
  options.sayVerdict(app::verdictOf(compilation));
  {
    PIPESCOPE_HOST_SPAN(advice, "compiler", "look for what would fit");
    app::addFitAdvice(configuration, compilation, known, *threads, progress);
  }
  if (chosen.notice) compilation.notices.push_back(*chosen.notice);
  forgetWork(compilation);
  return std::shared_ptr<const CompiledModel>(new CompiledModel(std::move(configuration), std::move(threads),
                                                                std::move(compilation), options.instances()));
}

bool CompiledModel::computes() const {
  return compilation_.executables.front().graph != nullptr && configuration_.boolean("execution.numerics");
}

base::Result<double> CompiledModel::callSeconds(std::size_t executable) const {
  if (executable >= executables_.size())
    return base::badInput(fmt::format("The program has {} executables, so there is none with the number {}.",
                                      executables_.size(), executable));
  NoSink none;
  Emulation emulation(compilation_, none, emulate::RecordLevel::off);
  emulation.load();
  const model::Run run = emulation.emulator->call(emulation.recorded.executables[executable], {});
  return emulation.seconds(run.end - run.start);
}

}  // namespace pipescope::run
