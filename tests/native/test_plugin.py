"""packages/gradbag-tensorflow: once it is installed, `import tensorflow` is all that it takes."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "packages" / "gradbag-tensorflow"
USE = """
import sys
import tensorflow as tf

assert "gradbag" not in sys.modules
tf.config.threading.set_intra_op_parallelism_threads(1)  # which would be too late after the first use
assert tf.sparse.segment_sum(tf.ones([3, 2]), [0, 2], [0, 0]).numpy().tolist() == [[2.0, 2.0]]

import gradbag.tensorflow

print(gradbag.tensorflow.installed().get("SparseSegmentSum"))
assert not gradbag.tensorflow.installed() or gradbag.get_num_threads() == 1
"""
USE_BY_A_SESSION = """
import tensorflow as tf

with tf.Graph().as_default(), tf.compat.v1.Session() as session:
    session.run(tf.compat.v1.sparse_segment_sum(tf.ones([3, 2]), [0, 2], [0, 0]))

import gradbag.tensorflow

print(gradbag.tensorflow.installed().get("SparseSegmentSum"))
"""


def pip(*arguments):
    subprocess.run([sys.executable, "-m", "pip", "-q", *map(str, arguments)], check=True)


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """A folder of packages with the plugin in it."""
    folder = tmp_path_factory.mktemp("plugin")
    pip("wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", folder, PACKAGE)
    (wheel,) = folder.glob("*.whl")
    assert "-py3-none-" in wheel.name
    pip("install", "--no-deps", "--target", folder / "site-packages", wheel)
    return folder / "site-packages"


def run(script, site, **more):
    environment = {**os.environ, **more, "PYTHONPATH": str(site)}
    made = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=False)
    assert made.returncode == 0, made.stderr
    return made.stdout.split()


def test_importing_tensorflow_is_enough(site):
    assert run(USE, site) == ["2"]  # one of them to see whether it is ours


def test_sessions_of_tensorflow_1(site):
    assert run(USE_BY_A_SESSION, site) == ["2"]


def test_it_can_be_kept_out(site):
    assert run(USE, site, GRADBAG_TENSORFLOW="0") == ["None"]
