"""Writes tests/golden/prediction/ridge.bin: linear maps by ridge regression (app/eval/calibration/ridge_fit.h), from numpy.

Written from the objective as the header states it, not from our code: the solution is that of least squares on rows
extended by the ridge (numpy.linalg.lstsq), so no normal equations are shared.

Little-endian: u32 rows, inputs, outputs; fp64 ridge; fp32 x [rows, inputs], y [rows, outputs]; fp64 map [outputs, inputs],
bias [outputs], share of the variance that is explained.

    python3 tests/oracle/make_kv_prediction_fixtures.py        # needs: pip install numpy
"""
import pathlib
import struct

import numpy as np

PATH = pathlib.Path(__file__).resolve().parent.parent / "golden" / "prediction" / "ridge.bin"


def main():
    rng = np.random.default_rng(7)
    rows, n_in, n_out, ridge = 40, 6, 3, 0.05
    x = (rng.standard_normal((rows, n_in)) * np.exp2(-np.arange(n_in)) + rng.standard_normal(n_in)).astype(np.float32)
    y = (x @ rng.standard_normal((n_in, n_out)) + 0.3 * rng.standard_normal((rows, n_out)) + 5).astype(np.float32)
    a, b = x.astype(np.float64), y.astype(np.float64)
    da, db = a - a.mean(0), b - b.mean(0)
    s = np.square(da).sum() / n_in
    extended = np.vstack([da, np.sqrt(ridge * s) * np.eye(n_in)])
    mapped = np.linalg.lstsq(extended, np.vstack([db, np.zeros((n_in, n_out))]), rcond=None)[0]
    bias = b.mean(0) - a.mean(0) @ mapped
    explained = 1 - np.square(b - a @ mapped - bias).sum() / np.square(db).sum()
    PATH.parent.mkdir(exist_ok=True)
    PATH.write_bytes(struct.pack("<3Id", rows, n_in, n_out, ridge) + x.tobytes() + y.tobytes()
                     + np.ascontiguousarray(mapped.T).tobytes() + bias.tobytes() + struct.pack("<d", explained))


if __name__ == "__main__":
    main()
