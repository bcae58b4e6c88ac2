// SPDX-License-Identifier: Apache-2.0
// The whole run: a row per thread, one unit per event, the steps of the explanation marked.
// However many events there are, no more is drawn than the pixels can show.

import { button, h, scrolling, section, svg } from "./dom";
import type { Finding, Trace } from "./page";

const WIDTH = 1000, ROW = 26, TOP = 18, LEFT = 130;
const AROUND = 4; // events before and after the steps that the window shows

export class Timeline {
  readonly element: HTMLElement;
  private readonly drawing = svg("svg", { class: "timeline", role: "img", "aria-label": "all events of the run by thread" });
  private readonly marks: { at: number; number: number }[];
  private from = 0;
  private to: number;

  constructor(private readonly trace: Trace, finding: Finding) {
    this.to = trace.thread.length;
    this.marks = located(trace, finding);
    const height = TOP + ROW * trace.threads.length + 4;
    this.drawing.setAttribute("viewBox", `0 0 ${WIDTH} ${height}`);
    this.drawing.addEventListener("wheel", (event) => this.wheel(event as WheelEvent), { passive: false });
    const dropped = trace.dropped ? ` ${trace.dropped} later events had no room and are not here.` : "";
    this.element = section("timeline", "The whole run",
      h("p", { class: "quiet" }, `${trace.thread.length} events in order; under the gate one thread runs at a time.${dropped}`),
      h("div", { class: "controls", role: "toolbar", "aria-label": "timeline" },
        button("whole run", "show the whole run", () => this.zoom(0, this.trace.thread.length)),
        button("the window that matters", "show the steps of the explanation", () => this.window()),
        button("+", "zoom in", () => this.scale(0.5)), button("−", "zoom out", () => this.scale(2)),
        button("◂", "earlier", () => this.move(-0.3)), button("▸", "later", () => this.move(0.3))),
      scrolling("timeline", this.drawing));
    this.draw();
  }

  private window(): void {
    if (!this.marks.length) return;
    const points = this.marks.map((mark) => mark.at);
    this.zoom(Math.min(...points) - AROUND, Math.max(...points) + AROUND + 1);
  }

  private wheel(event: WheelEvent): void {
    if (!event.ctrlKey && !event.shiftKey) return; // the page scrolls as always
    event.preventDefault();
    if (event.shiftKey) this.move(Math.sign(event.deltaY || event.deltaX) * 0.1);
    else this.scale(event.deltaY > 0 ? 1.25 : 0.8);
  }

  private scale(by: number): void {
    const middle = (this.from + this.to) / 2, half = Math.max(((this.to - this.from) / 2) * by, 3);
    this.zoom(middle - half, middle + half);
  }

  private move(by: number): void {
    const step = (this.to - this.from) * by;
    const bounded = Math.max(-this.from, Math.min(step, this.trace.thread.length - this.to));
    this.zoom(this.from + bounded, this.to + bounded);
  }

  private zoom(from: number, to: number): void {
    this.from = Math.max(0, Math.floor(from));
    this.to = Math.min(this.trace.thread.length, Math.ceil(to));
    this.draw();
  }

  private x(at: number): number {
    return LEFT + ((at - this.from) / Math.max(this.to - this.from, 1)) * (WIDTH - LEFT);
  }

  private draw(): void {
    const labels = this.trace.threads.map((label, row) =>
      svg("text", { x: 0, y: TOP + ROW * row + 17, class: "label" }, label.slice(0, 20)));
    this.drawing.replaceChildren(...labels, ...this.turns(), ...this.steps());
  }

  // From the first to the last event of a thread without another in between; what is narrower than
  // half a pixel joins the one before it.
  private turns(): SVGElement[] {
    const { thread } = this.trace, drawn: SVGElement[] = [];
    const open = new Map<number, { from: number; to: number }>();
    const close = (row: number, turn: { from: number; to: number }): void => {
      const x = this.x(turn.from), width = Math.max(this.x(turn.to) - x, 0.6);
      drawn.push(svg("rect", { x, y: TOP + ROW * row + 4, width, height: ROW - 8, class: `turn row${row % 5}` }));
    };
    const near = (this.to - this.from) / (2 * (WIDTH - LEFT));
    for (let at = this.from; at < this.to; ) {
      const row = thread[at]!;
      let end = at + 1;
      while (end < this.to && thread[end] === row) end += 1;
      const before = open.get(row);
      if (before && at - before.to <= near) before.to = end;
      else {
        if (before) close(row, before);
        open.set(row, { from: at, to: end });
      }
      at = end;
    }
    open.forEach((turn, row) => close(row, turn));
    return drawn;
  }

  private steps(): SVGElement[] {
    return this.marks.filter((mark) => mark.at >= this.from && mark.at < this.to).map((mark) => {
      const x = this.x(mark.at + 0.4), row = this.trace.thread[mark.at]!;
      return svg("g", { class: "at" },
        svg("line", { x1: x, x2: x, y1: TOP, y2: TOP + ROW * this.trace.threads.length }),
        svg("circle", { cx: x, cy: TOP + ROW * row + ROW / 2, r: 8 }),
        svg("text", { x, y: TOP + ROW * row + ROW / 2 + 3.5, "text-anchor": "middle" }, String(mark.number)));
    });
  }
}

// Where the steps are in the run: from the last one back, each at its latest occurrence.
export function located(trace: Trace, finding: Finding): { at: number; number: number }[] {
  const rows = new Map(trace.threads.map((label, row) => [label.split(" ").at(-1)!, row]));
  const found: { at: number; number: number }[] = [];
  let end = trace.thread.length;
  for (const step of [...finding.steps].reverse()) {
    if (!step.number) continue;
    const isIt = (row: number, at: number): boolean => {
      const point = trace.points[trace.point[at]!]!;
      return row === rows.get(step.thread) && point[1] === step.line && point[0] === step.file;
    };
    const before = trace.thread.slice(0, end).findLastIndex(isIt);
    // What is shown in the order of the proof may have come a little later in this very run.
    const at = before >= 0 ? before : trace.thread.findLastIndex(isIt);
    if (at >= 0) found.unshift({ at, number: step.number });
    if (before >= 0) end = before;
  }
  return found;
}
