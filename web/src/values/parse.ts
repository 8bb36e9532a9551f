/** Text as tensors and tensors as text: what is pasted, typed into a port's field, shown and copied. */
export { ParseError } from "./errors";
export { formatColumn, formatNumber, toNumPyText } from "./format";
export { literalDtype, literalTensor, literalText, parseArgument, parseLiteral, tensorLiteral } from "./literals";
export { type Parsed, parseCells, parseTensor } from "./tensors";
