// The filter of the fleet report: hides troubles and hosts that do not hold all words typed.
"use strict";
const box = document.getElementById("filter");
const count = document.getElementById("filtered");
const troubles = [...document.querySelectorAll(".group")];
const days = [...document.querySelectorAll(".heatmap tbody tr")];
const has = (element, words) => words.every((word) => element.textContent.toLowerCase().includes(word));

function filter() {
  const words = box.value.toLowerCase().split(/\s+/).filter(Boolean);
  const hosts = new Set();
  let shown = 0;
  for (const trouble of troubles) {
    const rows = [...trouble.querySelectorAll("tbody tr")];
    const isNamed = has(trouble.querySelector(".about"), words);
    const hits = rows.filter((row) => has(row, words));
    for (const row of rows) {
      row.hidden = !isNamed && !hits.includes(row);
      if (!row.hidden) hosts.add(row.querySelector("th").textContent);
    }
    trouble.hidden = !isNamed && !hits.length;
    shown += !trouble.hidden;
  }
  for (const row of days) {
    const host = row.querySelector("th");
    row.hidden = !has(host, words) && !hosts.has(host.textContent);
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
