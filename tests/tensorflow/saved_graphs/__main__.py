"""`python -m tests.tensorflow.saved_graphs FOLDER [NAME...]`: make all graphs, or those."""

import os
import sys
import traceback
from pathlib import Path

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["CUDA_VISIBLE_DEVICES"] = "-1"

import keras
import tensorflow as tf

from . import inference, layers, lookups, loops, one_step, serving, tf1_training, tf2_training, training_more
from .writing import MADE

assert all(
    (inference, layers, lookups, loops, one_step, serving, tf1_training, tf2_training, training_more)
)  # they fill MADE
folder, names = Path(sys.argv[1]), sys.argv[2:] or list(MADE)
failed = 0
for name in names:
    where = folder / name
    where.mkdir(parents=True)
    tf.random.set_seed(3)
    keras.utils.set_random_seed(3)
    try:
        MADE[name](where)
    except Exception:  # noqa: BLE001  # told with its name, and the others are still made
        failed += 1
        sys.stderr.write(f"--- {name}\n")
        traceback.print_exc(limit=-4)
sys.exit(1 if failed else 0)
