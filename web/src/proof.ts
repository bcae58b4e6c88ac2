// SPDX-License-Identifier: Apache-2.0
// What the experiments showed, the patch, the nearest passing run, the commands.

import { button, h, section, short } from "./dom";
import type { Arm, Finding, Patch, Step } from "./page";

export function experiments(finding: Finding): HTMLElement | null {
  if (!finding.arms.length) return null;
  return section("experiments", "Proved by experiment", h("p", { class: "quiet" }, finding.experiment),
    h("div", { class: "arms" }, ...finding.arms.map(arm)));
}

function arm(one: Arm): HTMLElement {
  const good = one.wanted === "must fail" ? one.fail === one.runs : one.wanted === "must pass" ? one.fail === 0 : null;
  const failing = h("span", { class: "part fail" }), passing = h("span", { class: "part pass" });
  failing.style.flexGrow = String(one.fail);
  passing.style.flexGrow = String(one.runs - one.fail);
  return h("div", { class: "arm" },
    h("span", { class: "name" }, one.name),
    h("span", { class: "bar", role: "img", "aria-label": `${one.fail} of ${one.runs} runs fail` },
      one.fail > 0 && failing, one.fail < one.runs && passing),
    h("span", { class: "count" }, `${one.fail} of ${one.runs} fail`),
    h("span", { class: "wanted" }, good === null ? one.wanted : `${one.wanted} ${good ? "✓" : "✗"}`));
}

export function patch(one: Patch | null): HTMLElement | null {
  if (!one) return null;
  const tries = h("details", {}, h("summary", {}, `${one.tries.length} patches were tried`),
    h("ul", {}, ...one.tries.map((note) => h("li", {}, note))));
  return section("patch", one.works ? "A patch that holds" : "No patch that holds",
    h("p", {}, one.note), one.works && diff(one.diff), one.tries.length > 1 && tries);
}

export function diff(text: string): HTMLElement {
  const kinds: Record<string, string> = { "+": "added", "-": "removed", "@": "hunk" };
  const rows = text.trimEnd().split("\n").map((line) => {
    const isFile = line.startsWith("+++ ") || line.startsWith("--- ");
    return h("div", { class: isFile ? "file" : kinds[line[0] ?? ""] ?? "" }, line || " ");
  });
  return h("pre", { class: "diff", tabindex: 0, role: "group", "aria-label": "patch" }, ...rows);
}

export function commands(finding: Finding): HTMLElement {
  return h("div", { class: "commands" }, ...finding.commands.map((one) => {
    const copied = button(one.label, `copy: ${one.text}`, () => void copy(copied, one.text, one.label));
    return h("div", { class: "command" }, copied, h("code", {}, one.text));
  }));
}

async function copy(at: HTMLElement, text: string, label: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
    at.textContent = "copied";
  } catch {
    // A file that is opened from disk may not write to the clipboard everywhere: select it instead.
    const range = document.createRange();
    range.selectNodeContents(at.nextElementSibling!);
    getSelection()?.removeAllRanges();
    getSelection()?.addRange(range);
    at.textContent = "selected";
  }
  window.setTimeout(() => { at.textContent = label; }, 1500);
}

export function passing(finding: Finding): HTMLElement | null {
  const other = finding.passing;
  if (!other) return null;
  return section("passing", "The nearest passing run", h("p", {}, other.note),
    h("div", { class: "sides" },
      side("fails", finding.steps, 0), side("passes", other.steps, other.moved)));
}

function side(name: string, steps: Step[], moved: number): HTMLElement {
  return h("div", { class: `side ${name}` }, h("h3", {}, name),
    h("ol", {}, ...steps.map((step) => h("li", { class: step.number === moved && moved ? `role${step.role} moved` : `role${step.role}` },
      h("span", { class: "number" }, step.number ? String(step.number) : "·"),
      h("span", { class: "where" }, step.position), " ", h("code", {}, short(step.text)), " ",
      h("span", { class: "what" }, short(step.what)), step.failing && h("b", { class: "fails" }, " ✗"),
      step.number === moved && moved > 0 && h("b", { class: "mark" }, " ◄ here it comes first")))));
}
