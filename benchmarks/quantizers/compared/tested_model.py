"""A trained model with labelled data: rows to calibrate on, and others to judge by."""
import dataclasses
import pathlib

import numpy as np


@dataclasses.dataclass
class TestedModel:
    name: str
    model: pathlib.Path
    input: str
    calibration: np.ndarray
    calibration_labels: np.ndarray  # indices of the first output
    held_out: np.ndarray
    labels: np.ndarray  # of `held_out`
    batch: int = 32  # rows of one run; 1 where the model takes no more

    def batches(self, rows: np.ndarray) -> list[np.ndarray]:
        return [rows[i : i + self.batch] for i in range(0, len(rows), self.batch)]

    def write(self, folder: pathlib.Path) -> None:
        """data/ to calibrate and tune on, held_out/, and NAME.npy with the labels of each, as the verbs of Vernier take them."""
        for name, rows, labels in (("data", self.calibration, self.calibration_labels), ("held_out", self.held_out, self.labels)):
            (folder / name).mkdir(parents=True)
            np.save(folder / f"{name}.npy", labels.astype(np.int64))
            for i, batch in enumerate(self.batches(rows)):
                np.savez(folder / name / f"{i:05}.npz", **{self.input: batch})
