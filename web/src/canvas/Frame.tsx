// Groups, drawn as frames behind their blocks, and notes.
import { type NodeProps, NodeResizer } from "@xyflow/react";
import { memo, useEffect, useRef, useState } from "react";
import { setGroup, setNote } from "../page/edits";
import { useStudio } from "../store";
import { IconButton } from "../toolbar/Icon";
import { useDraft } from "../values/useDraft";
import { NoteText } from "./NoteText";
import type { GroupNode, NoteNode } from "./nodes";

const HUES = [0, 1, 2, 3, 4, 5];

function hue(color: number | undefined): string {
  return `hue-${HUES.includes(color ?? 5) ? (color ?? 5) : 5}`;
}

function Hues({ label, onPick }: { label: string; onPick(color: number): void }) {
  return (
    <span className="hues nodrag">
      {HUES.map((color) => (
        <button
          key={color}
          type="button"
          className={`hue-pick hue-${color}`}
          aria-label={`Colour ${color + 1} for ${label}`}
          title={`Colour ${color + 1}`}
          onClick={() => onPick(color)}
        />
      ))}
    </span>
  );
}

export const Frame = memo(function Frame({ data, selected }: NodeProps<GroupNode>) {
  const { name, group } = data;
  const edit = useStudio((s) => s.edit);
  const { field } = useDraft(group.title, (title) => edit("name the group", setGroup(name, { ...group, title })));
  return (
    <div className={`group-frame ${hue(group.color)}${selected ? " selected" : ""}`} data-group={name}>
      <div className="group-title">
        <input
          className="nodrag"
          aria-label="Title of the group"
          {...field}
          onKeyDown={(event) => {
            if (event.key === "Enter") event.currentTarget.blur();
          }}
        />
        {selected && (
          <>
            <Hues
              label={group.title}
              onPick={(color) => edit("colour the group", setGroup(name, { ...group, color }))}
            />
            <IconButton
              className="ghost tiny nodrag"
              icon="close"
              label={`Take the frame ${group.title} away`}
              title="Take the frame away; the blocks stay"
              onClick={() => edit("ungroup", setGroup(name, undefined))}
            />
          </>
        )}
      </div>
    </div>
  );
});

export const NoteBox = memo(function NoteBox({ data, selected }: NodeProps<NoteNode>) {
  const { name, note } = data;
  const edit = useStudio((s) => s.edit);
  const { field } = useDraft(note.text, (text) => edit("write a note", setNote(name, { ...note, text })));
  const area = useRef<HTMLTextAreaElement>(null);
  const [writing, setWriting] = useState(note.text === "" && selected);
  useEffect(() => {
    if (writing) area.current?.focus();
  }, [writing]);
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: there is a button for it
    <div
      className={`note ${hue(note.color ?? 2)}${selected ? " selected" : ""}`}
      data-note={name}
      onDoubleClick={() => setWriting(true)}
    >
      <NodeResizer
        isVisible={selected}
        minWidth={120}
        minHeight={56}
        onResizeEnd={(_, { x, y, width, height }) =>
          edit("resize the note", setNote(name, { ...note, at: [x, y], size: [Math.round(width), Math.round(height)] }))
        }
      />
      <div className="note-bar">
        {selected && (
          <>
            <Hues label="the note" onPick={(color) => edit("colour the note", setNote(name, { ...note, color }))} />
            <IconButton
              className="ghost tiny nodrag"
              icon="pen"
              title="Write in the note (double-click)"
              onClick={() => setWriting(true)}
            />
            <IconButton
              className="ghost tiny nodrag"
              icon="close"
              title="Delete the note"
              onClick={() => edit("delete the note", setNote(name, undefined))}
            />
          </>
        )}
      </div>
      {writing || !note.text ? (
        <textarea
          ref={area}
          className="nodrag nowheel"
          aria-label="Text of the note"
          placeholder="Write a note: # heading, **bold**, $x_i$, [row 2](#block.2)"
          {...field}
          onBlur={() => {
            field.onBlur();
            setWriting(false);
          }}
        />
      ) : (
        <NoteText text={note.text} />
      )}
    </div>
  );
});
