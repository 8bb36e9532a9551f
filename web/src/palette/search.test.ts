import { expect, test } from "vitest";
import type { OpInfo } from "../api/types";
import { finder, wordsOf } from "./search";

const op = (name: string, title: string, category: string, summary: string, words = ""): OpInfo => ({
  name,
  title,
  category,
  summary,
  words,
  sparse: false,
  gradient: false,
  fed: false,
  differentiable: false,
  types: {},
  inputs: [],
  outputs: [],
  attrs: [],
  example: {},
});

const find = finder([
  op("RowMeanGrad", "Row mean gradient", "Gradients", "The gradient of the mean"),
  op("RowMean", "Row mean", "Segments", "Averages rows", "average"),
  op("Plus", "Plus", "Arithmetic", "The sum of two tensors, row by row"),
]);

test("all words in the name come first, however they are run together", () => {
  const some = finder([
    op("SqrtGrad", "Sqrt grad", "Arithmetic", "The gradient of a root"),
    op("SparseSegmentSqrtNGrad", "x", "Gradients", "Spreads rows"),
    op("Relu", "Relu", "Arithmetic", "Takes neg numbers away"),
    op("Neg", "Neg", "Arithmetic", "The opposite"),
  ]);
  expect(some("sqrtn grad")[0]?.name).toBe("SparseSegmentSqrtNGrad");
  expect(some("neg").map((one) => one.name)).toEqual(["Neg", "Relu"]);
});

test("CamelCase is several words and one", () => {
  expect(wordsOf("RowMeanGrad")).toEqual(["Row", "Mean", "Grad", "RowMeanGrad"]);
  expect(wordsOf("a top-k")).toEqual(["a", "top", "k"]);
});

test("by name, beginning, category, text, and with a slip", () => {
  expect(find("rowmean")[0]?.name).toBe("RowMean");
  expect(find("gradients")[0]?.name).toBe("RowMeanGrad");
  expect(find("avera")[0]?.name).toBe("RowMean");
  expect(find("arithmetc")[0]?.name).toBe("Plus");
  expect(find("plus")[0]?.name).toBe("Plus");
  expect(find("nothing like it at all")).toEqual([]);
});
