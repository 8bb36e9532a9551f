// The grid editor on a port's literal or on a setting that holds a tensor.
import type { Literal } from "../api/types";
import { valueTensor } from "../inspector/pages";
import { inOrder, setAttr, setLiteral } from "../page/edits";
import { argumentAt, isLink, splitPort } from "../page/links";
import { dtypesOf } from "../page/ports";
import { useStudio } from "../store";
import type { GridTarget } from "../store/types";
import { GridEditor } from "../values/GridEditor";

export default function GridDialog({ target }: { target: GridTarget }) {
  const { node, kind, name } = target;
  const entry = useStudio((s) => s.document.nodes[node]);
  const op = useStudio((s) => s.ops.get(s.document.nodes[node]?.op ?? ""));
  const checked = useStudio((s) => s.check?.nodes[node]);
  const all = useStudio((s) => s.catalogue?.dtypes) ?? [];
  // What lies in a data file is shown from the last run, where the block is still what it was then.
  const result = useStudio((s) => s.results[node]);
  const value = result?.key != null && result.key === checked?.key ? result.outputs?.[0] : undefined;
  const { edit, closeDialog } = useStudio.getState();
  if (!entry) return null;

  if (kind === "port") {
    const [port] = splitPort(name);
    const input = op?.inputs.find((one) => one.name === port);
    const dtypes = input ? dtypesOf(op, input) : all;
    const now = argumentAt(entry, name);
    return (
      <GridEditor
        literal={now === undefined || isLink(now) ? 0 : now}
        dtype={checked?.inputs[name]?.dtype ?? checked?.inputs[port]?.dtype ?? usual(dtypes)}
        dtypes={dtypes}
        title={`${node}.${name}`}
        onDone={(literal) => {
          edit(`edit ${node}.${name}`, setLiteral(node, name, literal));
          closeDialog();
        }}
        onCancel={closeDialog}
      />
    );
  }
  // A tensor's dtype stands in a setting of its own where the op has one.
  const type = op?.attrs.find((attr) => attr.kind === "type");
  const given = entry.attrs?.[name];
  const said = type && entry.attrs?.[type.name];
  const dtype = typeof said === "string" ? said : (checked?.outputs[0]?.dtype ?? "float32");
  const done = (literal: Literal) => {
    const typed = isTyped(literal) ? literal : null;
    const plain = typed && type && Object.keys(typed).every((key) => key === "value" || key === "dtype");
    edit(
      `edit ${node}.${name}`,
      inOrder(
        setAttr(node, name, plain ? typed.value : literal),
        ...(plain && type && typeof typed.dtype === "string" ? [setAttr(node, type.name, typed.dtype)] : []),
      ),
    );
    closeDialog();
  };
  return (
    <GridEditor
      literal={given ?? 0}
      dtype={dtype}
      dtypes={type?.allowed ?? (type ? all : [dtype])}
      title={`${node}.${name}`}
      load={value && (op?.inputs.length ?? 0) === 0 ? () => valueTensor(value) : undefined}
      onDone={done}
      onCancel={closeDialog}
    />
  );
}

/** What a person most likely means where nothing says a dtype. */
function usual(dtypes: readonly string[]): string {
  return ["float32", "int32"].find((dtype) => dtypes.includes(dtype)) ?? dtypes[0] ?? "float32";
}

function isTyped(literal: Literal): literal is { value: unknown; dtype?: unknown } {
  return typeof literal === "object" && literal !== null && !Array.isArray(literal) && "value" in literal;
}
