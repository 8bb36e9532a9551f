"""What is learned from: who rated what, as bags of ids, and whether the rating was good.

MovieLens-100k is read out of the wheel of RecBole, which carries it as an example; no file of it is kept here.
Without the wheel there is a stand-in of the same shape, with tastes that are made up.
"""

from __future__ import annotations

import csv
import importlib.util
import io
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from gradbag import Bags

Array = np.ndarray[Any, Any]
Rows = list[dict[str, str]]

FIELDS = ("user", "age", "gender", "occupation", "zip code", "item", "year", "genres")
FOLDER = "recbole/dataset_example/ml-100k"
MOVIELENS = "MovieLens-100k"
GOOD = 4.0  # a rating from here on is one that a recommendation hopes for
SPLIT = (0.8, 0.1, 0.1)


@dataclass(frozen=True)
class Part:
    """Examples, each of which has a bag of ids for every field; fields have rows of their own in one table."""

    bags: Bags
    labels: Array

    def __len__(self) -> int:
        return len(self.labels)

    def pick(self, examples: Array) -> Part:
        places = examples[:, None] * len(FIELDS) + np.arange(len(FIELDS))
        return Part(self.bags[places.reshape(-1)], self.labels[examples])


@dataclass(frozen=True)
class Data:
    name: str
    rows: int  # of the table
    longest: int  # how many ids an example has at most
    train: Part
    validation: Part
    test: Part


def load(source: str, seed: int, limit: int | None = None) -> Data:
    """`source` is "movielens", "synthetic", or "auto": the first if it can be had. `limit` leaves out examples."""
    files = _files() if source != "synthetic" else None
    if files is None and source == "movielens":
        raise SystemExit(f"{MOVIELENS} comes with RecBole, which is missing: pip install --no-deps recbole==1.2.1")
    if files is None:
        name, (ratings, users, items) = f"A synthetic stand-in for {MOVIELENS}", _made_up(seed)
    else:
        name, (ratings, users, items) = MOVIELENS, files
    return _joined(name, ratings[:limit], users, items, seed)


# ------------------------------------------------------------------ files
def _files() -> tuple[Rows, Rows, Rows] | None:
    """Ratings, users and items, or None if there is no wheel: it is looked for, never imported."""
    found = importlib.util.find_spec("recbole")
    if found is None or not found.submodule_search_locations:
        return None
    folder = Path(found.submodule_search_locations[0]).parent / FOLDER
    paths = [folder / f"ml-100k.{kind}" for kind in ("inter", "user", "item")]
    if not all(path.is_file() for path in paths):
        return None
    ratings, users, items = (_table(path.read_text(encoding="utf-8")) for path in paths)
    return ratings, users, items


def _table(text: str) -> Rows:
    """RecBole's files: a line of names with types, then values, with tabs in between."""
    lines = csv.reader(io.StringIO(text), delimiter="\t", quoting=csv.QUOTE_NONE)
    names = [name.partition(":")[0] for name in next(lines)]
    return [dict(zip(names, line, strict=True)) for line in lines]


def _made_up(seed: int, users: int = 943, items: int = 1682, count: int = 100_000) -> tuple[Rows, Rows, Rows]:
    """Ratings as there are in MovieLens: few popular items and many rare ones, users who differ in taste and mood."""
    rng = np.random.default_rng(seed)
    popular = rng.permutation(items)[(items * rng.random(count) ** 2.2).astype(np.int64)]
    active = (users * rng.random(count) ** 1.5).astype(np.int64)
    pairs = np.unique(active * items + popular)
    user, item = np.divmod(rng.permutation(pairs), items)
    tastes, kinds = rng.standard_normal((users, 4)), rng.standard_normal((items, 4))
    score = 0.35 * (tastes[user] * kinds[item]).sum(1) + 0.4 * rng.standard_normal(users)[user]
    score += 0.5 * rng.standard_normal(items)[item] + 0.7 * rng.standard_normal(len(user))
    rating = np.clip(np.rint(3.55 + score), 1, 5).astype(np.int64)
    genres = [[str(genre) for genre in np.flatnonzero(kinds[k] > 0.6)] or ["other"] for k in range(items)]
    return (
        [
            {"user_id": str(u), "item_id": str(i), "rating": str(r)}
            for u, i, r in zip(user.tolist(), item.tolist(), rating.tolist(), strict=True)
        ],
        [
            {
                "user_id": str(u),
                "age": str(rng.integers(10, 70)),
                "gender": "MF"[rng.integers(2)],
                "occupation": str(rng.integers(21)),
                "zip_code": f"{rng.integers(100_000):05}",
            }
            for u in range(users)
        ],
        [
            {"item_id": str(i), "release_year": str(rng.integers(1930, 1999)), "class": " ".join(genres[i])}
            for i in range(items)
        ],
    )


# ------------------------------------------------------------------ bags
def _joined(name: str, ratings: Rows, users: Rows, items: Rows, seed: int) -> Data:
    sides = {user["user_id"]: _words_of_user(user) for user in users}
    others = {item["item_id"]: _words_of_item(item) for item in items}
    numbers: dict[tuple[int, str], int] = {}
    told = [
        [numbers.setdefault((field, word), len(numbers)) for word in words]
        for rating in ratings
        for field, words in enumerate([*sides[rating["user_id"]], *others[rating["item_id"]]])
    ]
    bags = Bags.from_lists(told)
    everything = Part(bags, np.array([float(rating["rating"]) >= GOOD for rating in ratings], np.float64))
    order = np.random.default_rng(seed).permutation(len(everything))
    ends = (np.cumsum(SPLIT) * len(order)).round().astype(np.int64)
    train, validation, test = (everything.pick(part) for part in np.split(order, ends[:-1]))
    longest = int(bags.lengths.reshape(-1, len(FIELDS)).sum(1).max())
    return Data(name, len(numbers), longest, train, validation, test)


def _words_of_user(user: dict[str, str]) -> list[list[str]]:
    age = str(int(user["age"]) // 5)
    return [[user["user_id"]], [age], [user["gender"]], [user["occupation"]], [user["zip_code"][:2]]]


def _words_of_item(item: dict[str, str]) -> list[list[str]]:
    return [[item["item_id"]], [item["release_year"]], item["class"].split()]
