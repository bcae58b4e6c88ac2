// SPDX-License-Identifier: Apache-2.0
// Keeps texts up to date while hunts run; loads the page anew where more than texts has changed.
"use strict";

const { revision, campaign } = document.body.dataset;

function update(hunt) {
  for (const part of document.querySelectorAll("[data-name]")) {
    if (part.dataset.name !== hunt.name) continue;
    for (const node of part.querySelectorAll("[data-live]")) {
      const value = hunt.progress[node.dataset.live];
      node.textContent = node.dataset.live === "doing" ? value || "hunting" : String(value);
    }
  }
}

if (revision) {
  const source = new EventSource(`/events?campaign=${encodeURIComponent(campaign)}`);
  source.onmessage = (event) => {
    const state = JSON.parse(event.data);
    if (state.revision !== revision) {
      source.close();
      location.reload();
      return;
    }
    state.running.forEach(update);
  };
}
