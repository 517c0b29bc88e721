// The filter of the fleet report: hides troubles and hosts that do not hold all words typed.
"use strict";
const box = document.getElementById("filter");
const count = document.getElementById("filtered");
const troubles = [...document.querySelectorAll(".group")];
const days = [...document.querySelectorAll(".heatmap tbody tr")];
const text = (...elements) => elements.map((one) => one.textContent).join(" ").toLowerCase();
const has = (said, words) => words.every((word) => said.includes(word));

function filter() {
  const words = box.value.toLowerCase().split(/\s+/).filter(Boolean);
  const hosts = new Set();
  let shown = 0;
  for (const trouble of troubles) {
    const rows = [...trouble.querySelectorAll("tbody tr")];
    const named = text(trouble.querySelector("h3"), trouble.querySelector(".scope"));
    // the number of the first host stands above
    const worst = text(trouble.querySelector(".worst"));
    let isShown = false;
    rows.forEach((row, place) => {
      row.hidden = !has(`${named} ${text(row)} ${place ? "" : worst}`, words);
      isShown ||= !row.hidden;
      if (!row.hidden) hosts.add(text(row.querySelector("th")));
    });
    trouble.hidden = !isShown;
    shown += isShown;
  }
  for (const row of days) {
    const host = text(row.querySelector("th"));
    row.hidden = !has(host, words) && !hosts.has(host);
  }
  count.textContent = words.length ? `${shown} of ${troubles.length} troubles` : "";
}

// an address that names a trouble opens it
function reveal() {
  const target = document.getElementById(location.hash.slice(1));
  if (target && target.matches("details")) target.open = true;
}

box.hidden = false;
addEventListener("hashchange", reveal);
reveal();
box.addEventListener("input", filter);
