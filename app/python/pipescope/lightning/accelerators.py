"""The accelerators that a trainer may name. None of them is real hardware except the CPU."""


class _Accelerator:
    @classmethod
    def is_available(cls):
        """Return True: the devices are emulated."""
        return True


class CPUAccelerator(_Accelerator):
    """The host itself. PyTorch runs the steps as they are."""

    name = "cpu"

    @staticmethod
    def auto_device_count():
        """Return 1."""
        return 1


class IPUAccelerator(_Accelerator):
    """Emulated IPUs. A device of a trainer is a replica of the model, which may take several IPUs."""

    name = "ipu"

    @staticmethod
    def auto_device_count():
        """Return 4, as Lightning does."""
        return 4


class HPUAccelerator(_Accelerator):
    """Emulated Gaudis. A device of a trainer is a card."""

    name = "hpu"

    @staticmethod
    def auto_device_count():
        """Return 8: the cards of the emulated box."""
        return 8

    @staticmethod
    def get_device_name():
        """Return the name of the emulated card."""
        return "GAUDI2 (emulated)"

    def get_device_stats(self, device):
        """Refused: the memory of the emulated cards is in the profile, not in counters."""
        from .errors import MisconfigurationException

        raise MisconfigurationException(
            "HPUAccelerator.get_device_stats is not supported: pass HPUParallelStrategy(autoreport=True) and open the "
            "profile, which shows the memory of each card."
        )


def device_count(accelerator, devices):
    """Return the number of devices that `devices` asks for: a number, a numeric text, "auto" or None."""
    if accelerator is HPUAccelerator and isinstance(devices, (list, tuple)):
        raise TypeError("devices is a list, but HPUs are given as a number, as a text with a number, or as \"auto\".")
    if devices is None:
        return accelerator.auto_device_count() if accelerator is HPUAccelerator else 1
    if devices == "auto":
        return accelerator.auto_device_count()
    if isinstance(devices, str) and devices.isdigit():
        devices = int(devices)
    if not isinstance(devices, int) or isinstance(devices, bool) or devices < 1:
        raise ValueError(f'devices is {devices!r}, but must be a number from 1 on, or "auto".')
    if accelerator is CPUAccelerator and devices != 1:
        raise ValueError(f"devices is {devices}, but one process trains on the CPU: use devices=1.")
    if accelerator is IPUAccelerator and devices & (devices - 1):
        raise ValueError(
            f"devices is {devices}, but the number of IPU replicas must be a power of two: 1, 2, 4, 8 and so on."
        )
    return devices
