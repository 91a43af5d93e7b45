"use strict";
(() => {
const $ = (selector, root) => (root || document).querySelector(selector);
const $$ = (selector, root) => Array.from((root || document).querySelectorAll(selector));

// Everything that is made here is made of nodes and texts, never of markup.
const make = (name, properties, ...children) => {
  const node = document.createElement(name);
  for (const [key, value] of Object.entries(properties || {})) {
    if (key === "on")
      for (const [event, handler] of Object.entries(value)) node.addEventListener(event, handler);
    else if (key in node && key !== "role") node[key] = value;
    else node.setAttribute(key, value);
  }
  node.append(...children);
  return node;
};
const button = (text, label, click) =>
  make("button", { type: "button", "aria-label": label, title: label, on: { click } }, text);

const status = make("div", { className: "sr", role: "status", id: "status" });
document.body.append(status);
const say = (text) => { status.textContent = text; };

// ---- light and dark ----

const theme = () => {
  const names = { auto: "Theme: system", light: "Theme: light", dark: "Theme: dark" };
  const order = ["auto", "light", "dark"];
  let now = "auto";
  try { now = localStorage.getItem("corefrag-theme") || "auto"; } catch (e) { now = "auto"; }
  const control = make("button", { type: "button", id: "theme" });
  const show = () => {
    if (now === "auto") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = now;
    control.textContent = names[now] || names.auto;
  };
  control.addEventListener("click", () => {
    now = order[(order.indexOf(now) + 1) % order.length];
    try { localStorage.setItem("corefrag-theme", now); } catch (e) { say(names[now]); }
    show();
  });
  show();
  $("#tools").append(control);
};

// ---- copying ----

const copyOld = (text) => {
  const area = make("textarea", { value: text, className: "sr" });
  document.body.append(area);
  area.select();
  const done = document.execCommand("copy");
  area.remove();
  return done;
};
const copy = async (text, control) => {
  let done = false;
  try {
    await navigator.clipboard.writeText(text);
    done = true;
  } catch (e) {
    done = copyOld(text);
  }
  control.textContent = done ? "Copied" : "Select it";
  say(done ? "Copied" : "It could not be copied");
  setTimeout(() => { control.textContent = "Copy"; }, 1500);
};
const withCopy = (box) => {
  const code = $("code", box);
  const control = make("button", { type: "button", className: "copy" }, "Copy");
  control.setAttribute("aria-label", "Copy: " + code.textContent.slice(0, 60));
  control.addEventListener("click", () => copy(code.textContent, control));
  box.append(control);
};
const sqlBox = (text) => {
  const box = make("div", { className: "sql" }, make("code", {}, text));
  withCopy(box);
  return box;
};

// ---- sorting ----

// What a cell is sorted by: its exact figure, which stands in the title where it is rounded.
const sortKey = (cell) => {
  if (cell === undefined) return null;
  const shown = cell.textContent.trim();
  if (shown === "" || cell.classList.contains("u")) return null;
  const text = (cell.title || shown).replace(/^[\u2264\u2265<>] ?/, "").replace(/,/g, "");
  if (/^0x[0-9a-f]+$/.test(text)) return Number(BigInt(text));
  return /^[-+]?[0-9.]+( %| B)?$/.test(text) ? parseFloat(text) : text.toLowerCase();
};
const compare = (a, b, down) => {
  if (a === null || b === null) return (a === null) - (b === null);
  const order = typeof a === typeof b ? (a < b ? -1 : a > b ? 1 : 0)
    : typeof a === "number" ? -1 : 1;
  return down ? -order : order;
};
const sortBy = (table, header, column) => {
  const isText = !header.classList.contains("n");
  const before = header.getAttribute("aria-sort");
  const down = before === null ? !isText : before === "ascending";
  for (const other of $$("thead th", table)) other.removeAttribute("aria-sort");
  header.setAttribute("aria-sort", down ? "descending" : "ascending");
  const body = table.tBodies[0];
  const rows = Array.from(body.rows).map((row, at) => [sortKey(row.cells[column]), at, row]);
  rows.sort((a, b) => compare(a[0], b[0], down) || a[1] - b[1]);
  body.append(...rows.map((row) => row[2]));
  say("Sorted by " + $("button", header).textContent.trim() + (down ? ", descending" : ", ascending"));
};
const sortable = (table) => {
  $$("thead th", table).forEach((header, column) => {
    if (header.textContent.trim() === "" || table.tBodies[0].rows.length < 2) return;
    const first = table.tBodies[0].rows[0].cells[column];
    if (first.classList.contains("occ") || first.classList.contains("change")) return;
    const control = make("button", { type: "button" }, header.textContent);
    control.addEventListener("click", () => sortBy(table, header, column));
    // Headers repeat on each sheet of paper, but buttons do not.
    const paper = make("span", { className: "paper" }, header.textContent);
    paper.setAttribute("aria-hidden", "true");
    header.replaceChildren(control, paper);
  });
};

// ---- long tables ----

const foldable = (table) => {
  const count = table.tBodies[0].rows.length;
  if (count <= 15) return;
  table.classList.add("folded");
  const control = button("Show all " + count + " rows", "Show all " + count + " rows", () => {
    const folded = table.classList.toggle("folded");
    control.textContent = folded ? "Show all " + count + " rows" : "Show the first 12 rows";
    control.setAttribute("aria-expanded", String(!folded));
  });
  control.removeAttribute("aria-label");
  control.classList.add("fold");
  control.setAttribute("aria-expanded", "false");
  table.parentElement.after(control);
};

// ---- numbers ----

const bytes = (count) => {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let at = 0;
  let value = count;
  while (value >= 1024 && at < units.length - 1) { value /= 1024; at++; }
  return at === 0 ? value + " B" : value.toFixed(at > 2 ? 2 : 1) + " " + units[at];
};
const exactly = (count) => Math.round(count).toString().replace(/\B(?=(\d{3})+$)/g, ",") + " B";
const percent = (part, whole) => {
  const value = 100 * part / whole;
  return value > 0 && value < 0.1 ? "< 0.1 %" : value.toFixed(1) + " %";
};
const hex = (address) => "0x" + BigInt.asUintN(64, address).toString(16);
const sqlInteger = (address) => BigInt.asIntN(64, address).toString();

// ---- the map of the heaps ----

const LETTERS = "LMDRTOlmdrto";
const NAMES = ["live", "mixed", "dead", "releasable", "top", "overhead"];
const STYLES = ["live", "pinned", "edge", "releasable", "top", "overhead"];
const LAYERS = [0, 1, 5, 2, 3, 4];
const ZOOM = 8;

// "L3M.812(L10m2R34).40960" to cells of { page, pages, live, counts }.
const parseCells = (text, pageBytes) => {
  const cells = [];
  const pattern = /\(((?:[A-Za-z]\d*)+)\)(?:\.(\d+))?|([A-Za-z]\d*)(?:\.(\d+))?/g;
  let page = 0;
  for (const match of text.matchAll(pattern)) {
    const counts = new Array(12).fill(0);
    let pages = 0;
    for (const [, letter, digits] of (match[1] || match[3]).matchAll(/([A-Za-z])(\d*)/g)) {
      const count = digits === "" ? 1 : Number(digits);
      counts[LETTERS.indexOf(letter)] += count;
      pages += count;
    }
    cells.push({ page, pages, live: Number(match[2] || match[4] || 0), counts });
    page += pages;
  }
  return cells;
};

// What stands in pages [from, to) of a heap. Where a cell of the data is only partly in it, its
// share is taken: then the answer is about right, not exact.
const gather = (heap, from, to) => {
  const sum = { from, to, live: 0, counts: new Array(12).fill(0), isRough: false };
  let low = 0;
  let high = heap.cells.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    const cell = heap.cells[middle];
    if (cell.page + cell.pages <= from) low = middle + 1; else high = middle;
  }
  for (let i = low; i < heap.cells.length && heap.cells[i].page < to; i++) {
    const cell = heap.cells[i];
    const part = Math.min(to, cell.page + cell.pages) - Math.max(from, cell.page);
    const share = part / cell.pages;
    const isPure = cell.counts.some((count) => count === cell.pages);
    if (share < 1 && (!isPure || cell.counts[1] + cell.counts[7] > 0)) sum.isRough = true;
    cell.counts.forEach((count, k) => { sum.counts[k] += count * share; });
    sum.live += cell.live * share;
  }
  return sum;
};

// The class of most pages; 6: not in memory.
const mainClass = (sum) => {
  const amounts = NAMES.map((name, k) => sum.counts[k]);
  amounts.push(sum.counts.slice(6).reduce((a, b) => a + b, 0));
  return amounts.indexOf(Math.max(...amounts));
};
const styleOf = (k) => k === 6 ? "absent" : STYLES[k];

// The parts of a cell from the bottom up, as a background.
const background = (sum) => {
  const pages = sum.to - sum.from;
  const stops = [];
  let at = 0;
  for (const k of LAYERS) {
    const share = 100 * sum.counts[k] / pages;
    if (share <= 0) continue;
    const color = "var(--" + STYLES[k] + ")";
    stops.push(color + " " + at.toFixed(2) + "%", color + " " + (at + share).toFixed(2) + "%");
    at += share;
  }
  if (at < 99.99) stops.push("var(--absent) " + at.toFixed(2) + "%", "var(--absent) 100%");
  return "linear-gradient(to top, " + stops.join(", ") + ")";
};

const words = (sum) => {
  const pages = sum.to - sum.from;
  const parts = NAMES.map((name, k) => [name, sum.counts[k]]);
  parts.push(["not in memory", sum.counts.slice(6).reduce((a, b) => a + b, 0)]);
  return parts.filter((part) => part[1] > 0).sort((a, b) => b[1] - a[1])
    .map((part) => part[0] + " " + percent(part[1], pages)).join(", ");
};

class Zoom {
  constructor(map, heap, opener) {
    this.map = map;
    this.heap = heap;
    this.opener = opener;
    this.from = 0;
    this.back = [];
    this.grid = make("div", { className: "cells", role: "grid" });
    this.grid.setAttribute("aria-label", "Cells of heap " + heap.id +
      "; arrows move, Enter zooms in, minus zooms out, Escape closes");
    this.told = make("div", { className: "told" });
    this.told.setAttribute("aria-live", "polite");
    this.where = make("span", { className: "where" });
    this.node = make("div", { className: "zoom", id: "zoom-" + heap.id }, this.toolbar(),
      this.grid, this.told);
    this.grid.addEventListener("keydown", (event) => this.key(event));
    this.grid.addEventListener("click", (event) => this.click(event));
    this.fit();
    this.draw(0);
  }

  toolbar() {
    this.out = button("\u2212 out", "Zoom out", () => this.zoomOut());
    this.in = button("+ in", "Zoom in on the chosen cell", () => this.zoomIn());
    this.left = button("\u2190", "Lower addresses", () => this.move(-1));
    this.right = button("\u2192", "Higher addresses", () => this.move(1));
    return make("div", { className: "bar", role: "toolbar" }, this.where, this.out, this.in,
      this.left, this.right, button("\u00d7", "Close", () => this.close()));
  }

  // As many cells as are readable in the width there is; the whole heap to begin with.
  fit() {
    const width = $("#heaps").clientWidth;
    this.columns = width > 900 ? 64 : width > 560 ? 32 : 16;
    this.room = this.columns * (width > 560 ? 8 : 12);
    this.grain = 1;
    while (this.heap.pages / this.grain > this.room) this.grain *= 2;
  }

  draw(selected) {
    const cells = [];
    const end = Math.min(this.heap.pages, this.from + this.room * this.grain);
    for (let page = this.from; page < end; page += this.grain)
      cells.push(gather(this.heap, page, Math.min(page + this.grain, this.heap.pages)));
    this.sums = cells;
    this.marks = cells.map((sum) => this.marksIn(sum));
    this.grid.style.gridTemplateColumns = "repeat(" + this.columns + ", minmax(0, 1fr))";
    this.grid.replaceChildren();
    for (let at = 0; at < cells.length; at += this.columns)
      this.grid.append(make("div", { role: "row" }, ...cells.slice(at, at + this.columns)
        .map((sum, i) => this.cell(sum, at + i))));
    this.cells = $$(".cell", this.grid);
    this.out.disabled = this.back.length === 0;
    this.left.disabled = this.from === 0;
    this.right.disabled = end >= this.heap.pages;
    this.in.disabled = this.grain === 1;
    this.where.textContent = "Heap " + this.heap.id + " of arena " + this.heap.arena + ", " +
      hex(this.address(this.from)) + " to " + hex(this.address(end)) + "; a cell is " +
      (this.grain === 1 ? "a page" : this.grain + " pages") + ", " +
      bytes(this.grain * this.map.page);
    this.select(Math.min(selected, cells.length - 1), false);
  }

  address(page) { return this.heap.start + BigInt(page) * BigInt(this.map.page); }

  marksIn(sum) {
    const low = this.address(sum.from);
    const high = this.address(sum.to);
    return this.heap.marks.filter((mark) => mark.address < high && mark.address >= low);
  }

  cell(sum, at) {
    const main = mainClass(sum);
    const marked = this.marks[at].length > 0;
    const node = make("div", { className: "cell" + (marked ? " marked" : ""), role: "gridcell",
      tabIndex: -1 }, main === 6 ? "\u00b7" : LETTERS[main]);
    node.setAttribute("aria-label", hex(this.address(sum.from)) + ", " +
      bytes((sum.to - sum.from) * this.map.page) + ": " + words(sum) +
      (marked ? "; has a pin or a large hole" : ""));
    node.title = node.getAttribute("aria-label");
    node.style.background = background(sum);
    node.style.color = "var(--on-" + styleOf(main) + ")";
    return node;
  }

  select(at, focus) {
    if (at < 0 || at >= this.cells.length) return;
    for (const cell of $$("[aria-selected]", this.grid)) {
      cell.removeAttribute("aria-selected");
      cell.tabIndex = -1;
    }
    this.at = at;
    const cell = this.cells[at];
    cell.setAttribute("aria-selected", "true");
    cell.tabIndex = 0;
    if (focus) cell.focus();
    this.tell();
  }

  // The chosen cell in words, and the SQL that lists what is in it.
  tell() {
    const sum = this.sums[this.at];
    const size = (sum.to - sum.from) * this.map.page;
    const low = this.address(sum.from);
    const high = this.address(sum.to);
    const about = sum.isRough ? "about " : "";
    const mixed = (sum.counts[1] + sum.counts[7]) * this.map.page;
    const others = (sum.counts[0] + sum.counts[6]) * this.map.page;
    const onMixed = Math.max(0, Math.min(sum.live - others, mixed));
    const lines = [
      make("p", {}, make("strong", { className: "mono" }, hex(low) + " \u2013 " + hex(high)),
        "  " + exactly(size) + ": " + about + words(sum) + "."),
      make("p", {}, "Live: " + about + exactly(sum.live) + "." + (mixed > 0
        ? " Pages with live and dead bytes: " + exactly(mixed) + "; live chunks keep " +
          about + exactly(mixed - onMixed) + " of dead bytes there." : "")),
    ];
    for (const mark of this.marks[this.at].slice(0, 4)) lines.push(make("p", {}, this.markText(mark)));
    this.told.replaceChildren(...lines, sqlBox(this.sql(low, high)));
  }

  markText(mark) {
    if (mark.rank === 0)
      return "A hole of " + bytes(mark.bytes) + " begins at " + hex(mark.address) +
        (mark.unlocked === null ? "." : "; malloc_trim(0) would release " + bytes(mark.unlocked) +
         " of it.");
    return "Pin number " + mark.rank + " below the top: " + bytes(mark.bytes) + " at " +
      hex(mark.address) + (mark.text === "" ? "" : ", " + mark.text) + "; holds down " +
      bytes(mark.unlocked) + ".";
  }

  sql(low, high) {
    const within = "heap_id = " + this.heap.id + " AND ";
    if (this.map.chunks)
      return "SELECT address_hex, size_bytes, state FROM v_chunk WHERE " + within + "address < " +
        sqlInteger(high) + " AND address + size_bytes > " + sqlInteger(low) +
        " AND state = 'live' ORDER BY address";
    return "SELECT start_hex, pages, class, resident, live_bytes FROM v_page_run WHERE " + within +
      "start < " + sqlInteger(high) + " AND start + pages * " + this.map.page + " > " +
      sqlInteger(low) + " ORDER BY start";
  }

  zoomIn() {
    if (this.grain === 1) return;
    const sum = this.sums[this.at];
    this.back.push({ from: this.from, grain: this.grain, at: this.at });
    this.grain = Math.max(1, this.grain / ZOOM);
    const span = this.room * this.grain;
    const middle = (sum.from + sum.to) / 2;
    const from = Math.max(0, Math.min(middle - span / 2, this.heap.pages - span));
    this.from = Math.floor(from / this.grain) * this.grain;
    this.draw(Math.floor((sum.from - this.from) / this.grain));
    this.cells[this.at].focus();
    say(this.where.textContent);
  }

  zoomOut() {
    const last = this.back.pop();
    if (last === undefined) return;
    this.from = last.from;
    this.grain = last.grain;
    this.draw(last.at);
    this.cells[this.at].focus();
    say(this.where.textContent);
  }

  move(direction) {
    const step = Math.floor(this.room / 2) * this.grain;
    const most = Math.max(0, this.heap.pages - this.grain);
    this.from = Math.max(0, Math.min(this.from + direction * step,
      Math.floor(most / this.grain) * this.grain));
    this.draw(this.at);
  }

  close() {
    this.node.remove();
    this.map.open = null;
    this.opener.setAttribute("aria-expanded", "false");
    this.opener.focus();
  }

  click(event) {
    const cell = event.target.closest(".cell");
    if (cell === null) return;
    const at = this.cells.indexOf(cell);
    if (at === this.at && event.detail >= 2) this.zoomIn();
    else this.select(at, true);
  }

  key(event) {
    const steps = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -this.columns, ArrowDown: this.columns };
    if (event.key in steps) this.step(steps[event.key]);
    else if (event.key === "Home") this.select(0, true);
    else if (event.key === "End") this.select(this.cells.length - 1, true);
    else if (event.key === "PageUp") this.move(-1);
    else if (event.key === "PageDown") this.move(1);
    else if (event.key === "Enter" || event.key === "+") this.zoomIn();
    else if (event.key === "-" || event.key === "Backspace") this.zoomOut();
    else if (event.key === "Escape") this.close();
    else return;
    event.preventDefault();
  }

  step(by) {
    const to = this.at + by;
    if (to >= 0 && to < this.cells.length) this.select(to, true);
  }
}

const loadMap = () => {
  const source = $("#map-data");
  if (source === null) return null;
  const raw = JSON.parse(source.textContent);
  const map = { page: raw.page, chunks: raw.chunks, heaps: new Map(), open: null };
  for (const [id, arena, start, pages, resident, live, text] of raw.heaps)
    map.heaps.set(id, { id, arena, start: BigInt(start), pages, resident, live, text, cells: null,
      marks: [] });
  for (const [address, size, unlocked, heap, rank, text] of raw.marks)
    if (map.heaps.has(heap))
      map.heaps.get(heap).marks.push({ address: BigInt(address), bytes: size, unlocked, rank, text });
  return map;
};

const toggle = (map, heap, row, opener) => {
  const wasOpen = map.open !== null && map.open.heap === heap;
  if (map.open !== null) map.open.close();
  if (wasOpen) return;
  if (heap.cells === null) heap.cells = parseCells(heap.text, map.page);
  opener.setAttribute("aria-expanded", "true");
  map.open = new Zoom(map, heap, opener);
  row.after(map.open.node);
  map.open.cells[0].focus({ preventScroll: true });
  map.open.node.scrollIntoView({ block: "nearest" });
};

const enliven = (map, row) => {
  const heap = map.heaps.get(Number(row.dataset.heap));
  const lane = $(".lane", row);
  if (heap === undefined) return;
  const strip = $(".strip", lane);
  const opener = make("button", { type: "button" }, strip);
  opener.setAttribute("aria-expanded", "false");
  opener.setAttribute("aria-label", "Heap " + heap.id + " of arena " + heap.arena + ", " +
    bytes(heap.pages * map.page) + ": " + strip.getAttribute("aria-label") + " zoom in");
  opener.addEventListener("click", () => toggle(map, heap, row, opener));
  lane.append(opener);
};

// A strip for a heap that the page has only as data: one column a cell, the class of most pages.
const lateRow = (map, heap, most) => {
  heap.cells = heap.cells || parseCells(heap.text, map.page);
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  const columns = Math.min(96, heap.pages);
  svg.setAttribute("class", "strip");
  svg.setAttribute("viewBox", "0 0 " + columns + " 1");
  svg.setAttribute("preserveAspectRatio", "none");
  svg.setAttribute("width", Math.max(1, 100 * heap.pages / most).toFixed(2) + "%");
  svg.setAttribute("role", "img");
  svg.setAttribute("aria-label", words(gather(heap, 0, heap.pages)) + ";");
  for (let c = 0; c < columns; c++) {
    const from = Math.floor(c * heap.pages / columns);
    const sum = gather(heap, from, Math.max(from + 1, Math.floor((c + 1) * heap.pages / columns)));
    let at = 1;
    for (const k of [...LAYERS, 6]) {
      const amount = k === 6 ? sum.counts.slice(6).reduce((a, b) => a + b, 0) : sum.counts[k];
      if (amount <= 0) continue;
      const height = amount / (sum.to - sum.from);
      const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
      at -= height;
      path.setAttribute("class", "k " + styleOf(k));
      path.setAttribute("d", "M" + c + " " + at.toFixed(4) + "h1v" + height.toFixed(4) + "h-1z");
      svg.append(path);
    }
  }
  const row = make("div", { className: "heap" },
    make("span", { className: "name" }, "arena " + heap.arena + (heap.arena === 0 ? " (main) " : " "),
      make("small", {}, "heap " + heap.id)),
    make("div", { className: "lane" }, svg),
    make("span", { className: "size" }, bytes(heap.pages * map.page) + ", " +
      percent(heap.live, heap.pages * map.page) + " live"));
  row.dataset.heap = heap.id;
  return row;
};

const mapAll = () => {
  const map = loadMap();
  if (map === null) return;
  const list = $("#heaps");
  const drawn = new Set();
  for (const row of $$(".heap", list)) {
    drawn.add(Number(row.dataset.heap));
    enliven(map, row);
  }
  $("#map-how").textContent = "Choose a strip to zoom in on its cells.";
  const more = $("#map-more");
  if (more === null) return;
  const most = Math.max(...Array.from(map.heaps.values(), (heap) => heap.pages));
  const rest = Array.from(map.heaps.values()).filter((heap) => !drawn.has(heap.id) && heap.pages > 0);
  const control = button("Draw 200 more", "Draw 200 more heaps", () => {
    for (const heap of rest.splice(0, 200)) {
      const row = lateRow(map, heap, most);
      list.append(row);
      enliven(map, row);
    }
    if (rest.length === 0) more.remove();
  });
  more.append(" ", control);
};

// ---- where one is ----

const follow = () => {
  if (!("IntersectionObserver" in window)) return;
  const links = new Map($$("nav a").map((link) => [link.hash.slice(1), link]));
  const seen = new IntersectionObserver((entries) => {
    for (const entry of entries) {
      const link = links.get(entry.target.id);
      if (link === undefined || !entry.isIntersecting) continue;
      for (const other of links.values()) other.removeAttribute("aria-current");
      link.setAttribute("aria-current", "true");
    }
  }, { rootMargin: "-10% 0px -80% 0px" });
  for (const section of $$("main section")) seen.observe(section);
};

theme();
$$(".sql").forEach(withCopy);
$$("table.grid").forEach((table) => { sortable(table); foldable(table); });
mapAll();
follow();
document.documentElement.dataset.ready = "true";
})();
