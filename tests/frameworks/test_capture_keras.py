"""What `gradbag.capture` sees of a model of Keras on TensorFlow, in `fit`'s own function and eagerly."""

import json
import os
import subprocess
import sys
from pathlib import Path


def test_bags_rows_and_gradients_of_a_training() -> None:
    environment = {**os.environ, "KERAS_BACKEND": "tensorflow", "TF_CPP_MIN_LOG_LEVEL": "3"}
    program = [sys.executable, Path(__file__).with_name("capture_program.py")]
    run = subprocess.run(program, env=environment, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    in_function, eager = json.loads(run.stdout.splitlines()[-1])
    for said in (in_function, eager):
        assert said["same"]  # the weights of a training that nobody watched
        assert said["count"] == 3  # and not six: it trains on when nobody watches
        step = said["step"]
        assert (step["bags"], step["empty"], step["entries"], step["repeated"]) == (3, 1, 4, 1)
        assert said["touched"] == [3, 2]
        assert set(said["rows"]) == {"3", "17", "90"}
        assert sorted(said["user_rows"]) == [1, 2]
        # One id stands twice in a bag of three, the other once.
        assert abs(said["rows"]["3"] / said["rows"]["17"] - 2) < 1e-5
