"""The registry of accelerators, and their base."""


class _Registry(dict):
    def register(self, name, accelerator=None, description="", override=False, **init_params):
        if name in self and not override:
            raise ValueError(f"'{name}' is already present in the registry.")
        self[name] = {"accelerator": accelerator, "description": description, "init_params": init_params}

    def get(self, name):
        return self[name]["accelerator"](**self[name]["init_params"])


AcceleratorRegistry = _Registry()


class Accelerator:
    pass
