// Draws a page's charts over time anew with uPlot, to point at, zoom and switch; see charts/explorable.py.
(() => {
  "use strict";
  const data = JSON.parse(document.getElementById("chart-data").textContent);
  const dashes = [[], [5, 2], [2, 2], [6, 2, 2, 2], [1, 1], [9, 3]];
  const live = new Set();
  let count = 0;

  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
  const font = "12px " + colour("sans");

  function element(tag, fields, ...children) {
    const made = Object.assign(document.createElement(tag), fields);
    made.append(...children);
    return made;
  }

  function number(value) {
    if (value == null) return "–";
    if (Math.abs(value) >= 999.95) return Math.round(value).toLocaleString("en-US");
    return String(+value.toPrecision(Math.abs(value) >= 1 ? 4 : 3));
  }

  function places(index) {
    let sum = 0;
    return data.series[index].map((step) => (sum = Math.round((sum + step) * 1000) / 1000));
  }

  // the clock of the capture's zone, as the digits of a time in UTC
  function clock(chart, at) {
    let ahead = 0;
    for (const [from, seconds] of chart.offsets) if (at >= from || !ahead) ahead = seconds;
    return new Date((at + ahead) * 1000).toISOString();
  }

  function label(chart, at) {
    if (!chart.offsets.length) return `sample ${number(at)}`;
    const text = clock(chart, at);
    return `${text.slice(0, 10)} ${text.slice(11, 19)}`;
  }

  function tick(chart, at, step) {
    if (!chart.offsets.length) return number(at);
    const text = clock(chart, at);
    return step >= 86400 ? text.slice(5, 10) : text.slice(11, step >= 60 ? 16 : 19);
  }

  // one table of all lines: a sample that only another line has leaves this one whole
  function table(panel) {
    const tables = panel.lines.map(([, , x, y]) => [places(x), data.series[y]]);
    return tables.length > 1 ? uPlot.join(tables) : tables[0];
  }

  function stacked(rows) {
    const sums = [];
    for (const row of rows) {
      const below = sums.at(-1);
      sums.push(below ? row.map((value, at) => (value == null ? null : value + below[at])) : row);
    }
    return sums;
  }

  // the figure's charts, one below the other
  function draw(holder, { time, reset }, chart) {
    const shown = { chart, plots: [], entries: [], hidden: new Set(), low: Infinity, high: -Infinity };
    holder.replaceChildren();
    for (const panel of chart.panels) {
      for (const [, , x] of panel.lines) {
        const all = places(x);
        shown.low = Math.min(shown.low, all[0]);
        shown.high = Math.max(shown.high, all.at(-1));
      }
    }
    for (const at of chart.window) {
      shown.low = Math.min(shown.low, at);
      shown.high = Math.max(shown.high, at);
    }
    shown.first = shown.low;
    const margin = 0.01 * (shown.high - shown.low) || 0.5;
    shown.low -= margin;
    shown.high += margin;

    shown.rest = () => {
      const day = chart.offsets.length ? [label(chart, shown.first).slice(0, 10)] : [];
      const parts = isNarrow && day.length ? day : [...day, chart.axis];
      time.textContent = parts.join(", ") + (isNarrow ? "" : "; drag to zoom");
    };
    shown.zoom = (min, max) => {
      const isWhole = min <= shown.low && max >= shown.high;
      reset.disabled = isWhole;
      if (isWhole) [min, max] = [shown.low, shown.high];
      for (const plot of shown.plots) {
        const { min: from, max: to } = plot.scales.x;
        if (from !== min || to !== max) plot.setScale("x", { min, max });
      }
    };
    shown.reset = () => shown.zoom(shown.low, shown.high);
    shown.point = (plot) => {
      const { idx } = plot.cursor;
      if (idx == null) return shown.rest();
      time.textContent = label(chart, plot.data[0][idx]);
    };
    reset.onclick = () => {
      shown.reset();
      holder.querySelector(".plot").focus();
    };
    shown.key = uPlot.sync(`charts-${(count += 1)}`).key;
    chart.panels.forEach((panel, at) => holder.append(...one(shown, panel, at === chart.panels.length - 1)));
    shown.rest();
    shown.reset();
    return shown;
  }

  const isNarrow = matchMedia("(max-width: 40rem)").matches;

  // a panel: its title, a button for each line, and the plot
  function one(shown, panel, isLast) {
    const { chart } = shown;
    const joined = table(panel);
    const raw = joined.slice(1);
    const sums = panel.stacked ? stacked(raw) : raw;
    const order = panel.lines.map((_, at) => at);
    if (panel.stacked) order.reverse(); // the highest first, the others over it
    const rest = panel.lines.map(([, , , , typical]) => (typical == null ? "" : number(typical)));
    const buttons = panel.lines.map(([name, at], line) => {
      const key = element("i", { className: "key" });
      key.style.borderTop = `3px ${at ? "dashed" : "solid"} var(--line-${at % 6})`;
      const value = element("b", { textContent: rest[line] });
      const button = element("button", { type: "button", className: "entry" }, key, name || panel.title, value);
      button.setAttribute("aria-pressed", "true");
      button.addEventListener("click", () => toggle(shown, name));
      shown.entries.push({ name, button });
      return { button, value };
    });
    const head = element("div", { className: "head" }, element("span", { textContent: panel.title }));
    if (panel.lines.length > 1 || panel.lines[0][0]) head.append(...buttons.map(({ button }) => button));
    else head.append(buttons[0].value);
    const place = element("div", { className: "plot", tabIndex: 0 });
    place.setAttribute("role", "group");
    place.setAttribute("aria-label", `${panel.title}: arrow keys read samples, plus and minus zoom`);

    const few = joined[0].length <= 60;
    const series = order.map((at) => {
      const [name, ink] = panel.lines[at];
      return {
        label: name,
        stroke: () => colour(`line-${ink % 6}`),
        fill: panel.stacked ? () => colour(`area-${ink % 2}`) : undefined,
        width: ink === 0 ? 2 : 1.5,
        dash: dashes[ink % 6],
        points: { show: few, size: 5 },
      };
    });
    const axis = { stroke: () => colour("muted"), font, grid: { stroke: () => colour("grid"), width: 1 } };
    const options = {
      width: Math.max(200, place.clientWidth || 600),
      height: (isNarrow ? 84 : chart.panels.length > 1 ? 96 : 132) + (isLast ? 34 : 12),
      padding: [6, 26, 0, 0],
      tzDate: (at) => uPlot.tzDate(new Date(clock(chart, at)), "Etc/UTC"),
      legend: { show: false },
      scales: {
        x: { time: chart.offsets.length > 0 },
        y: { range: (plot, low, high) => [0, Math.max(panel.top, (high || 0) * 1.06) || 1] },
      },
      axes: [
        {
          ...axis,
          size: isLast ? 34 : 12,
          grid: { show: false },
          ticks: { stroke: () => colour("muted"), width: 1, size: 4 },
          ...(chart.offsets.length ? {} : { incrs: [1, 2, 5].flatMap((n) => [n, 10 * n, 100 * n, 1000 * n]).sort((a, b) => a - b) }),
          values: (plot, splits, _, __, step) => splits.map((at) => (isLast && (step >= 1 || Number.isInteger(at)) ? tick(chart, at, step) : "")),
          space: 80,
        },
        { ...axis, size: isNarrow ? 46 : 62, space: 28, ticks: { show: false }, values: (_, splits) => splits.map(number) },
      ],
      series: [{}, ...series],
      cursor: {
        sync: { key: shown.key, scales: ["x", null] },
        drag: { x: true, y: false },
        bind: { dblclick: () => () => shown.reset() },
        points: { size: 7 },
        y: false,
      },
      hooks: {
        drawClear: [(plot) => shade(plot, chart)],
        setScale: [(plot, key) => key === "x" && shown.plots.length && zoomed(shown, plot)],
        setCursor: [
          (plot) => {
            const { idx } = plot.cursor;
            buttons.forEach(({ value }, at) => {
              value.textContent = idx == null ? rest[at] : number(near(raw[at], idx));
            });
            shown.point(plot);
          },
        ],
      },
    };
    const plot = new uPlot(options, [joined[0], ...order.map((at) => sums[at])], place);
    shown.plots.push(plot);
    place.addEventListener("keydown", (event) => keys(shown, plot, event));
    touch(shown, plot);
    return [head, place];
  }

  // a sample that only another line has is none of this one's
  function near(row, at) {
    return row[at] === undefined ? null : row[at];
  }

  function zoomed(shown, plot) {
    const { min, max } = plot.scales.x;
    if (min != null) shown.zoom(min, max);
  }

  function shade(plot, chart) {
    if (!chart.window.length) return;
    const { left, top, width, height } = plot.bbox;
    const inside = (at) => Math.min(left + width, Math.max(left, plot.valToPos(at, "x", true)));
    const [from, to] = chart.window.map(inside);
    plot.ctx.fillStyle = colour("shade");
    plot.ctx.fillRect(from, top, to - from, height);
  }

  function toggle(shown, name) {
    const isShown = shown.hidden.delete(name) || !shown.hidden.add(name);
    for (const entry of shown.entries) {
      if (entry.name === name) entry.button.setAttribute("aria-pressed", String(isShown));
    }
    for (const plot of shown.plots) {
      plot.series.forEach((series, at) => at && series.label === name && plot.setSeries(at, { show: isShown }));
    }
  }

  function keys(shown, plot, event) {
    const { min, max } = plot.scales.x;
    const all = plot.data[0];
    const last = all.length - 1;
    const at = plot.cursor.idx;
    const middle = at == null ? (min + max) / 2 : all[at];
    const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    const scale = { "+": 0.5, "=": 0.5, "-": 2 }[event.key];
    if (by) {
      const to = at == null ? 0 : Math.min(last, Math.max(0, at + by));
      const left = plot.valToPos(all[to], "x");
      plot.setCursor({ left, top: 1 }, true, true);
    } else if (scale) {
      const half = ((max - min) / 2) * scale;
      shown.zoom(Math.max(shown.low, middle - half), Math.min(shown.high, middle + half));
    } else if (event.key === "0" || event.key === "Escape") shown.reset();
    else return;
    event.preventDefault();
  }

  // a finger that is drawn sideways selects as a mouse does; up and down it scrolls the page
  function touch(shown, plot) {
    const { over } = plot;
    const select = (left, width) => plot.setSelect({ left, width, top: 0, height: over.clientHeight }, false);
    let from = null;
    let to = null;
    const place = (event) => Math.min(over.clientWidth, Math.max(0, event.clientX - over.getBoundingClientRect().left));
    over.addEventListener("pointerdown", (event) => {
      if (event.pointerType === "touch") from = to = event.isPrimary ? place(event) : null;
    });
    over.addEventListener("pointermove", (event) => {
      if (from == null) return;
      to = place(event);
      plot.setCursor({ left: to, top: 1 }, true, true);
      select(Math.min(from, to), Math.abs(to - from));
    });
    over.addEventListener("pointercancel", () => {
      from = null;
      select(0, 0);
    });
    over.addEventListener("pointerup", () => {
      if (from == null) return;
      const ends = [from, to].sort((a, b) => a - b).map((at) => plot.posToVal(at, "x"));
      if (Math.abs(to - from) > 8) shown.zoom(...ends);
      from = null;
      select(0, 0);
    });
  }

  function choice(chart, change) {
    const select = element("select");
    for (const [text, at] of [["Overview", data.charts.indexOf(chart)], ...chart.choices]) select.append(element("option", { value: at, textContent: text }));
    select.addEventListener("change", () => change(data.charts[select.value]));
    return element("label", {}, "Show ", select);
  }

  // a heatmap stays as it is drawn; a line above it says what is pointed at
  function read(figure, chart) {
    const still = figure.querySelector(".still");
    const rest = `Point at a cell to read it, in ${chart.unit}`;
    const line = element("output", { className: "time", textContent: rest });
    const box = element("div", { className: "live" }, element("div", { className: "bar" }, line));
    still.before(box);
    const drawing = still.querySelector("svg, img");
    const [left, right, top, bottom] = chart.frame;
    const count = chart.cells[0].length;
    const [start, end] = chart.ends;
    drawing.addEventListener("pointermove", (event) => {
      const place = drawing.getBoundingClientRect();
      const across = (event.clientX - place.left) / place.width;
      const down = (event.clientY - place.top) / place.width;
      const column = Math.floor(((across - left) / (right - left)) * count);
      const row = Math.floor(((down - top) / (bottom - top)) * chart.cells.length);
      const isInside = column >= 0 && column < count && row >= 0 && row < chart.cells.length;
      const at = start + ((column + 0.5) * (end - start)) / count;
      line.textContent = isInside
        ? `${chart.labels[row]}, ${label(chart, at)}: at most ${number(chart.cells[row][column])} ${chart.unit}`
        : rest;
    });
    drawing.addEventListener("pointerleave", () => (line.textContent = rest));
  }

  function mount(figure) {
    const chart = data.charts[figure.dataset.chart];
    if (chart.cells) return read(figure, chart);
    const still = figure.querySelector(".still");
    const holder = element("div");
    const box = element("div", { className: "live" });
    box.setAttribute("role", "group");
    const image = still.querySelector("[role=img], img");
    box.setAttribute("aria-label", image.getAttribute("aria-label") || image.alt);
    still.before(box);
    figure.classList.add("is-live");
    const time = element("output", { className: "time" });
    const reset = element("button", { type: "button", textContent: "Reset zoom", disabled: true });
    const bar = element("div", { className: "bar" }, time, reset);
    let shown;
    const show = (wanted) => {
      if (shown) shown.plots.forEach((plot) => plot.destroy());
      shown = draw(holder, { time, reset }, wanted);
      resize();
    };
    const resize = () => {
      const width = Math.max(200, holder.clientWidth);
      for (const plot of shown.plots) if (plot.width !== width) plot.setSize({ width, height: plot.height });
    };
    if (chart.choices.length) bar.prepend(choice(chart, show));
    box.append(bar, holder);
    show(chart);
    new ResizeObserver(resize).observe(holder);
    live.add(() => shown.plots);
  }

  const observer = new IntersectionObserver(
    (entries) => {
      for (const { isIntersecting, target } of entries) {
        if (!isIntersecting) continue;
        observer.unobserve(target);
        mount(target);
      }
    },
    { rootMargin: "300px" },
  );
  document.querySelectorAll("figure[data-chart]").forEach((figure) => observer.observe(figure));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
    for (const plots of live) plots().forEach((plot) => plot.redraw(true, true));
  });
})();
