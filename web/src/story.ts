// SPDX-License-Identifier: Apache-2.0
// The explanation with its controls: step by step, forward and back, and what every variable is by then.

import { button, h, short } from "./dom";
import { Lanes } from "./lanes";
import type { Finding } from "./page";

const PACE = 1200; // milliseconds from step to step

export class Story {
  readonly element: HTMLElement;
  private readonly lanes: Lanes;
  private readonly values = h("dl", { class: "values", "aria-live": "polite" });
  private readonly position = h("output", {});
  private readonly player: HTMLElement;
  private current = -1;
  private timer = 0;

  constructor(private readonly finding: Finding) {
    this.lanes = new Lanes(finding, (at) => this.go(at));
    this.player = button("▶ play", "play the steps (space)", () => this.play());
    this.element = h("div", { class: "story" },
      h("div", { class: "controls", role: "toolbar", "aria-label": "steps" },
        button("◀", "step back (left arrow)", () => this.back()),
        this.player,
        button("▶", "step forward (right arrow)", () => this.forward()),
        button("all", "show all steps (escape)", () => this.all()),
        this.position),
      h("div", { class: "stage" }, this.lanes.element, h("aside", { "aria-label": "values at this step" }, h("h3", {}, "values"), this.values)));
    this.show();
  }

  key(event: KeyboardEvent): void {
    const keys: Record<string, () => void> = {
      ArrowRight: () => this.forward(), ArrowLeft: () => this.back(), Escape: () => this.all(), " ": () => this.play(),
    };
    const act = keys[event.key];
    if (!act) return;
    event.preventDefault();
    act();
  }

  forward(): void { this.go(Math.min(this.current + 1, this.finding.steps.length - 1)); }
  back(): void { this.go(this.current < 0 ? this.finding.steps.length - 1 : Math.max(this.current - 1, 0)); }
  all(): void { this.stop(); this.current = -1; this.show(); }

  private go(at: number): void {
    this.stop();
    this.current = at;
    this.show();
  }

  private play(): void {
    if (this.timer) return this.stop();
    if (this.current >= this.finding.steps.length - 1) this.current = -1;
    this.player.textContent = "❚❚ pause";
    const next = (): void => {
      this.current += 1;
      this.show();
      if (this.current >= this.finding.steps.length - 1) this.stop();
    };
    next();
    this.timer = this.current >= this.finding.steps.length - 1 ? 0 : window.setInterval(next, PACE);
  }

  private stop(): void {
    window.clearInterval(this.timer);
    this.timer = 0;
    this.player.textContent = "▶ play";
  }

  private show(): void {
    const count = this.finding.steps.length;
    this.lanes.show(this.current);
    this.position.textContent = this.current < 0 ? `${count} steps` : `step ${this.current + 1} of ${count}`;
    this.values.replaceChildren(...this.rows());
  }

  // What each variable was last seen to be, up to the current step.
  private rows(): HTMLElement[] {
    const end = this.current < 0 ? this.finding.steps.length - 1 : this.current;
    const seen = new Map<string, { value: string; at: number }>();
    this.finding.steps.slice(0, end + 1).forEach((step, at) => {
      for (const [name, value] of Object.entries(step.values)) {
        const before = seen.get(name);
        seen.set(name, { value, at: before?.value === value ? before.at : at });
      }
    });
    return [...seen].flatMap(([name, { value, at }]) => [
      h("dt", {}, name), h("dd", { class: at === end ? "changed" : "", title: value }, short(value)),
    ]);
  }
}
