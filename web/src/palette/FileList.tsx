// The pages of the folder, the examples, and work that a crash left behind.
import type { FileInfo } from "../api/types";
import { useStudio } from "../store";
import { bareName } from "../store/files";
import { Icon, IconButton } from "../toolbar/Icon";
import { pickFile } from "../toolbar/Toolbar";

export function FileList() {
  const files = useStudio((s) => s.files);
  const path = useStudio((s) => s.file.path);
  const journal = useStudio((s) => s.file.journal);
  const readonly = useStudio((s) => s.session?.readonly ?? false);
  const studio = useStudio.getState;
  if (!files) return <p className="quiet">Looking for pages…</p>;
  const recovered = files.recovered.filter((one) => one.path !== journal);
  return (
    <div className="files">
      <div className="file-tools">
        <button type="button" className="ghost" onClick={() => studio().newPage()}>
          <Icon name="plus" /> New
        </button>
        <button
          type="button"
          className="ghost"
          onClick={pickFile}
          title="A page, GraphDef, or a picture with a page inside"
        >
          <Icon name="file" /> Import…
        </button>
      </div>
      <div className="scroll">
        {recovered.length > 0 && (
          <section>
            <h2>Not saved yet</h2>
            <ul>
              {recovered.map(({ path, title, saved_at, blocks }) => (
                <li key={path} className="file-row">
                  <button type="button" className="file" onClick={() => void studio().openPath(path)}>
                    <span className="op-title">
                      {path.startsWith("untitled-") ? title || "An untitled page" : path}
                    </span>
                    <span className="op-note">
                      {whenText(saved_at)}
                      {blocks.length ? ` · ${blocks.join(", ")}` : " · no blocks"}
                    </span>
                  </button>
                  <IconButton
                    icon="trash"
                    label={`Discard ${title || path}`}
                    title="Discard"
                    onClick={() => void studio().discardJournal(path)}
                  />
                </li>
              ))}
            </ul>
          </section>
        )}
        <section>
          <h2>Pages</h2>
          {!files.pages.length && <p className="quiet">This folder has no pages yet. Ctrl+S saves this one into it.</p>}
          <ul>
            {files.pages.map((file) => (
              <FileRow key={file.path} file={file} open={file.path === path} editable={!readonly} />
            ))}
          </ul>
        </section>
        {files.captures.length > 0 && (
          <section>
            <h2>Records of models</h2>
            <ul>
              {files.captures.map((one) => (
                <li key={one} className="file-row">
                  <button type="button" className="file" onClick={() => studio().openCapture(one)}>
                    <span className="op-title">{one}</span>
                    <span className="op-note">made by gradbag.capture</span>
                  </button>
                </li>
              ))}
            </ul>
          </section>
        )}
        {files.examples.length > 0 && (
          <section>
            <h2>Examples</h2>
            <ul>
              {files.examples.map((file) => (
                <FileRow key={file.path} file={file} open={file.path === path} editable={false} />
              ))}
            </ul>
          </section>
        )}
      </div>
      <p className="hint">Files can also be dropped onto the window.</p>
    </div>
  );
}

/** Day and time as this user writes them. */
function whenText(at: string): string {
  const when = new Date(at);
  return Number.isNaN(when.getTime())
    ? ""
    : when.toLocaleString(undefined, { dateStyle: "medium", timeStyle: "short" });
}

function FileRow({ file, open, editable }: { file: FileInfo; open: boolean; editable: boolean }) {
  const studio = useStudio.getState;
  const short = bareName(file.path.replace(/^example:/, ""));
  return (
    <li className={`file-row${open ? " open" : ""}`}>
      <button
        type="button"
        className="file"
        aria-current={open ? "page" : undefined}
        title={file.path}
        onClick={() => void studio().openPath(file.path)}
      >
        <span className="op-title">{file.title || short}</span>
        <span className="op-note">
          {short}
          {file.problems ? " · has problems" : ""}
        </span>
      </button>
      {editable && (
        <>
          <IconButton
            icon="pen"
            label={`Rename ${file.path}`}
            title="Rename"
            onClick={() => studio().openDialog({ kind: "rename-file", path: file.path })}
          />
          <IconButton
            icon="trash"
            label={`Delete ${file.path}`}
            title="Delete"
            onClick={() => studio().openDialog({ kind: "delete-file", path: file.path })}
          />
        </>
      )}
    </li>
  );
}
