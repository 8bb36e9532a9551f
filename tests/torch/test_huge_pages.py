"""Large tables are asked to lie in huge pages, which nobody notices but the clock."""

import ctypes
import pickle
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

import gradbag.torch
from gradbag import huge_pages

ROWS = huge_pages.HUGE_BYTES // 16 // 4


def layers(rows: int) -> list[Any]:
    made = []
    for kind in (nn.EmbeddingBag, gradbag.torch.EmbeddingBag):
        torch.manual_seed(0)
        made.append(kind(rows, 16))
    return made


@pytest.mark.parametrize("rows", [10, ROWS, 2 * ROWS + 1])
def test_the_values_are_those_of_pytorch(rows: int) -> None:
    theirs, ours = layers(rows)
    assert torch.equal(ours.weight, theirs.weight)
    assert torch.equal(pickle.loads(pickle.dumps(ours)).weight, theirs.weight)  # noqa: S301  # our own bytes


def test_only_large_memory_is_asked_for() -> None:
    small = np.empty(huge_pages.HUGE_BYTES - 1, np.uint8)
    assert not huge_pages.ask_for_huge_pages(small.ctypes.data, small.nbytes)


@pytest.mark.parametrize("lacking", ["system", "function", "constant", "library"])
def test_a_system_without_them_is_left_alone(lacking: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_library(name: object) -> Any:
        raise OSError("there is no library")

    if lacking == "system":
        monkeypatch.setattr(huge_pages.sys, "platform", "darwin")
    elif lacking == "function":
        monkeypatch.setattr(ctypes, "CDLL", lambda name: object())
    elif lacking == "constant":
        monkeypatch.delattr(huge_pages.mmap, "MADV_HUGEPAGE")
    else:
        monkeypatch.setattr(ctypes, "CDLL", no_library)
    large = np.empty(2 * huge_pages.HUGE_BYTES, np.uint8)
    assert not huge_pages.ask_for_huge_pages(large.ctypes.data, large.nbytes)
    theirs, ours = layers(ROWS)
    assert torch.equal(ours.weight, theirs.weight)


def test_memory_that_is_not_there_is_refused_quietly() -> None:
    assert not huge_pages.ask_for_huge_pages(0, 4 * huge_pages.HUGE_BYTES)
