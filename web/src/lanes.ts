// SPDX-License-Identifier: Apache-2.0
// The explanation: a lane per thread, time runs down, locks are bars, arrows lead from writes to reads.

import { code, excerpt } from "./code";
import { h, short, svg } from "./dom";
import type { Finding, Lock, Step } from "./page";

const BEND = 26;

export class Lanes {
  readonly element: HTMLElement;
  private readonly cards = new Map<number, HTMLElement>();
  private readonly arrows = svg("svg", { class: "arrows", "aria-hidden": "true" });

  constructor(private readonly finding: Finding, private readonly choose: (at: number) => void) {
    this.element = h("div", { class: "lanes", role: "list", "aria-label": "steps of the failing run" });
    this.element.style.setProperty("--lanes", String(Math.max(finding.threads.length, 1)));
    this.heads();
    finding.steps.forEach((step, at) => this.row(step, at));
    this.element.append(this.arrows);
    new ResizeObserver(() => this.draw()).observe(this.element);
  }

  // Up to which step the story is told; -1 shows all of it.
  show(current: number): void {
    this.finding.steps.forEach((_, at) => {
      const row = this.element.querySelectorAll(`[data-at="${at}"]`);
      row.forEach((one) => {
        one.classList.toggle("later", current >= 0 && at > current);
        one.classList.toggle("current", at === current);
      });
    });
    this.draw(current);
    if (current >= 0) this.cards.get(current)?.scrollIntoView({ block: "nearest" });
  }

  private heads(): void {
    this.element.append(h("div", { class: "corner" }));
    for (const thread of this.finding.threads)
      this.element.append(h("div", { class: `head role${thread.role}`, role: "presentation" }, thread.label));
  }

  private row(step: Step, at: number): void {
    this.element.append(h("div", { class: "number", "data-at": at }, step.number ? String(step.number) : ""));
    for (const thread of this.finding.threads) {
      const cell = h("div", { class: `cell role${thread.role}`, "data-at": at, role: "presentation" });
      for (const lock of this.held(thread.path, at)) cell.append(bar(lock));
      if (thread.path === step.thread) cell.append(this.card(step, at));
      else cell.classList.add("empty");
      this.element.append(cell);
    }
  }

  // A lock is held from the first to the last step of its section, also while others move.
  private held(thread: string, at: number): Lock[] {
    const own = this.finding.steps.map((step, i) => ({ step, i })).filter((one) => one.step.thread === thread);
    const seen = new Map<string, { lock: Lock; first: number; last: number }>();
    for (const { step, i } of own)
      for (const lock of step.locks) {
        const key = `${lock.name}#${lock.section}`;
        const before = seen.get(key);
        seen.set(key, { lock, first: before ? before.first : i, last: i });
      }
    return [...seen.values()].filter((one) => one.first <= at && at <= one.last).map((one) => one.lock);
  }

  private card(step: Step, at: number): HTMLElement {
    const more = details(step);
    const card = h("div", { class: "card", role: "listitem" },
      h("button", { type: "button", class: "step", "aria-expanded": "false", click: (event) => {
        this.choose(at);
        const open = more.hasAttribute("hidden");
        more.toggleAttribute("hidden", !open);
        (event.currentTarget as HTMLElement).setAttribute("aria-expanded", String(open));
        this.draw();
      } },
        h("span", { class: "where" }, step.position),
        code(short(step.text), step.file),
        h("span", { class: "what" }, short(step.what),
          step.mark && h("b", { class: "mark" }, ` ◄ ${short(step.mark)}`),
          step.writer > 0 && h("span", { class: "wrote" }, ` written in step ${step.writer}`)),
        step.failing && h("b", { class: "fails" }, `✗ ${short(step.failing)}`)),
      more);
    if (step.failing) card.classList.add("failing");
    this.cards.set(at, card);
    return card;
  }

  private draw(current = -1): void {
    const frame = this.element.getBoundingClientRect();
    this.arrows.setAttribute("viewBox", `0 0 ${frame.width} ${frame.height}`);
    this.arrows.replaceChildren(marker());
    this.finding.steps.forEach((step, at) => {
      const from = this.finding.steps.findIndex((one) => one.number === step.writer && step.writer > 0);
      if (from >= 0 && (current < 0 || at <= current)) this.arrow(from, at, frame);
    });
  }

  private arrow(from: number, to: number, frame: DOMRect): void {
    const a = this.cards.get(from)?.getBoundingClientRect();
    const b = this.cards.get(to)?.getBoundingClientRect();
    if (!a || !b || Math.abs(a.left - b.left) < 1) return;
    const right = b.left > a.left;
    const x1 = (right ? a.right : a.left) - frame.left, y1 = a.top + a.height / 2 - frame.top;
    const x2 = (right ? b.left - 6 : b.right + 6) - frame.left, y2 = b.top + Math.min(b.height / 2, 24) - frame.top;
    const bend = right ? BEND : -BEND;
    this.arrows.append(svg("path", {
      d: `M${x1},${y1} C${x1 + bend},${y1} ${x2 - bend},${y2} ${x2},${y2}`, "marker-end": "url(#tip)",
    }));
  }
}

function bar(lock: Lock): HTMLElement {
  return h("span", { class: "lock", title: `holds ${lock.name}` });
}

function marker(): SVGElement {
  return svg("defs", {}, svg("marker", { id: "tip", viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 7, markerHeight: 7, orient: "auto" },
    svg("path", { class: "tip", d: "M0,0 L8,4 L0,8 z" })));
}

function details(step: Step): HTMLElement {
  const locks = step.locks.map((lock) => lock.name);
  return h("div", { class: "more", hidden: true },
    excerpt(step.code, step.line, step.file),
    h("p", {}, `${step.file}:${step.line}`),
    locks.length > 0 && h("p", {}, `holds ${locks.join(", ")}`),
    step.stack.length > 0 && h("ol", { class: "stack", "aria-label": "called from" }, ...step.stack.map((one) => h("li", {}, one))),
    ...Object.entries(step.values).map(([name, value]) => h("p", { class: "value" }, h("b", {}, name), ` = ${value}`)));
}
