#pragma once
// One executable of a program, with its weights: call it with tensors of the host.
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/run/interface/emulated_device.h"
#include "app/run/interface/host_tensor.h"

namespace pipescope::run {

struct CallRequest {
  std::string name;  ///< name of the recorded run, as "training epoch 1 call 3"
  /// Inputs in the order of ExecutableInfo::inputs. Along its first axis each has the rows of all
  /// micro-batches of the call: ordered by iteration, then accumulation step, then replica. Another element
  /// type is converted, except if whole numbers are taken and real ones are given. They are not read if the
  /// program computes nothing.
  std::vector<HostTensor> inputs;
  /// The learning rate of each weight update of the call; empty: it stays as it is.
  std::vector<double> learningRates;
  /// End the call at the first loss that is NaN or infinite: see CallResult::diverged.
  bool stopsIfDiverged = false;
  /// Weights whose values after each weight update are returned, by name.
  std::vector<std::string> weights;
};

struct CallResult {
  /// The losses of all micro-batches, ordered as the rows of inputs, but with every replica of an input
  /// group. Empty if the executable has no loss or the program computes nothing.
  std::vector<float> losses;
  /// `losses` of the replicas of all instances, in the order of all replicas; in one process the same.
  std::vector<float> allLosses;
  /// The losses that the output mode returns, in the same order. Output mode sum: their sum for each replica.
  std::vector<float> returnedLosses;
  /// Values that the output mode returns of each output, in the same order, joined along the first axis. A
  /// scalar output becomes a list.
  std::vector<OutputTensor> outputs;
  /// The values of CallRequest::weights, in their order: joined along a new first axis, the weight updates.
  std::vector<OutputTensor> weights;
  /// The iteration whose loss was not finite, if stopsIfDiverged is set. The call is then not recorded.
  std::optional<std::int64_t> diverged;
  double lossScale = 1;  ///< factor of the loss in the last update of the call
  /// The recorded run. The times of the run are those of the emulated clock.
  model::Run run;
  double emulatedSeconds = 0;  ///< length of the call
};

/// A copy of all weights of an executable.
struct WeightValues;

class ModelExecutable {
 public:
  /// Makes the weights from their initializers. It refuses what does not fit into the memory of this machine.
  /// If the program computes nothing, the executable only emulates.
  static base::Result<std::unique_ptr<ModelExecutable>> create(std::shared_ptr<const CompiledModel> program,
                                                               std::size_t index);
  ~ModelExecutable();

  const ExecutableInfo& info() const;
  std::size_t index() const { return index_; }
  /// True if it has weights and computes.
  bool computes() const;

  /// Refuses inputs that call() would refuse: their number, shapes and types.
  base::Status checkInputs(const std::vector<HostTensor>& inputs) const;
  /// Computes one call and emulates it on the device, which must be attached and of the same program. Between
  /// two weight updates it asks `progress` whether to stop; a cancelled call is not recorded, but its updates
  /// so far are made. With an error of an operator, weights are those after the last whole update.
  base::Result<CallResult> call(EmulatedDevice& device, const CallRequest& request, base::Progress& progress);

  /// Weights in the order of the graph. A view is valid until the executable is destroyed; its values change
  /// with each call.
  std::vector<TensorInfo> weights() const;
  base::Result<HostTensor> weight(const std::string& name) const;
  /// Real numbers of another type are converted. The optimizer's state stays as it is.
  base::Status setWeight(const std::string& name, const HostTensor& value);
  /// Takes the values of all weights of this executable from another one, by name.
  base::Status copyWeights(const ModelExecutable& from);
  /// A copy that outlives the executable.
  base::Result<std::shared_ptr<const WeightValues>> weightValues() const;
  base::Status setWeights(const WeightValues& values);
  /// Hashes of the weights of all replicas, or one hash for each instance if its replicas share their
  /// weights.
  std::vector<std::uint64_t> weightHashes() const;

  /// Number of weight updates so far.
  std::int64_t updates() const;
  /// The settings of the optimizer, by their names in the configuration ("learning_rate", "weight_decay").
  const std::map<std::string, double>& optimizerSettings() const;
  /// Changes settings of the optimizer from the next update on. The state of the optimizer stays. Refused: an
  /// unknown setting or value, and a change that needs other state or other work on the device.
  base::Status setOptimizer(const std::map<std::string, double>& changes);
  /// The same for the parameters of an entry of [[training.groups]], counted from 0.
  base::Status setOptimizer(std::size_t group, const std::map<std::string, double>& changes);
  /// Gives one weight a learning rate and a weight decay of its own, which may be any finite numbers, until
  /// the settings of its group change.
  base::Status setOptimizer(const std::string& weight, const std::map<std::string, double>& changes);
  /// The factor of the loss; with automatic loss scaling it changes from update to update.
  double lossScale() const;
  base::Status setLossScale(double value);
  /// The norm of the gradients of the last update. 0 if they are not clipped.
  double gradientNorm() const;

  /// Weights, optimizer state and number of updates as .npz, or weights in the model's file as .onnx.
  base::Status save(const std::string& path) const;
  /// Reads an .npz file of save(). It must hold every weight.
  base::Status load(const std::string& path);

  /// Refuses a program whose weights and gradients this machine cannot hold. create() does so, too.
  static base::Status checkMemory(const CompiledModel& program, std::size_t index);

 private:
  struct Impl;
  ModelExecutable(std::shared_ptr<const CompiledModel> program, std::size_t index);
  base::Status makeSession();
  base::Status compute(const CallRequest& request, const base::Progress& progress, CallResult& result);
  base::Result<model::Run> emulate(EmulatedDevice& device, const std::string& name, std::int64_t begun,
                                   std::int64_t ended) const;
  /// Refuses [[model.returned]] of an output that the model does not have.
  base::Status checkReturned() const;
  base::Status addWeights(const CallRequest& request, CallResult& result) const;
  base::Status changeOptimizer(int group, const std::map<std::string, double>& changes);
  void setLearningRate(double rate);
  bool allFinite() const;
  /// True if the instances of the program train together.
  bool isShared() const;
  double waitedSeconds() const;
  std::vector<double> gatherSeconds(double own) const;
  void gatherLosses(CallResult& result) const;
  base::Status checkDevice(const EmulatedDevice& device) const;
  base::Status needsWeights() const;

  std::shared_ptr<const CompiledModel> program_;
  std::size_t index_;
  std::unique_ptr<Impl> impl_;
};

}  // namespace pipescope::run
