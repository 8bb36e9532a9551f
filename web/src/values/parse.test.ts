import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type Cell, nested, type Tensor } from "./cells";
import { DTYPES, kindOf, misfit } from "./dtypes";
import {
  formatColumn,
  formatNumber,
  literalText,
  ParseError,
  parseLiteral,
  parseTensor,
  tensorLiteral,
  toNumPyText,
} from "./parse";

function read(text: string, dtype = "") {
  const { value, shape } = parseTensor(text, dtype);
  return { value, shape };
}

function refusal(text: string, dtype = ""): string {
  try {
    parseTensor(text, dtype);
  } catch (error) {
    expect(error).toBeInstanceOf(ParseError);
    return (error as ParseError).message;
  }
  throw new Error(`${text} was read`);
}

/** The processor's time, so that a busy machine fails no test. */
function milliseconds(work: () => void): number {
  const before = process.cpuUsage();
  work();
  return process.cpuUsage(before).user / 1000;
}

describe("parseTensor", () => {
  it.each<[string, unknown, number[]]>([
    ["3", 3, []],
    [" -1.5e3 ", -1500, []],
    [
      "1\t2\n3\t4\n",
      [
        [1, 2],
        [3, 4],
      ],
      [2, 2],
    ],
    [
      "1\t2\r\n3\t4\r\n",
      [
        [1, 2],
        [3, 4],
      ],
      [2, 2],
    ],
    ["1, 2, 3", [1, 2, 3], [3]],
    [
      "1,2\n3,4",
      [
        [1, 2],
        [3, 4],
      ],
      [2, 2],
    ],
    ["1;2", [1, 2], [2]],
    ["1 2  3", [1, 2, 3], [3]],
    ["1\n2\n3", [1, 2, 3], [3]],
    ["[1 2 3]", [1, 2, 3], [3]],
    [
      "[[1. 2.]\n [3. 4.]]",
      [
        [1, 2],
        [3, 4],
      ],
      [2, 2],
    ],
    [
      "array([[1., 2.], [3., 4.]], dtype=float32)",
      [
        [1, 2],
        [3, 4],
      ],
      [2, 2],
    ],
    [
      "np.array([[1, 2],\n          [3, 4]])",
      [
        [1, 2],
        [3, 4],
      ],
      [2, 2],
    ],
    ["array([], shape=(0, 3), dtype=float32)", [], [0, 3]],
    [
      "np.array([1, 2, 3, 4]).reshape(2, 2)",
      [
        [1, 2],
        [3, 4],
      ],
      [2, 2],
    ],
    ["tensor([1., 2.], dtype=torch.float64)", [1, 2], [2]],
    ["<tf.Tensor: shape=(2,), dtype=int32, numpy=array([1, 2], dtype=int32)>", [1, 2], [2]],
    ["[np.float64(1.5), np.nan, -np.inf]", [1.5, "nan", "-inf"], [3]],
    [
      "{{1,2},{3,4}}",
      [
        [1, 2],
        [3, 4],
      ],
      [2, 2],
    ],
    [
      "((1, 2), (3, 4),)",
      [
        [1, 2],
        [3, 4],
      ],
      [2, 2],
    ],
    ["[True, False]", [true, false], [2]],
    ["TRUE\tFALSE", [true, false], [2]],
    ["[nan, inf, -inf]", ["nan", "inf", "-inf"], [3]],
    [
      "[1+2j, 3-4j, 5, 6j]",
      [
        [1, 2],
        [3, -4],
        [5, 0],
        [0, 6],
      ],
      [4],
    ],
    [
      "[(1+2j), (-1-0.5j)]",
      [
        [1, 2],
        [-1, -0.5],
      ],
      [2],
    ],
    [
      "[1.+2.j 3.-0.j]",
      [
        [1, 2],
        [3, -0],
      ],
      [2],
    ],
    ["['a', \"b\\n\", b'c']", ["a", "b\n", "c"], [3]],
    ["[]", [], [0]],
    ["[[], []]", [[], []], [2, 0]],
    ["9007199254740993", "9007199254740993", []],
    ["[-9223372036854775808]", ["-9223372036854775808"], [1]],
    ["[1_000, .5, 5.]", [1000, 0.5, 5], [3]],
    ["−1\t+2", [-1, 2], [2]],
  ])("reads %j", (text, value, shape) => {
    expect(read(text)).toEqual({ value, shape });
  });

  it("reads the dtype that the text names", () => {
    expect(parseTensor("array([1., 2.], dtype=float32)").dtype).toBe("float32");
    expect(parseTensor("array(['a'], dtype='<U1')").dtype).toBe("string");
    expect(parseTensor("[1.5]").dtype).toBeNull();
  });

  it("keeps words as text where text is wanted", () => {
    expect(read("a\tb c\n1\t2", "string")).toEqual({
      value: [
        ["a", "b c"],
        ["1", "2"],
      ],
      shape: [2, 2],
    });
    expect(read('"say ""hi"""\tb', "string").value).toEqual(['say "hi"', "b"]);
  });

  it.each([
    ["[[1, 2], [3]]", "The 2nd row has 1 value, the ones before it have 2 (column 10)"],
    ["1\t2\n3\t4\t5", "The 2nd row has 3 values, the ones before it have 2 (line 2, column 1)"],
    ["[[[1, 2]], [[3]]]", "This list has 1 value, the ones before it have 2 (column 13)"],
    ["[1, [2]]", "A list stands beside single values (column 5)"],
    ["[[1], 2]", "A single value stands beside a list (column 8)"],
    ["[1, None]", "“None” is no value; write nan for a number that is missing (column 5)"],
    ["[1 2 ... 8 9]", "NumPy left values out here; print with np.set_printoptions(threshold=np.inf) (column 6)"],
    ["1,5\t2,5", "“1,5” is no number; write 1.5 with a point (column 1)"],
    ["[1, two]", "“two” is no number (column 5)"],
    ["[1, 2", "This list is never closed with ] (column 1)"],
    ["[1, 2)", ") stands where ] should (column 6)"],
    ["[1,,2]", "A value is missing between two commas (column 4)"],
    ["1\t\t2", "A value is missing (column 3)"],
    ["1e999", "“1e999” is larger than any float64 (column 1)"],
    ["[1, True]", "True or False stands beside numbers; a tensor holds one kind (column 1)"],
    ["#REF!\t1", "“#REF!” is an error of the spreadsheet, no value (column 1)"],
    ["[1] 2", "The tensor ends before “2” (column 5)"],
    ["", "There is no value here"],
    ["array([1, 2], shape=(3,))", "The text says the shape [3], but it holds 2 values (column 1)"],
  ])("refuses %j", (text, message) => {
    expect(refusal(text)).toBe(message);
  });

  it("refuses deep nesting in words", () => {
    expect(refusal("[".repeat(100_000))).toMatch(/^More than 32 lists/);
  });

  it("reads a megabyte within a second", () => {
    const row = Array.from({ length: 100 }, (_, at) => (at * 1.2345).toFixed(4)).join(", ");
    const lists = `[${Array.from({ length: 1500 }, () => `[${row}]`).join(",\n")}]`;
    const cells = Array.from({ length: 1500 }, () => row.replaceAll(", ", "\t")).join("\n");
    const braces = lists.replaceAll("[", "{").replaceAll("]", "}");
    for (const text of [lists, cells, braces]) {
      expect(text.length).toBeGreaterThan(1_000_000);
      expect(milliseconds(() => expect(parseTensor(text).shape).toEqual([1500, 100]))).toBeLessThan(1000);
    }
  });

  it("answers a megabyte of nonsense within a second", () => {
    for (const text of [
      "1".repeat(1_000_000),
      "1e".repeat(500_000),
      "[[],".repeat(250_000),
      "_1".repeat(500_000),
      '"\\'.repeat(400_000),
    ]) {
      expect(milliseconds(() => expect(() => parseTensor(text)).toThrow(ParseError))).toBeLessThan(1000);
    }
  });
});

// ------------------------------------------------------------------ properties
const SIGNS = [..."[](){}<>,;:='\"\\ \t\n\r+-.0123456789eEjJ_naifNTruxb#"];
const hostile = fc.oneof(
  fc.string(),
  fc.string({ unit: "binary" }),
  fc
    .array(fc.constantFrom(...SIGNS, "array(", "dtype=", "shape=(", ".reshape(", "True", "nan", "inf", "None"), {
      maxLength: 40,
    })
    .map((parts) => parts.join("")),
);

const real = fc.double({ noNaN: true, noDefaultInfinity: true });
const float: fc.Arbitrary<Cell> = fc.oneof(real, fc.constantFrom<Cell>("nan", "inf", "-inf", 0, 1, -1));
const whole: fc.Arbitrary<Cell> = fc
  .bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n })
  .map((n) => (Number.isSafeInteger(Number(n)) ? Number(n) : n.toString()));
const byKind: Record<string, fc.Arbitrary<Cell>> = {
  float64: float,
  int64: whole,
  bool: fc.boolean(),
  complex128: fc.tuple(float, float) as fc.Arbitrary<Cell>,
  string: fc.string({ unit: "grapheme" }),
};
const tensors = fc
  .constantFrom(...Object.keys(byKind))
  .chain((dtype) =>
    fc
      .array(fc.integer({ min: 0, max: 3 }), { maxLength: 3 })
      .chain((shape) =>
        fc
          .array(byKind[dtype] as fc.Arbitrary<Cell>, { minLength: size(shape), maxLength: size(shape) })
          .map((cells): { dtype: string; tensor: Tensor } => ({ dtype, tensor: { shape, cells } })),
      ),
  );

function size(shape: number[]): number {
  return shape.reduce((product, length) => product * length, 1);
}

describe("for any text and tensor", () => {
  it("hostile text is read, or refused with a ParseError", () => {
    fc.assert(
      fc.property(hostile, fc.constantFrom("", "string", "complex64", "int8", "bool"), (text, dtype) => {
        for (const parse of [() => parseTensor(text, dtype), () => parseLiteral(text, dtype)]) {
          try {
            parse();
          } catch (error) {
            expect(error).toBeInstanceOf(ParseError);
            expect((error as ParseError).message).toMatch(/\S/);
          }
        }
      }),
      { numRuns: 3000 },
    );
  });

  it("NumPy text reads back to the same values", () => {
    fc.assert(
      fc.property(tensors, ({ dtype, tensor }) => {
        const value = nested(tensor.cells, tensor.shape);
        const text = toNumPyText(value, dtype, tensor.shape);
        // Python has no literal for an odd complex number, and a call of two arguments is no tensor's text.
        fc.pre(!text.includes("complex(") && tensor.shape.every((length) => length > 0));
        const back = parseTensor(text, dtype);
        expect(back.shape).toEqual(tensor.shape);
        expect(back.value).toEqual(value);
      }),
      { numRuns: 1000 },
    );
  });

  it("a literal's line reads back to the same literal", () => {
    fc.assert(
      fc.property(tensors, fc.boolean(), ({ dtype, tensor }, named) => {
        const literal = tensorLiteral(tensor, named ? dtype : undefined);
        expect(parseLiteral(literalText(literal, dtype), dtype)).toEqual(literal);
      }),
      { numRuns: 2000 },
    );
  });

  it("a literal's line needs no dtype to be written", () => {
    fc.assert(
      fc.property(tensors, ({ dtype, tensor }) => {
        const literal = tensorLiteral(tensor);
        expect(parseLiteral(literalText(literal), dtype)).toEqual(literal);
      }),
      { numRuns: 2000 },
    );
  });

  it("a short number is never longer than twelve signs", () => {
    fc.assert(fc.property(real, (number) => formatNumber(number, "float64").length <= 12));
  });
});

describe("literals", () => {
  it.each<[string, string, unknown]>([
    ["3", "int32", 3],
    ["1", "bool", true],
    ["true", "bool", true],
    ["[0, 1]", "bool", [false, true]],
    ["hello, world", "string", "hello, world"],
    ['["a", "b"]', "string", ["a", "b"]],
    ["1+2j", "complex64", [1, 2]],
    [
      "[1, 2, 3]",
      "complex64",
      [
        [1, 0],
        [2, 0],
        [3, 0],
      ],
    ],
    ["0 int32", "", { value: 0, dtype: "int32" }],
    ["1+2j", "", { value: [1, 2], dtype: "complex128" }],
    ["[] float32 shape [0, 3]", "", { value: [], dtype: "float32", shape: [0, 3] }],
    ["file data/w.npy", "float32", { file: "data/w.npy" }],
    ['base64 ["aGk="]', "string", { base64: ["aGk="] }],
    [
      "{{1,2},{3,4}}",
      "float32",
      [
        [1, 2],
        [3, 4],
      ],
    ],
    ["1, 2, 3", "int64", [1, 2, 3]],
    ["np.array([1, 2], dtype=np.int64)", "", { value: [1, 2], dtype: "int64" }],
    ["18446744073709551615", "uint64", "18446744073709551615"],
  ])("reads %j as %s", (text, dtype, literal) => {
    expect(parseLiteral(text, dtype)).toEqual(literal);
  });

  it.each([
    ["1.5", "int32", "1.5 is not a whole number, and int32 holds whole numbers only"],
    ["300", "uint8", "300 does not fit uint8, which reaches from 0 to 255"],
    [
      "9223372036854775808",
      "int64",
      "9223372036854775808 does not fit int64, which reaches from -9223372036854775808 to 9223372036854775807",
    ],
    ["1e5", "float16", "100000 does not fit float16"],
    ["2", "bool", "2 is no bool: write True or False"],
    ["1+2j", "float32", "1+2j is complex; float32 is real"],
    ["[1, 2] shape [3]", "int32", "The shape [3] does not hold 2 values"],
  ])("refuses %j as %s", (text, dtype, message) => {
    expect(() => parseLiteral(text, dtype)).toThrow(message);
  });

  it("knows a dtype by name only", () => {
    for (const dtype of DTYPES) expect(kindOf(dtype)).not.toBe("");
    expect(kindOf("constructor")).toBe("");
    expect(misfit(1, "constructor")).toBe("");
  });
});

describe("numbers for reading", () => {
  it.each<[unknown, string, string]>([
    [1 / 3, "float64", "0.333333"],
    [5 / 3, "float32", "1.66667"],
    [1e-7, "float64", "1e-7"],
    [123456789.5, "float64", "1.235e8"],
    [3, "float64", "3"],
    [-0, "float64", "-0"],
    ["nan", "float32", "nan"],
    [true, "bool", "True"],
    [[1, -2], "complex64", "1-2j"],
    ["9007199254740993", "int64", "9007199254740993"],
    ["text", "string", "text"],
    [null, "float32", ""],
  ])("shows %j of %s as %s", (cell, dtype, text) => {
    expect(formatNumber(cell, dtype)).toBe(text);
  });

  it("lines up the points of a column", () => {
    expect(formatColumn([1, 0.25, "nan", 10.5], "float64")).toEqual(["1   ", "0.25", "nan", "10.5 "]);
    expect(formatColumn([1, 20], "int32")).toEqual(["1", "20"]);
  });

  it("writes NumPy text", () => {
    expect(
      toNumPyText(
        [
          [1, 2],
          [3, 4],
        ],
        "float32",
      ),
    ).toBe("np.array([[1, 2], [3, 4]], dtype=np.float32)");
    expect(toNumPyText(["nan", "-inf"], "float64")).toBe("np.array([np.nan, -np.inf], dtype=np.float64)");
    expect(toNumPyText([], "int32", [0, 3])).toBe("np.array([], dtype=np.int32).reshape(0, 3)");
    expect(toNumPyText([[1, 2]], "complex64")).toBe("np.array([1+2j], dtype=np.complex64)");
    expect(toNumPyText(true, "bool")).toBe("np.array(True, dtype=bool)");
    expect(toNumPyText(["a"], "string")).toBe('np.array(["a"], dtype=object)');
  });
});
