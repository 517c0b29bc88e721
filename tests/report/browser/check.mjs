// Opens pages in one headless Chromium and prints, as JSON, what is wrong with each.
// usage: node check.mjs CHROMIUM PAGE...
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";
import { chromium } from "playwright-core";

const FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
  "--disable-background-networking", "--disable-component-update", "--disable-sync"];
const DESK = { width: 1000, height: 900 };
const SCREEN = { width: 1280, height: 800 };
const PHONE = { width: 360, height: 740 };
const SHEET = { width: 688, height: 1000 }; // A4 less the margins that the page asks for
const ELSEWHERE = "http://127.0.0.1:9/";
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

const MODES = [
  ["light", DESK, { media: "screen", colorScheme: "light" }, {}],
  // what the colours and the width can change
  ["dark, 360 px", PHONE, { media: "screen", colorScheme: "dark" }, { runOnly: ["color-contrast", "target-size"] }],
  ["print", SHEET, { media: "print", colorScheme: "light" }],
];

// the first page is the one whose charts are tried, the second the one whose lists are filtered
const [executablePath, ...paths] = process.argv.slice(2);
const [explorable, filterable] = paths;
const browser = await chromium.launch({ executablePath, args: FLAGS });
const results = Object.fromEntries(paths.map((path) => [path, []]));
const screens = {};
const todo = [...paths];
await Promise.all([worker(), worker()]);
const policy = await policyHolds(paths[0]);
const explored = { ...(await explore(explorable)), ...(await touched(explorable)) };
const filtered = await filter(filterable);
await browser.close();
console.log(JSON.stringify({ pages: results, screens, policy, explored, filtered }));

async function worker() {
  const page = await browser.newPage({ viewport: DESK });
  const plain = await browser.newPage({ viewport: DESK, javaScriptEnabled: false });
  for (let path = todo.shift(); path; path = todo.shift()) {
    results[path] = [...(await problems(page, path)), ...(await closely(page, plain, path))];
  }
}

// whether a page is quiet and fits, on a desk, on a phone in the dark, and on paper
async function problems(page, path) {
  const own = pathToFileURL(path).href;
  const found = [];
  page.removeAllListeners();
  page.on("console", (message) => found.push(`console: ${message.text()}`));
  page.on("pageerror", (error) => found.push(`error: ${error.message}`));
  page.on("request", (request) => {
    if (request.url() !== own && !request.url().startsWith("data:")) found.push(`request: ${request.url()}`);
  });
  await page.goto(own);
  for (const [mode, size, media] of MODES) {
    await page.emulateMedia(media);
    await page.setViewportSize(size);
    const over = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    if (over > 0) found.push(`${mode}: ${over} px wider than the window`);
  }
  await page.emulateMedia(MODES[0][2]);
  await page.setViewportSize(SCREEN);
  screens[path] = await page.evaluate(() => document.documentElement.scrollHeight / innerHeight);
  return found;
}

// axe's rules in light and dark, and the same words without scripts
async function closely(page, plain, path) {
  const found = [];
  await page.evaluate(axe);
  for (const [mode, size, media, options] of MODES.slice(0, 2)) {
    await page.emulateMedia(media);
    await page.setViewportSize(size);
    const { violations } = await page.evaluate((given) => window.axe.run(document, given), options);
    found.push(...violations.map(({ id, nodes }) => `${mode}: ${id}: ${nodes[0].html.slice(0, 200)}`));
  }
  // charts are drawn anew by the script; all else must be the same
  const words = () => {
    for (const chart of document.querySelectorAll(".live, .still")) chart.hidden = true;
    return document.body.innerText;
  };
  await page.setViewportSize(DESK);
  await plain.goto(pathToFileURL(path).href);
  const shown = await plain.evaluate(words);
  if (!shown.trim() || shown !== (await page.evaluate(words))) found.push("without scripts: other words");
  return found;
}

// each of these must be refused by the page's own policy
async function policyHolds(path) {
  const page = await browser.newPage();
  await page.goto(pathToFileURL(path).href);
  return page.evaluate(async ([elsewhere, kinds]) => {
    const refused = new Set();
    document.addEventListener("securitypolicyviolation", (event) => refused.add(event.effectiveDirective));
    const add = (name, fields) => document.body.append(Object.assign(document.createElement(name), fields));
    add("script", { textContent: "document.title = 'ran'" });
    add("style", { textContent: "body { display: none }" });
    add("img", { src: elsewhere });
    add("iframe", { src: elsewhere });
    add("object", { data: elsewhere });
    await fetch(elsewhere).catch(() => {});
    // a busy machine may be late to refuse a frame; what is never refused ends the wait
    for (let wait = 0; refused.size < kinds && wait < 50; wait++) {
      await new Promise((resolve) => setTimeout(resolve, 200));
    }
    return { refused: [...refused].sort(), ran: document.title === "ran" };
  }, [ELSEWHERE, 6]);
}

// pointing, zooming, switching and the keys, on the first chart of a page; and what paper shows
async function explore(path) {
  const page = await browser.newPage({ viewport: SCREEN });
  await page.goto(pathToFileURL(path).href);
  const figure = page.locator("figure.is-live").first();
  const plot = figure.locator(".plot").first();
  const time = figure.locator(".time");
  const reset = figure.getByText("Reset zoom");
  const values = () => figure.locator(".head").first().innerText();
  const box = await plot.boundingBox();
  const to = (share) => page.mouse.move(box.x + 70 + share * (box.width - 90), box.y + box.height / 3);
  const [rest, legend] = [await time.innerText(), await values()];
  await to(0.9);
  const isPointed = (await time.innerText()) !== rest && (await values()) !== legend;
  await to(0.3);
  await page.mouse.down();
  await to(0.6);
  await page.mouse.up();
  const isZoomed = await reset.isEnabled();
  await reset.click();
  const isReset = await reset.isDisabled();
  await page.keyboard.press("ArrowRight");
  const first = await time.innerText();
  await page.keyboard.press("ArrowRight");
  const isRead = first !== rest && (await time.innerText()) !== first;
  await page.keyboard.press("+");
  const isZoomedByKey = await reset.isEnabled();
  await page.keyboard.press("Escape");
  const entry = figure.locator(".entry").first();
  await entry.click();
  const isHidden = (await entry.getAttribute("aria-pressed")) === "false";
  const before = await figure.locator(".plot").count();
  await figure.locator("select").selectOption({ index: 1 });
  const isSwitched = (await figure.locator(".plot").count()) > before;
  await page.emulateMedia({ media: "print" });
  const isOnPaper = (await figure.locator(".still").isVisible()) && !(await figure.locator(".live").isVisible());
  return { isPointed, isZoomed, isReset, isRead, isZoomedByKey, isHidden, isSwitched, isOnPaper };
}

// a finger that reads and zooms, and one that scrolls
async function touched(path) {
  const context = await browser.newContext({ viewport: PHONE, hasTouch: true });
  const page = await context.newPage();
  await page.goto(pathToFileURL(path).href);
  const client = await context.newCDPSession(page);
  const figure = page.locator("figure.is-live").first();
  const reset = figure.getByText("Reset zoom");
  await figure.locator(".plot").first().scrollIntoViewIfNeeded();
  const box = await figure.locator(".u-over").first().boundingBox();
  const draw = async (across, down) => {
    const at = (share) => [{ x: box.x + (0.3 + across * share) * box.width, y: box.y + 20 - down * share }];
    await client.send("Input.dispatchTouchEvent", { type: "touchStart", touchPoints: at(0) });
    for (const share of [0.3, 0.6, 1]) {
      await client.send("Input.dispatchTouchEvent", { type: "touchMove", touchPoints: at(share) });
    }
    await client.send("Input.dispatchTouchEvent", { type: "touchEnd", touchPoints: [] });
  };
  await draw(0.4, 0);
  const isZoomedByTouch = await reset.isEnabled();
  await reset.click();
  await draw(0, 200);
  const isScrolledByTouch = await reset.isDisabled();
  await context.close();
  return { isZoomedByTouch, isScrolledByTouch };
}

// the filter of the fleet report, its links into itself, and the whole list without scripts
async function filter(path) {
  const page = await browser.newPage({ viewport: SCREEN });
  await page.goto(pathToFileURL(path).href);
  const troubles = page.locator(".group:visible");
  const rows = page.locator(".heatmap tbody tr:visible");
  const [all, hosts] = [await troubles.count(), await rows.count()];
  await page.fill("#filter", "db-00000 hung");
  const isFiltered = (await troubles.count()) === 1 && (await rows.count()) === 1;
  await page.fill("#filter", "no such host");
  const isEmpty = (await troubles.count()) === 0 && (await page.innerText("#filtered")) === `0 of ${all} troubles`;
  await page.fill("#filter", "");
  const isWhole = (await troubles.count()) === all && (await rows.count()) === hosts;
  await page.locator(".facts a[href^='#']").first().click();
  const isOpened = (await page.locator(".group[open]").count()) === 1;
  await page.emulateMedia({ media: "print" });
  const isOnPaper = (await troubles.count()) === all && !(await page.isVisible("#filter"));
  const plain = await browser.newPage({ javaScriptEnabled: false });
  await plain.goto(pathToFileURL(path).href);
  const isWholeWithout = (await plain.locator(".group:visible").count()) === all && !(await plain.isVisible("#filter"));
  return { isFiltered, isEmpty, isWhole, isOpened, isOnPaper, isWholeWithout };
}
