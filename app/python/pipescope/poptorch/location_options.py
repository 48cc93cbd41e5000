"""options.TensorLocations: which tensors lie in the memory of the chip."""

from .errors import OptionError
from .log import note_once
from .options_group import OptionsGroup


class TensorLocationSettings:
    """The place of one kind of tensor. PopTorch's defaults: on the chip, not sharded."""

    def __init__(self):
        self._values = {}

    def useOnChipStorage(self, use=True):
        """Keep the tensors on the chip (True) or in streaming memory (False)."""
        self._values["onChip"] = int(use)
        return self

    def useReplicatedTensorSharding(self, use=True):
        """Let each replica keep its share of the tensors only."""
        self._values["useReplicatedTensorSharding"] = int(use)
        return self

    def minElementsForOffChip(self, elements):
        """Keep tensors with fewer elements on the chip."""
        self._values["minElementsForOffChip"] = int(elements)
        return self

    def minElementsForReplicatedTensorSharding(self, elements):
        """Do not shard tensors with fewer elements."""
        self._values["minElementsForReplicatedTensorSharding"] = int(elements)
        return self

    def useIOTilesToLoad(self, use=True):
        """Load through the tiles that numIOTiles reserves. Without any, loads use all tiles."""
        return self._use_io_tiles("useIOTilesToLoad", use)

    def useIOTilesToStore(self, use=True):
        """Store through the tiles that numIOTiles reserves. Without any, stores use all tiles."""
        return self._use_io_tiles("useIOTilesToStore", use)

    def _use_io_tiles(self, name, use):
        if use:
            note_once(f"{name} has no effect on emulated devices, whose loads and stores of weights and states use all tiles: their "
                      "times are those of that.")
        self._values[name] = int(use)
        return self


class _TensorLocationOptions(OptionsGroup):
    def _locate(self, kind, setting):
        if not isinstance(setting, TensorLocationSettings):
            raise TypeError(f"{kind}: pass a TensorLocationSettings, not {type(setting).__name__}.")
        return self._set(kind, dict(setting._values))

    def setWeightLocation(self, setting):
        """Say where weights lie."""
        return self._locate("location_weight", setting)

    def setOptimizerLocation(self, setting):
        """Say where the optimizer's state lies."""
        return self._locate("location_optimizer", setting)

    def setActivationLocation(self, setting):
        """Say where activations lie that backward passes need."""
        return self._locate("location_activation", setting)

    def setAccumulatorLocation(self, setting):
        """Say where the sums of gradients lie."""
        return self._locate("location_accumulator", setting)

    def numIOTiles(self, tiles):
        """Reserve tiles of each IPU for input and output: 0, or an even number from 32 to 192."""
        if tiles != 0 and (tiles % 2 != 0 or not 32 <= tiles <= 192):
            raise OptionError(f"numIOTiles must be an even number between 32 and 192. It is {tiles}; 0 reserves none.")
        return self._set("numIOTiles", int(tiles))
