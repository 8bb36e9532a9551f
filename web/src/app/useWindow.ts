// What concerns the whole window: keys, clipboard, dropped files, the theme, and leaving.
import { useEffect } from "react";
import { placeOnPage } from "../canvas/view";
import { isData } from "../page/data";
import { useStudio } from "../store";
import { counted } from "../store/editing";
import { keyFor } from "../toolbar/keys";

export function useWindow(): void {
  useEffect(() => {
    const controller = new AbortController();
    const { signal } = controller;
    const studio = useStudio.getState;

    window.addEventListener(
      "keydown",
      (event) => {
        if (event.defaultPrevented || event.isComposing || studio().dialog) return;
        const key = keyFor(event);
        if (!key?.run) return;
        event.preventDefault();
        key.run(event.key);
      },
      { signal },
    );

    // ------------------------------------------------------------ clipboard
    const copy = (event: ClipboardEvent) => {
      if (studio().dialog || isText(event.target) || !window.getSelection()?.isCollapsed) return;
      const text = studio().fragment();
      if (!text) return;
      event.preventDefault();
      event.clipboardData?.setData("text/plain", text);
      studio().say(`Copied ${counted(studio().selection.nodes.length, "block")}`);
      if (event.type === "cut") studio().removeSelection();
    };
    document.addEventListener("copy", copy, { signal });
    document.addEventListener("cut", copy, { signal });
    document.addEventListener(
      "paste",
      (event) => {
        if (studio().dialog || isText(event.target)) return;
        const text = event.clipboardData?.getData("text/plain");
        if (!text) return;
        event.preventDefault();
        void studio().paste(text);
      },
      { signal },
    );

    // ------------------------------------------------------------ dropped files
    window.addEventListener(
      "dragover",
      (event) => {
        if (event.dataTransfer?.types.includes("Files")) event.preventDefault();
      },
      { signal },
    );
    window.addEventListener(
      "drop",
      (event) => {
        const file = event.dataTransfer?.files[0];
        if (!file) return;
        event.preventDefault();
        const port =
          event.target instanceof Element && event.target.closest(".port.input")?.querySelector("[data-port]");
        const place = port instanceof HTMLElement ? (port.dataset.port ?? null) : null;
        if (isData(file)) void studio().insertData(file, placeOnPage([event.clientX, event.clientY]), place);
        else void studio().openDropped(file);
      },
      { signal },
    );

    window.addEventListener(
      "hashchange",
      () => {
        const wanted = /[#&]page=([^&]+)/.exec(location.hash)?.[1];
        const path = wanted && decodeURIComponent(wanted);
        if (path && path !== studio().file.path) void studio().openPath(path);
      },
      { signal },
    );
    window.addEventListener(
      "beforeunload",
      (event) => {
        const { file } = studio();
        if (file.save === "changed" || file.save === "saving" || file.save === "failed") event.preventDefault();
      },
      { signal },
    );
    return () => controller.abort();
  }, []);

  const theme = useStudio((s) => s.theme);
  useEffect(() => {
    const dark = window.matchMedia("(prefers-color-scheme: dark)");
    const apply = () => {
      document.documentElement.dataset.theme = theme === "system" ? (dark.matches ? "dark" : "light") : theme;
    };
    apply();
    dark.addEventListener("change", apply);
    return () => dark.removeEventListener("change", apply);
  }, [theme]);

  const title = useStudio((s) => s.document.title || s.file.path || "Untitled page");
  useEffect(() => {
    document.title = `${title} · gradbag studio`;
  }, [title]);
}

function isText(target: EventTarget | null): boolean {
  return target instanceof Element && target.closest("input, textarea, select, [contenteditable=true]") !== null;
}
