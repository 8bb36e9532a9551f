// All keys, from the table that the handler obeys.
import { Fragment } from "react";
import { KEYS, type Key, printed } from "../toolbar/keys";
import { Dialog } from "./Dialog";

const GROUPS: Key["group"][] = ["Run", "Edit", "Canvas", "File", "View"];

export function KeysDialog() {
  return (
    <Dialog title="Keys" wide>
      <div className="keys">
        {GROUPS.map((group) => (
          <section key={group}>
            <h3>{group}</h3>
            <dl>
              {KEYS.filter((key) => key.group === group).map((key) => (
                <div key={key.label}>
                  <dt>
                    {(key.keys.length > 2 ? [withoutArrow(key.keys[0] as string)] : key.keys).map((one, place) => (
                      <Fragment key={one}>
                        {place > 0 && " or "}
                        <Combination
                          parts={
                            one.endsWith("arrows")
                              ? [...printed(one.slice(0, -6)).filter(Boolean), "arrows"]
                              : printed(one)
                          }
                        />
                      </Fragment>
                    ))}
                  </dt>
                  <dd>{key.label}</dd>
                </div>
              ))}
            </dl>
          </section>
        ))}
        <section>
          <h3>Mouse</h3>
          <dl>
            <div>
              <dt>Double-click</dt>
              <dd>Find and add a block there</dd>
            </div>
            <div>
              <dt>Click, click</dt>
              <dd>Connect a dot with another</dd>
            </div>
            <div>
              <dt>
                <kbd>Shift</kbd>+drag
              </dt>
              <dd>Select what a box holds</dd>
            </div>
            <div>
              <dt>Wheel</dt>
              <dd>Zoom</dd>
            </div>
          </dl>
        </section>
      </div>
    </Dialog>
  );
}

function withoutArrow(combination: string): string {
  return `${combination.replace(/\+?Arrow\w+$/, "")}arrows`;
}

function Combination({ parts }: { parts: string[] }) {
  return (
    <span className="combination">
      {parts.map((part, place) => (
        <Fragment key={part}>
          {place > 0 && "+"}
          <kbd>{part}</kbd>
        </Fragment>
      ))}
    </span>
  );
}
