// SPDX-License-Identifier: Apache-2.0
// Source text with its syntax in colour.

import hljs from "highlight.js/lib/core";
import cpp from "highlight.js/lib/languages/cpp";
import python from "highlight.js/lib/languages/python";
import { h } from "./dom";

hljs.registerLanguage("python", python);
hljs.registerLanguage("cpp", cpp);

interface Scope { scope?: string; children: (Scope | string)[] }

function language(file: string): string {
  return /\.(c|h|cc|cpp|cxx|hpp|hh)$/.test(file) ? "cpp" : "python";
}

// The tree of scopes, not the library's HTML: no text of the program is ever parsed as markup.
function nodes(tree: Scope): Node[] {
  return tree.children.map((child) =>
    typeof child === "string"
      ? document.createTextNode(child)
      : h("span", child.scope ? { class: `s-${child.scope.split(".")[0]}` } : {}, ...nodes(child)),
  );
}

export function code(text: string, file: string): HTMLElement {
  const result = hljs.highlight(text, { language: language(file), ignoreIllegals: true });
  const root = (result as unknown as { _emitter: { rootNode: Scope } })._emitter.rootNode;
  return h("code", {}, ...nodes(root));
}

export function excerpt(lines: Record<string, string>, here: number, file: string): HTMLElement {
  const rows = Object.entries(lines).map(([number, text]) =>
    h("div", { class: Number(number) === here ? "row here" : "row" },
      h("span", { class: "at" }, number), code(text, file)));
  // It scrolls sideways, so the keyboard must reach it.
  return h("div", { class: "excerpt", tabindex: 0, role: "group", "aria-label": `lines around ${here}` }, ...rows);
}
