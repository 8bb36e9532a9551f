// @vitest-environment jsdom
import { act } from "react";
import { createRoot } from "react-dom/client";
import { beforeEach, expect, test, vi } from "vitest";
import { useDraft } from "./useDraft";

vi.stubGlobal("IS_REACT_ACT_ENVIRONMENT", true);
const onText = vi.fn();
let draft: ReturnType<typeof useDraft>;

function Probe({ shown }: { shown: string }) {
  draft = useDraft(shown, onText);
  return <input {...draft.field} />;
}

const root = createRoot(document.body.appendChild(document.createElement("div")));
const show = (shown: string) => act(() => root.render(<Probe key="probe" shown={shown} />));
const type = (value: string) => act(() => draft.field.onChange({ target: { value } } as never));

beforeEach(() => {
  onText.mockReset();
  show("before");
  act(() => draft.drop());
});

test("what is typed is a draft until it is taken over, once", () => {
  type("after");
  show("changed elsewhere");
  expect(draft.field.value).toBe("after");
  act(() => draft.commit());
  act(() => draft.commit());
  expect(onText).toHaveBeenCalledExactlyOnceWith("after");
  expect(draft.field.value).toBe("changed elsewhere");
});

test("a text that is refused stays, with the reason, until it is changed", () => {
  onText.mockImplementation(() => {
    throw new Error("No number.");
  });
  type("x");
  act(() => draft.commit());
  expect([draft.field.value, draft.wrong]).toEqual(["x", "No number."]);
  type("xy");
  expect(draft.wrong).toBe("");
});

test("what stands there already, or was dropped, is not taken over", () => {
  type("before");
  act(() => draft.commit());
  type("after");
  act(() => draft.drop());
  act(() => draft.commit());
  expect(onText).not.toHaveBeenCalled();
});
