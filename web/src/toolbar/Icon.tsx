// The studio's icons: strokes on a 16-pixel grid, in the colour of the text around them.
import { memo } from "react";

const PATHS = {
  run: "M5 3.5v9l7-4.5z",
  runTo: "M3 3.5v9l6-4.5zM12.5 3v10",
  step: "M3 3.5v9l4.5-4.5zM10 8h.01M13 8h.01",
  loop: "M12.5 6A5 5 0 1 0 13 8.5M13 3v3h-3",
  stop: "M4.5 4.5h7v7h-7z",
  undo: "M6 3 3 6l3 3M3 6h6.5a3.5 3.5 0 0 1 0 7H7",
  redo: "m10 3 3 3-3 3M13 6H6.5a3.5 3.5 0 0 0 0 7H9",
  tidy: "M2.5 3h4v3h-4zM2.5 10h4v3h-4zM10 6.5h3.5v3H10zM6.5 4.5H8v7H6.5M8 8h2",
  gradient: "M2.5 4h11L8 13z",
  export: "M8 10V2.5M5 5l3-3 3 3M3 10v3h10v-3",
  sun: "M8 5.2a2.8 2.8 0 1 0 0 5.6 2.8 2.8 0 0 0 0-5.6M8 1.5v1.4M8 13.1v1.4M1.5 8h1.4M13.1 8h1.4M3.4 3.4l1 1M11.6 11.6l1 1M12.6 3.4l-1 1M4.4 11.6l-1 1",
  moon: "M13 9.5A5.5 5.5 0 0 1 6.5 3 5.5 5.5 0 1 0 13 9.5",
  system: "M2.5 3h11v8h-11zM6 13.5h4M8 11v2.5",
  help: "M6 6a2 2 0 1 1 2.8 1.8c-.6.3-.8.7-.8 1.4M8 11.7h.01",
  keys: "M2 4.5h12v7H2zM4.5 7h.01M7 7h.01M9.5 7h.01M11.7 7h.01M5 9.3h6",
  plus: "M8 3.5v9M3.5 8h9",
  close: "m4.5 4.5 7 7M11.5 4.5l-7 7",
  grid: "M2.5 3.5h11v9h-11zM2.5 6.5h11M2.5 9.5h11M6.2 3.5v9M9.8 3.5v9",
  search: "M7 3a4 4 0 1 0 0 8 4 4 0 0 0 0-8M10 10l3.5 3.5",
  file: "M4 2.5h5l3 3v8H4zM9 2.5v3h3",
  save: "M3 3h8l2 2v8H3zM5.5 3v3h4V3M5 13V9h6v4",
  blocks: "M2.5 2.5h4.5v4.5H2.5zM9 2.5h4.5v4.5H9zM2.5 9h4.5v4.5H2.5zM9 9h4.5v4.5H9z",
  list: "M5.5 4h8M5.5 8h8M5.5 12h8M2.5 4h.01M2.5 8h.01M2.5 12h.01",
  fit: "M3 6V3h3M10 3h3v3M13 10v3h-3M6 13H3v-3",
  left: "M2.5 3h11v10h-11zM6 3v10",
  right: "M2.5 3h11v10h-11zM10 3v10",
  more: "M4 8h.01M8 8h.01M12 8h.01",
  note: "M3 3h10v7l-3 3H3zM13 10h-3v3",
  group: "M2.5 4.5v-2h2M11.5 2.5h2v2M13.5 11.5v2h-2M4.5 13.5h-2v-2M5.5 5.5h5v5h-5z",
  trash: "M3 4.5h10M6.5 4.5V3h3v1.5M4.5 4.5l.5 8.5h6l.5-8.5",
  pen: "m3 13 .7-3L10.5 3.200 12.800 5.500 6 12.300z",
  warning: "M8 2.500 14 13H2zM8 6.500v3M8 11.300h.01",
  down: "m4.500 6.500 3.500 3.500 3.500-3.500",
} as const;

export type IconName = keyof typeof PATHS;

export const Icon = memo(function Icon({ name }: { name: IconName }) {
  return (
    <svg className="icon" viewBox="0 0 16 16" width="16" height="16" aria-hidden="true" focusable="false">
      <path d={PATHS[name]} />
    </svg>
  );
});

type ButtonProps = {
  icon: IconName;
  title: string;
  label?: string; // what the screen reader says, where the title does not tell what it is about
  className?: string;
  tabIndex?: number;
  onClick(): void;
};

export function IconButton({ icon, label, className = "ghost tiny", ...props }: ButtonProps) {
  return (
    <button type="button" className={className} aria-label={label ?? props.title} {...props}>
      <Icon name={icon} />
    </button>
  );
}
