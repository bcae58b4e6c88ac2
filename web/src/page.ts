// SPDX-License-Identifier: Apache-2.0
// What the page shows, as unsnarl/model/page.py has it.

export interface Thread { path: string; label: string; role: number }
export interface Lock { name: string; section: number }
export interface Step {
  number: number; thread: string; role: number; file: string; line: number; position: string;
  text: string; what: string; mark: string; failing: string; values: Record<string, string>;
  writer: number; locks: Lock[]; stack: string[]; code: Record<string, string>;
}
export interface Arm { name: string; wanted: string; fail: number; runs: number }
export interface Command { label: string; text: string }
export interface Patch { note: string; diff: string; works: boolean; tries: string[] }
export interface Passing { note: string; moved: number; steps: Step[] }
export interface Finding {
  number: number; id: string; title: string; status: string; word: string; sentence: string;
  why: string; score: number; threads: Thread[]; steps: Step[]; notes: string[]; arms: Arm[];
  experiment: string; orders: [number, number][]; passing: Passing | null; patch: Patch | null;
  commands: Command[]; features: Record<string, number>; evidence: string;
}
export interface Failure {
  message: string; where: string; kind: string; count: number; chain: string; printed: string;
  remarks: string[]; causes: number; findings: Finding[];
}
export type Point = [file: string, line: number, fn: string, text: string, variable: string];
export interface Trace {
  threads: string[]; points: Point[]; ops: string[];
  thread: number[]; point: number[]; op: number[]; source: number[]; dropped: number;
}
export interface Page {
  title: string; command: string; campaign: string; verdict: string; summary: string;
  labels: string; coverage: string; covered: boolean; warnings: string[]; unfinished: string[];
  timings: Record<string, number>; failures: Failure[]; first: number; trace: Trace | null;
  missing: string;
}

export function load(): Page {
  return JSON.parse(document.getElementById("page")!.textContent!) as Page;
}
