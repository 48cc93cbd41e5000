"""Loggers: where logged values go."""

import csv
import os


class Logger:
    """The base of loggers. They write into SAVE_DIR/NAME/version_N."""

    def __init__(self, save_dir, name="lightning_logs", version=None):
        self.save_dir, self._name, self._version = str(save_dir), name, version

    @property
    def name(self):
        """The name of the experiment."""
        return self._name

    @property
    def version(self):
        """The number of the run: one more than the largest that is there."""
        if self._version is None:
            root = os.path.join(self.save_dir, self._name)
            there = [each[8:] for each in os.listdir(root)] if os.path.isdir(root) else []
            self._version = 1 + max((int(each) for each in there if each.isdigit()), default=-1)
        return self._version

    @property
    def log_dir(self):
        """The folder of this run."""
        version = self.version if isinstance(self.version, str) else f"version_{self.version}"
        return os.path.join(self.save_dir, self._name, version)

    def log_metrics(self, metrics, step):
        """Add {name: value} of a step."""
        raise NotImplementedError

    def log_hyperparams(self, params):
        """Keep the hyperparameters of a module."""

    def save(self):
        """Write what was added."""


class CSVLogger(Logger):
    """Writes metrics.csv, with a column for each name, and hparams.csv."""

    def __init__(self, save_dir, name="lightning_logs", version=None):
        super().__init__(save_dir, name, version)
        self._rows = []

    def log_metrics(self, metrics, step):
        self._rows.append({"step": step, **metrics})

    def log_hyperparams(self, params):
        if params:
            self._write("hparams.csv", [{"name": name, "value": value} for name, value in params.items()])

    def save(self):
        if self._rows:
            self._write("metrics.csv", self._rows)

    def _write(self, name, rows):
        os.makedirs(self.log_dir, exist_ok=True)
        columns = list(dict.fromkeys(key for row in rows for key in row))
        with open(os.path.join(self.log_dir, name), "w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, columns, restval="")
            writer.writeheader()
            writer.writerows(rows)


class TensorBoardLogger(Logger):
    """Writes an event file for TensorBoard."""

    def __init__(self, save_dir, name="lightning_logs", version=None):
        super().__init__(save_dir, name, version)
        self._events = None

    def log_metrics(self, metrics, step):
        from .._pipescope import interface

        if self._events is None:
            os.makedirs(self.log_dir, exist_ok=True)
            self._events = interface.EventFile(self.log_dir)
        self._events.add(step, {name: float(value) for name, value in metrics.items()})


def loggers_of(logger, folder):
    """Return the loggers of a trainer: none for False or None, TensorBoard's for True, else those given."""
    if logger is True:
        return [TensorBoardLogger(folder)]
    if logger in (False, None):
        return []
    given = list(logger) if isinstance(logger, (list, tuple)) else [logger]
    for each in given:
        if not isinstance(each, Logger):
            raise TypeError(f"{each!r} is no logger: pass CSVLogger, TensorBoardLogger, True or False.")
    return given
