// The one WebSocket: the server's events, with a new try after every loss.
import { recorded } from "./recorded";
import type { StudioEvent } from "./types";

const FIRST_WAIT = 250;
const LONGEST_WAIT = 5000;

export type Listening = { close(): void };

export function listen(
  key: () => string,
  client: string,
  on: { event(event: StudioEvent): void; state(open: boolean): void },
): Listening {
  let socket: WebSocket | null = null;
  let timer: ReturnType<typeof setTimeout> | null = null;
  let wait = FIRST_WAIT;
  let closed = false;

  if (recorded) {
    // Whoever listens begins by drawing the page: what the run gave comes after it.
    on.state(true);
    return { close: () => undefined };
  }
  const open = () => {
    timer = null;
    const scheme = location.protocol === "https:" ? "wss" : "ws";
    socket = new WebSocket(`${scheme}://${location.host}/api/events?client=${encodeURIComponent(client)}`);
    socket.onopen = () => {
      socket?.send(JSON.stringify({ key: key() }));
      wait = FIRST_WAIT;
      on.state(true);
    };
    socket.onmessage = (message) => {
      const event = JSON.parse(String(message.data)) as StudioEvent;
      if (event && typeof event.type === "string") on.event(event);
    };
    socket.onclose = () => {
      if (closed) return;
      on.state(false);
      timer = setTimeout(open, wait);
      wait = Math.min(wait * 2, LONGEST_WAIT);
    };
  };
  open();
  return {
    close() {
      closed = true;
      if (timer) clearTimeout(timer);
      socket?.close();
    },
  };
}
