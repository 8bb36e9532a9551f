"""Train a table of n-grams in a file, as a small language model: from the last bytes to the next.

    python examples/ngram_table.py                     under a minute; the loss falls
    python examples/ngram_table.py --folder model      keep it: killed and started again, it goes on at its checkpoint

Every run of 1 to 5 bytes before a byte is hashed to a row. The rows of these n-grams are added up, and one matrix makes
scores of the next byte out of the sum. The table has four million rows, of which only those that occur ever take room;
it can be as large as the disk. The text is made up here, by a grammar.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

import gradbag

LONGEST = 5  # bytes of an n-gram
SYMBOLS = 256
ADJECTIVES = ["small", "old", "quiet", "green", "heavy", "careless", "frozen", "famous"]
NOUNS = ["cat", "river", "engine", "teacher", "window", "mountain", "letter", "violin"]
VERBS = ["sees", "follows", "repairs", "forgets", "paints", "carries", "answers", "avoids"]
LINKS = ["because", "although", "while", "until"]


def text_of_our_own(words: int, seed: int = 0) -> bytes:
    """Sentences in which what a word may be depends on the ones before: there is something to learn."""
    rng = np.random.default_rng(seed)
    made: list[str] = []
    while len(made) < words:
        clauses = []
        for _ in range(int(rng.integers(1, 3))):
            subject = int(rng.integers(len(NOUNS)))
            verb = VERBS[(subject + int(rng.integers(2))) % len(VERBS)]  # each noun has two verbs
            thing = f"the {rng.choice(ADJECTIVES)} {rng.choice(NOUNS)}"
            clauses.append(f"the {NOUNS[subject]} {verb} {thing}")
        made += f" {rng.choice(LINKS)} ".join(clauses).split()
        made[-1] += "."
    return " ".join(made).encode()


def rows_of_ngrams(contexts: np.ndarray, rows: int) -> np.ndarray:
    """The row of the last 1, 2, ... bytes of each context: a column for each length."""
    found = np.empty((len(contexts), LONGEST), np.int64)
    key = np.zeros(len(contexts), np.uint64)
    for length in range(1, LONGEST + 1):
        key = key * np.uint64(SYMBOLS) + contexts[:, -length].astype(np.uint64)
        mixed = (key + np.uint64(length << 56)) * np.uint64(0x9E3779B97F4A7C15)
        found[:, length - 1] = (
            (mixed ^ (mixed >> np.uint64(29))) * np.uint64(0xBF58476D1CE4E5B9) >> np.uint64(20)
        ) % rows
    return found


def batches(text: np.ndarray, rows: int, size: int, first: int) -> Iterator[tuple[gradbag.Bags, np.ndarray]]:
    """Bags of n-grams and the bytes that follow; which they are depends on the number of the step alone."""
    windows = np.lib.stride_tricks.sliding_window_view(text, LONGEST + 1)
    for step in range(first, 1 << 60):
        chosen = windows[np.random.default_rng(step).integers(0, len(windows), size)]
        ids = rows_of_ngrams(chosen[:, :-1], rows)
        yield gradbag.Bags(ids.reshape(-1), np.arange(0, ids.size, LONGEST)), chosen[:, -1]


class Scores:
    """The matrix from a sum of rows to the next byte, with Adagrad."""

    def __init__(self, columns: int, rate: float) -> None:
        self.rate = rate
        self.matrix = np.random.default_rng(0).normal(size=(columns, SYMBOLS)).astype(np.float32) * columns**-0.5
        self.squares = np.full_like(self.matrix, 1e-6)

    def step(self, hidden: np.ndarray, wanted: np.ndarray) -> tuple[float, np.ndarray]:
        """The loss in nats a byte, and the gradient of the hidden rows."""
        scores = hidden @ self.matrix
        scores -= scores.max(1, keepdims=True)
        shares = np.exp(scores)
        shares /= shares.sum(1, keepdims=True)
        every = np.arange(len(wanted))
        loss = float(-np.log(shares[every, wanted] + 1e-30).mean())
        shares[every, wanted] -= 1
        shares /= len(wanted)
        grad_hidden = shares @ self.matrix.T
        grad = hidden.T @ shares
        self.squares += grad * grad
        self.matrix -= self.rate * grad / np.sqrt(self.squares)
        return loss, grad_hidden

    def path(self, folder: Path, step: int) -> Path:
        return folder / f"scores-{step}.npz"

    def checkpoint(self, folder: Path, table: gradbag.FileTable) -> None:
        """The scores of this step are there before the table says that it has come so far; older ones may go then."""
        np.savez(self.path(folder, table.step_count), matrix=self.matrix, squares=self.squares)
        table.checkpoint()
        for path in folder.glob("scores-*.npz"):
            if path != self.path(folder, table.step_count):
                path.unlink()

    def load(self, folder: Path, step: int) -> None:
        with np.load(self.path(folder, step)) as file:
            self.matrix, self.squares = file["matrix"], file["squares"]


def train(folder: Path, rows: int, columns: int, size: int, steps: int, words: int, every: int) -> list[float]:
    """The losses that were printed."""
    text = np.frombuffer(text_of_our_own(words), np.uint8)
    scores, path = Scores(columns, 0.02), folder / "ngrams"
    if path.exists():
        table = gradbag.FileTable.open(path)
        if table.step_count:
            scores.load(folder, table.step_count)
        print(f"going on after step {table.step_count}")
    else:
        table = gradbag.FileTable.create(path, rows, columns, gradbag.optim.Adagrad(0.02), init=0.01)
    losses, recent, begin = [], [], time.perf_counter()
    with table:
        print(table)
        coming = batches(text, table.rows, size, table.step_count)
        bags, wanted = next(coming)
        while table.step_count < steps:
            hidden = table.lookup(bags, combiner="sum")
            following = next(coming)
            table.prefetch(following[0])  # from the disk, while we compute
            loss, grad = scores.step(hidden, wanted)
            table.step(bags, grad, combiner="sum")
            bags, wanted = following
            recent.append(loss)
            if table.step_count % every == 0 or table.step_count == steps:
                scores.checkpoint(folder, table)
                losses.append(float(np.mean(recent)))
                recent = []
                spent = time.perf_counter() - begin
                print(f"step {table.step_count:5}   loss {losses[-1]:.3f} nats a byte   {spent:5.1f} s", flush=True)
        print(f"It goes on: {written_on(b'the cat ', table, scores)}")
    return losses


def written_on(text: bytes, table: gradbag.FileTable, scores: Scores, count: int = 80) -> str:
    """Bytes, one after the other, chosen by chance among the likeliest."""
    rng = np.random.default_rng(0)
    for _ in range(count):
        context = np.frombuffer(text[-LONGEST:], np.uint8)[None]
        hidden = table.lookup(gradbag.Bags(rows_of_ngrams(context, table.rows)[0], [0]), combiner="sum")
        text += bytes([int((hidden @ scores.matrix + 0.3 * rng.gumbel(size=SYMBOLS)).argmax())])
    return text.decode(errors="replace")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, help="where to keep it; otherwise it is gone at the end")
    parser.add_argument("--rows", type=int, default=1 << 22)
    parser.add_argument("--columns", type=int, default=32)
    parser.add_argument("--batch", type=int, default=1024)
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--words", type=int, default=30_000, help="of text")
    parser.add_argument("--every", type=int, default=30, help="steps from one checkpoint to the next")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = given.folder or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        train(folder, given.rows, given.columns, given.batch, given.steps, given.words, given.every)


if __name__ == "__main__":
    main()
