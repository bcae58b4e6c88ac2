// SPDX-License-Identifier: Apache-2.0
// One HTML report: the verdict and the story first, then everything that supports them.

import { h } from "./dom";
import { graph } from "./graph";
import { coverage, others, runs } from "./overview";
import { load, type Failure, type Finding, type Page } from "./page";
import { commands, experiments, passing, patch } from "./proof";
import { Story } from "./story";
import "./style.css";
import { Timeline } from "./timeline";

const page = load();
const root = document.getElementById("report")!;
let story: Story | null = null;

function chosen(number: number): [Failure, Finding] | null {
  for (const failure of page.failures)
    for (const finding of failure.findings) if (finding.number === number) return [failure, finding];
  return null;
}

function first(one: Page): [Failure, Finding] | null {
  const failure = one.failures.find((some) => some.findings.length > 0);
  return chosen(one.first) ?? (failure ? [failure, failure.findings[0]!] : null);
}

function header(failure: Failure | undefined, finding: Finding | null): HTMLElement {
  return h("header", {},
    h("p", { class: "command" }, h("code", {}, page.command)),
    h("h1", {}, finding ? h("span", { class: `status ${finding.status}` }, finding.word) : null, finding ? ` ${finding.title}` : page.verdict),
    finding && h("p", { class: "verdict" }, finding.sentence),
    finding?.why ? h("p", { class: "warning" }, `Not confirmed: ${finding.why}.`) : null,
    failure && h("p", { class: "failure" }, h("b", {}, failure.message), failure.where && ` (${failure.where})`,
      failure.chain && h("span", { class: "chain" }, ` after ${failure.chain}`)),
    ...(failure?.remarks ?? []).map((text) => h("p", { class: "warning" }, text)),
    failure?.printed ? h("pre", { class: "printed", tabindex: 0, role: "group", "aria-label": "what it printed" }, failure.printed) : null);
}

function failures(shown: Failure): HTMLElement | null {
  if (page.failures.length < 2) return null;
  return h("nav", { class: "failures", "aria-label": "failures" }, ...page.failures.map((one, at) =>
    h("button", { type: "button", "aria-pressed": one === shown ? "true" : "false",
      click: () => one.findings[0] ? show(one, one.findings[0]) : undefined }, `failure ${at + 1}: ${one.message.slice(0, 60)} (${one.count}×)`)));
}

function show(failure: Failure, finding: Finding): void {
  story = new Story(finding);
  const isTraced = page.trace !== null && failure === page.failures[0];
  const parts: (HTMLElement | null)[] = [
    failures(failure), header(failure, finding), story.element,
    h("div", { class: "notes" }, ...finding.notes.map((note) => h("p", {}, note))),
    commands(finding), experiments(finding), patch(finding.patch), passing(finding),
    isTraced ? new Timeline(page.trace!, finding).element : null,
    isTraced ? graph(page.trace!, finding) : null,
    others(failure, finding, (one) => { show(failure, one); scrollTo(0, 0); }), runs(page), coverage(page),
  ];
  root.replaceChildren(...parts.filter((part): part is HTMLElement => part !== null));
}

const best = first(page);
if (best) show(...best);
else root.replaceChildren(header(page.failures[0], null), runs(page), coverage(page));

document.addEventListener("keydown", (event) => {
  const isTyping = (event.target as HTMLElement).closest("input, button, [tabindex]") !== null;
  if (isTyping && (event.key === " " || (event.target as HTMLElement).tagName === "INPUT")) return;
  story?.key(event);
});
