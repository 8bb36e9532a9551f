"""A model of Keras on TensorFlow, trained with `gradbag.capture` and without; run in a process of its own."""

import json
import sys

import keras
import numpy as np

import gradbag
import gradbag.keras
from gradbag.capturing.summary import largest_rows, steps_of

USERS, BAGS = np.array([[1], [2], [1]]), np.array([[3, 17, 3], [90, 0, 0], [0, 0, 0]])
WANTED = np.array([[1.0], [2.0], [3.0]])


def model(run_eagerly: bool) -> keras.Model:
    keras.utils.set_random_seed(3)
    users, items = keras.Input((1,), dtype="int32"), keras.Input((3,), dtype="int32")
    user = keras.layers.Flatten()(keras.layers.Embedding(10, 4, name="users")(users))
    item = gradbag.keras.EmbeddingBag(100, 4, mask_zero=True, name="items")(items)
    made = keras.Model([users, items], keras.layers.Dense(1)(user * item))
    made.compile(keras.optimizers.SGD(0.1), "mse", run_eagerly=run_eagerly, jit_compile=False)
    return made


def train(one: keras.Model) -> list[list[float]]:
    one.fit([USERS, BAGS], WANTED, epochs=3, batch_size=3, shuffle=False, verbose=0)
    return [np.asarray(weight).ravel().tolist() for weight in one.weights]


said = []
for run_eagerly in (False, True):
    plain = train(model(run_eagerly))
    one = model(run_eagerly)
    with gradbag.capture(one) as seen:
        watched = train(one)
    train(one)
    items, users = (next(name for name in seen.tables if part in name) for part in ("items", "users"))
    step = vars(steps_of(seen, items)[0])
    rows = {row.row: row.norm for row in largest_rows(seen.steps[0], items, 8)}
    said.append(
        {
            "same": plain == watched,
            "count": seen.count,
            "step": step,
            "touched": [seen.tables[items].touched, seen.tables[users].touched],
            "rows": rows,
            "user_rows": [row.row for row in largest_rows(seen.steps[0], users, 8)],
        }
    )
json.dump(said, sys.stdout)
