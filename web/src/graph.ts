// SPDX-License-Identifier: Apache-2.0
// The communication graph around the finding: an edge leads from a write to another thread's read of it.

import dagre from "@dagrejs/dagre";
import { button, h, section, svg } from "./dom";
import type { Finding, Point, Trace } from "./page";

const MOST = 40; // nodes: more than that is no picture
const HEIGHT = 44, LETTER = 7.2;

interface Edge { from: number; to: number; count: number }

export function graph(trace: Trace, finding: Finding): HTMLElement | null {
  const edges = communication(trace);
  const central = new Set(finding.steps.map((step) => `${step.file}:${step.line}`));
  const isCentral = (point: number): boolean => central.has(position(trace.points[point]!));
  const near = edges.filter((edge) => isCentral(edge.from) || isCentral(edge.to)).sort((a, b) => b.count - a.count);
  const shown = new Set<number>();
  const kept = near.filter((edge) => {
    if (shown.size >= MOST && !(shown.has(edge.from) && shown.has(edge.to))) return false;
    shown.add(edge.from).add(edge.to);
    return true;
  });
  if (!kept.length) return null;
  return view(trace, [...shown], kept, isCentral, near.length - kept.length);
}

function communication(trace: Trace): Edge[] {
  const edges = new Map<string, Edge>();
  trace.source.forEach((back, at) => {
    if (!back) return;
    const from = trace.point[at - back]!, to = trace.point[at]!, key = `${from}>${to}`;
    const edge = edges.get(key);
    if (edge) edge.count += 1;
    else edges.set(key, { from, to, count: 1 });
  });
  return [...edges.values()];
}

function position(point: Point): string {
  return `${point[0]}:${point[1]}`;
}

function label(point: Point): [string, string] {
  return [`${point[0].split("/").at(-1)}:${point[1]}  ${point[4]}`.trim(), point[3].slice(0, 44)];
}

function view(trace: Trace, nodes: number[], edges: Edge[], isCentral: (point: number) => boolean, left: number): HTMLElement {
  const layout = new dagre.graphlib.Graph();
  layout.setGraph({ rankdir: "LR", nodesep: 14, ranksep: 60 });
  layout.setDefaultEdgeLabel(() => ({}));
  for (const node of nodes) {
    const widest = Math.max(...label(trace.points[node]!).map((text) => text.length));
    layout.setNode(String(node), { width: widest * LETTER + 16, height: HEIGHT });
  }
  for (const edge of edges) layout.setEdge(String(edge.from), String(edge.to));
  dagre.layout(layout);
  const drawing = svg("svg", { class: "graph", role: "img", "aria-label": "who read whose writes" });
  const pan = new View(drawing, layout.graph().width ?? 100, layout.graph().height ?? 100);
  drawing.append(tip(), ...edges.map((edge) => line(layout.edge(String(edge.from), String(edge.to)), edge)),
    ...nodes.map((node) => box(layout.node(String(node)), label(trace.points[node]!), isCentral(node))));
  const search = h("input", { type: "search", placeholder: "find a line or a variable", "aria-label": "find in the graph",
    input: (event) => highlight(drawing, (event.target as HTMLInputElement).value) });
  return section("graph", "Who read whose writes",
    h("p", { class: "quiet" }, "The communication graph around the finding: an arrow leads from a write to another thread's read of it, with how often."
      + (left ? ` ${left} edges are not drawn.` : "")),
    h("div", { class: "controls", role: "toolbar", "aria-label": "graph" },
      button("+", "zoom in", () => pan.scale(0.8)), button("−", "zoom out", () => pan.scale(1.25)),
      button("fit", "show the whole graph", () => pan.fit()), search),
    drawing as unknown as HTMLElement);
}

function tip(): SVGElement {
  return svg("defs", {}, svg("marker", { id: "edge", viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 6, markerHeight: 6, orient: "auto" },
    svg("path", { class: "tip", d: "M0,0 L8,4 L0,8 z" })));
}

function line(path: { points: { x: number; y: number }[] }, edge: Edge): SVGElement {
  const points = path.points.map((point) => `${point.x},${point.y}`).join(" L");
  const middle = path.points[Math.floor(path.points.length / 2)]!;
  return svg("g", { class: "edge" }, svg("path", { d: `M${points}`, "marker-end": "url(#edge)" }),
    svg("text", { x: middle.x, y: middle.y - 4, "text-anchor": "middle" }, edge.count > 1 ? `${edge.count}×` : ""));
}

function box(at: { x: number; y: number; width: number }, [first, second]: [string, string], isCentral: boolean): SVGElement {
  const x = at.x - at.width / 2, y = at.y - HEIGHT / 2;
  return svg("g", { class: isCentral ? "node central" : "node", "data-text": `${first} ${second}`.toLowerCase() },
    svg("rect", { x, y, width: at.width, height: HEIGHT, rx: 5 }),
    svg("text", { x: x + 8, y: y + 18 }, first), svg("text", { x: x + 8, y: y + 35, class: "source" }, second));
}

function highlight(drawing: SVGElement, text: string): void {
  const wanted = text.trim().toLowerCase();
  drawing.querySelectorAll<SVGElement>(".node").forEach((node) =>
    node.classList.toggle("found", wanted !== "" && (node.dataset["text"] ?? "").includes(wanted)));
}

// Drag to pan, Ctrl and the wheel to zoom, as maps do; buttons for the keyboard.
class View {
  private x = 0;
  private y = 0;
  private size = 1;

  constructor(private readonly drawing: SVGElement, private readonly width: number, private readonly height: number) {
    this.fit();
    drawing.addEventListener("wheel", (event) => {
      if (!event.ctrlKey) return;
      event.preventDefault();
      this.scale(event.deltaY > 0 ? 1.15 : 0.87);
    }, { passive: false });
    drawing.addEventListener("pointerdown", (event) => drawing.setPointerCapture(event.pointerId));
    drawing.addEventListener("pointermove", (event) => {
      if (!event.buttons) return;
      const unit = (this.width * this.size) / drawing.getBoundingClientRect().width;
      this.x -= event.movementX * unit;
      this.y -= event.movementY * unit;
      this.apply();
    });
  }

  fit(): void {
    this.x = this.y = -10;
    this.size = 1;
    this.apply();
  }

  scale(by: number): void {
    const before = this.size;
    this.size = Math.min(Math.max(this.size * by, 0.1), 4);
    this.x += (this.width * (before - this.size)) / 2;
    this.y += (this.height * (before - this.size)) / 2;
    this.apply();
  }

  private apply(): void {
    this.drawing.setAttribute("viewBox", `${this.x} ${this.y} ${this.width * this.size + 20} ${this.height * this.size + 20}`);
  }
}
