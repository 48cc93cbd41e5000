"""The registry of strategies, and their base."""


class _Registry(dict):
    def register(self, name, strategy=None, description=None, override=False, **init_params):
        if name in self and not override:
            raise ValueError(f"'{name}' is already present in the registry.")
        self[name] = {"strategy": strategy, "description": description, "init_params": init_params}

    def get(self, name):
        return self[name]["strategy"](**self[name]["init_params"])


StrategyRegistry = _Registry(ipu_strategy={})


class Strategy:
    def __init__(self, accelerator=None, checkpoint_io=None, precision_plugin=None):
        self.accelerator, self.optimizers, self.lightning_module = accelerator, [], None

    def setup(self, trainer):
        self.model = trainer.lightning_module
        self.model_to_device()

    def optimizer_state(self, optimizer):
        return optimizer.state_dict()

    def load_optimizer_state_dict(self, checkpoint):
        for optimizer, state in zip(self.optimizers, checkpoint["optimizer_states"]):
            optimizer.load_state_dict(state)

    def teardown(self):
        pass


class ParallelStrategy(Strategy):
    """The base of strategies for several devices."""

    def __init__(self, accelerator=None, parallel_devices=None, cluster_environment=None, checkpoint_io=None, precision_plugin=None):
        super().__init__(accelerator, checkpoint_io, precision_plugin)
        self.parallel_devices, self.cluster_environment = parallel_devices, cluster_environment
