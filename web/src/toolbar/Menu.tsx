// A button that opens a list of commands.
import { type ReactNode, useEffect, useRef, useState } from "react";

export type Command = { label: string; keys?: string; run(): void; disabled?: boolean; note?: string } | "line";

export function Menu({
  label,
  title,
  children,
  commands,
}: {
  label: string;
  title: string;
  children: ReactNode;
  commands: Command[];
}) {
  const [open, setOpen] = useState(false);
  const root = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (!open) return;
    const outside = (event: PointerEvent) => {
      if (!(event.target instanceof Node && root.current?.contains(event.target))) setOpen(false);
    };
    window.addEventListener("pointerdown", outside, true);
    return () => window.removeEventListener("pointerdown", outside, true);
  }, [open]);
  return (
    <div className="menu" ref={root}>
      <button
        type="button"
        className="ghost"
        aria-haspopup="menu"
        aria-expanded={open}
        aria-label={label}
        title={title}
        onClick={() => setOpen(!open)}
      >
        {children}
      </button>
      {open && (
        <Commands
          label={label}
          commands={commands}
          onClose={() => {
            setOpen(false);
            root.current?.querySelector("button")?.focus();
          }}
        />
      )}
    </div>
  );
}

/** The list itself: arrows go through it, Escape leaves it. */
export function Commands({ label, commands, onClose }: { label: string; commands: Command[]; onClose(): void }) {
  const list = useRef<HTMLDivElement>(null);
  useEffect(() => {
    list.current?.querySelector<HTMLElement>("[role=menuitem]:not(:disabled)")?.focus();
  }, []);
  const step = (by: number) => {
    const items = [...(list.current?.querySelectorAll<HTMLElement>("[role=menuitem]:not(:disabled)") ?? [])];
    const at = items.indexOf(document.activeElement as HTMLElement);
    items[(at + by + items.length) % items.length]?.focus();
  };
  return (
    <div
      className="menu-list"
      role="menu"
      tabIndex={-1}
      aria-label={label}
      ref={list}
      onKeyDown={(event) => {
        if (event.key === "ArrowDown") step(1);
        else if (event.key === "ArrowUp") step(-1);
        else if (event.key === "Escape" || event.key === "Tab") onClose();
        else return;
        event.preventDefault();
        event.stopPropagation();
      }}
    >
      {commands.map((command, place) =>
        command === "line" ? (
          // biome-ignore lint/suspicious/noArrayIndexKey: a line has nothing else
          <hr key={`line ${place}`} />
        ) : (
          <button
            key={command.label}
            type="button"
            role="menuitem"
            disabled={command.disabled ?? false}
            onClick={() => {
              onClose();
              command.run();
            }}
          >
            <span>
              {command.label}
              {command.note && <small>{command.note}</small>}
            </span>
            {command.keys && <kbd>{command.keys.replace(/^ \((.*)\)$/, "$1")}</kbd>}
          </button>
        ),
      )}
    </div>
  );
}
