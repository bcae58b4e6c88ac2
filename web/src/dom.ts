// SPDX-License-Identifier: Apache-2.0
// Elements are made of text, never of markup: what a program prints stays text.

type Child = Node | string | null | undefined | false;
type Attributes = Record<string, string | number | boolean | ((event: Event) => void)>;

const SVG = "http://www.w3.org/2000/svg";

export function h(tag: string, attributes: Attributes = {}, ...children: Child[]): HTMLElement {
  return filled(document.createElement(tag), attributes, children);
}

export function svg(tag: string, attributes: Attributes = {}, ...children: Child[]): SVGElement {
  return filled(document.createElementNS(SVG, tag) as SVGElement, attributes, children);
}

function filled<T extends Element>(element: T, attributes: Attributes, children: Child[]): T {
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") element.addEventListener(name, value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false) element.setAttribute(name, String(value));
  }
  for (const child of children) if (child) element.append(child);
  return element;
}

export function section(id: string, heading: string, ...children: Child[]): HTMLElement {
  return h("section", { id, "aria-labelledby": `${id}-h` }, h("h2", { id: `${id}-h` }, heading), ...children);
}

export function button(label: string, title: string, click: (event: Event) => void): HTMLElement {
  // A symbol says nothing to whoever listens; a word is its own name.
  const name: Attributes = /[a-z]/.test(label) ? {} : { "aria-label": title };
  return h("button", { type: "button", title, click, ...name }, label);
}

// What is wider than the screen scrolls on its own; the keyboard must reach it.
export function scrolling(label: string, child: Node): HTMLElement {
  return h("div", { class: "scroll", tabindex: 0, role: "group", "aria-label": label }, child);
}

// Longer than any person reads in one line; the whole text is in the title.
const LONGEST = 160;

export function short(text: string): string {
  if (text.length <= LONGEST) return text;
  return `${text.slice(0, LONGEST / 2)}…${text.slice(1 - LONGEST / 2)}`;
}
