// SPDX-License-Identifier: Apache-2.0
// Around the finding: other findings and how they score, all runs, what was and was not seen.

import { h, scrolling, section, svg } from "./dom";
import type { Failure, Finding, Page } from "./page";

const NAMES: Record<string, string> = { p: "pass", f: "fail", h: "hang" };
const STRIP = 100; // runs in a row

export function others(failure: Failure, shown: Finding, choose: (finding: Finding) => void): HTMLElement | null {
  const rest = failure.findings.filter((one) => one !== shown);
  if (!rest.length) return null;
  return section("others", "Other findings",
    h("ul", { class: "findings" }, ...rest.map((one) => h("li", {},
      h("button", { type: "button", click: () => choose(one) },
        h("span", { class: `status ${one.status}` }, one.word), ` ${one.title} `,
        h("span", { class: "quiet" }, `${one.id} · score ${one.score.toFixed(2)}`))))),
    plot(failure));
}

// Recon's figure 6: a finding is a point, by how much likelier it makes failure (B) and how
// consistently its accesses come in that order (R).
function plot(failure: Failure): HTMLElement | null {
  const points = failure.findings.filter((one) => "B" in one.features && "R" in one.features);
  if (points.length < 2) return null;
  const width = 420, height = 220, pad = 34;
  const most = Math.max(...points.map((one) => Math.log10(1 + one.features["B"]!)), 0.1);
  const dots = points.map((one) => {
    const x = pad + (Math.log10(1 + one.features["B"]!) / most) * (width - 2 * pad);
    const y = height - pad - one.features["R"]! * (height - 2 * pad);
    return svg("circle", { cx: x, cy: y, r: 6, class: one.status }, svg("title", {}, `${one.title} (${one.word.toLowerCase()}): B ${one.features["B"]!.toPrecision(3)}, R ${one.features["R"]!.toPrecision(3)}`));
  });
  return h("figure", {},
    svg("svg", { class: "plot", viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": "findings by their features B and R" },
      svg("path", { class: "axis", d: `M${pad},${pad / 2} V${height - pad} H${width - pad / 2}` }),
      svg("text", { x: width - pad / 2, y: height - 10, "text-anchor": "end" }, "B: likelier in failing runs →"),
      svg("text", { x: 6, y: 12 }, "↑ R: in a consistent order"), ...dots) as unknown as HTMLElement,
    h("figcaption", { class: "quiet" }, "Findings by two of Recon's features; the confirmed one is ringed. Bugs tend to the upper right."));
}

export function runs(page: Page): HTMLElement {
  const cell = 9, rows = Math.ceil(page.labels.length / STRIP);
  const squares = [...page.labels].map((label, at) => svg("rect", {
    x: (at % STRIP) * cell, y: Math.floor(at / STRIP) * cell, width: cell - 1, height: cell - 1, class: `run ${NAMES[label] ?? ""}` }));
  const phases = Object.entries(page.timings).filter(([, seconds]) => seconds >= 0.05);
  return section("runs", "All runs", h("p", {}, page.summary),
    page.labels && scrolling("runs", svg("svg", { class: "strip", viewBox: `0 0 ${STRIP * cell} ${rows * cell}`, role: "img", "aria-label": "runs of the hunt in the order of time, by label" }, ...squares)),
    page.labels && h("p", { class: "legend" }, ...["pass", "fail", "hang"].map((name) => h("span", { class: `key ${name}` }, name))),
    phases.length > 0 && h("p", { class: "quiet" }, `seconds: ${phases.map(([name, seconds]) => `${name} ${seconds.toFixed(1)}`).join(" · ")}`));
}

export function coverage(page: Page): HTMLElement {
  return section("coverage", "What was seen, and what not",
    h("p", { class: page.covered ? "" : "warning" }, page.coverage),
    page.missing && h("p", { class: "warning" }, `No timeline: ${page.missing}.`),
    ...page.warnings.map((text) => h("p", { class: "warning" }, text)),
    ...page.unfinished.map((text) => h("p", { class: "warning" }, `cut off: ${text}`)),
    h("p", { class: "quiet" }, "command: ", h("code", {}, page.command)),
    h("p", { class: "quiet" }, "campaign: ", h("code", {}, page.campaign)));
}
