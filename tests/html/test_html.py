"""The page of a report in a browser. Each test is a function whose name says what holds.

    python3 tests/html/test_html.py [--shots FOLDER] [NAME...]

--shots keeps pictures of the page at three widths in light and dark, for people to look at.
"""
import os
import re
import shutil
import sqlite3
import sys
import tempfile
import traceback

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import cores
from browser import Browser

WIDTHS = (1600, 1000, 420)
SCHEMES = ("light", "dark")
PAGE_BYTES = 2000 * 1000


class Bench:
    """The browser, and the pages that the tests share."""

    def __init__(self, folder):
        self.folder = folder
        self.browser = Browser()
        self.server_db = cores.database(os.path.join(folder, "server"), "server-few")
        self.hostile_db = cores.database(os.path.join(folder, "hostile"), "server-few",
                                         cores.hostile_program(folder))
        cores.make_hostile(self.hostile_db)
        self.large_db = os.path.join(folder, "large.db")
        shutil.copy(self.server_db, self.large_db)
        cores.make_large(self.large_db, 3000)
        self.pages = {name: cores.page(db, os.path.join(folder, name + ".html")) for name, db in
                      (("server", self.server_db), ("hostile", self.hostile_db),
                       ("large", self.large_db))}
        before = cores.database(os.path.join(folder, "before"), "idle-few")
        self.pages["diff"] = os.path.join(folder, "diff.html")
        cores.corefrag("diff", before, self.server_db, "--format", "html", "-o",
                       self.pages["diff"])

    def open(self, name, width=1600, scheme="light", media=""):
        self.browser.size(width)
        self.browser.media(media, scheme)
        self.browser.open(self.pages[name])
        return self.browser


def expect(condition, *what):
    if not condition:
        raise AssertionError(" ".join(map(str, what)))


def equal(got, wanted, *what):
    expect(got == wanted, *what, "is", repr(got), "and should be", repr(wanted))


# ---- what every page holds to ----

def no_page_complains_or_asks_for_anything(bench):
    for name in bench.pages:
        browser = bench.open(name)
        equal(browser.js("document.documentElement.dataset.ready"), "true", name)
        equal(browser.complaints(), [], name)


def no_page_is_above_two_megabytes(bench):
    for name, path in bench.pages.items():
        expect(os.path.getsize(path) < PAGE_BYTES, name, os.path.getsize(path))


def no_page_is_wider_than_its_window(bench):
    for name in bench.pages:
        for width in WIDTHS:
            browser = bench.open(name, width)
            if name != "diff":
                open_first_heap(browser)
            expect(browser.js("document.documentElement.scrollWidth") <= width, name, width)


def sections_stand_in_the_order_of_a_review(bench):
    browser = bench.open("server")
    ids = browser.js("[...document.querySelectorAll('main section')].map((node) => node.id)")
    order = ["verdict", "evidence", "waste", "budget", "arenas", "map", "pins", "holes", "sizes",
             "types", "threads", "whatif", "advice", "anomalies", "limits", "database"]
    equal([name for name in ids if name in order],
          [name for name in order if name in ids or name != "anomalies"], "the order")


def figures_have_their_sql_below_them(bench):
    browser = bench.open("server")
    bare = browser.js("""[...document.querySelectorAll("table.grid, figure")].filter((node) => {
        let at = node.closest(".scroll") || node;
        while (at !== null && !at.classList.contains("sql")) at = at.nextElementSibling;
        return at === null; }).map((node) => node.closest("section").id)""")
    equal(bare, [], "without SQL")
    db = sqlite3.connect(bench.server_db)
    for sql in browser.js("[...document.querySelectorAll('.sql code')].map((n) => n.textContent)"):
        if sql.startswith("SELECT"):
            db.execute(sql).fetchone()
    db.close()


def drawings_and_controls_have_names(bench):
    browser = bench.open("server")
    open_first_heap(browser)
    equal(browser.js("""[...document.querySelectorAll("button, [role=img], [role=gridcell]")]
        .filter((node) => (node.getAttribute("aria-label") || node.textContent).trim() === "")
        .length"""), 0, "without a name")
    equal(browser.js("document.querySelectorAll('h1').length"), 1, "main headings")


def stacks_add_up(bench):
    browser = bench.open("server")
    for figure in browser.js("""[...document.querySelectorAll("figure .stack")].map((svg) =>
            [...svg.querySelectorAll(":scope > svg")].map((part) =>
                [parseFloat(part.getAttribute("x")), parseFloat(part.getAttribute("width"))]))"""):
        at = 0
        for start, width in figure:
            expect(abs(start - at) < 0.1, "a part starts at", start, "not at", at)
            at = start + width
        expect(99 < at < 100.2, "parts end at", at)
    db = sqlite3.connect(bench.server_db)
    heap, whole = db.execute("SELECT heap_resident_bytes, resident_bytes FROM v_verdict").fetchone()
    db.close()
    for section, wanted in (("waste", heap), ("budget", whole)):
        cells = browser.js(f"""[...document.querySelectorAll("#{section} .segments tr:not(.sum)")]
            .map((row) => (row.cells[1].title || row.cells[1].textContent))""")
        equal(sum(int(re.sub(r"[^0-9]", "", cell)) for cell in cells), wanted, section)


# ---- sorting ----

def resident_column(browser):
    return browser.js("""(() => { const table = document.querySelector("#arenas table");
        const at = [...table.tHead.rows[0].cells].findIndex((c) => /resident/.test(c.innerText));
        return { at, values: [...table.tBodies[0].rows].map((row) => row.cells[at].title) }; })()""")


def header(at):
    return f"#arenas thead th:nth-child({at + 1}) button"


def numbers(values):
    return [int(re.sub(r"[^0-9]", "", value)) for value in values]


def a_table_is_sorted_by_exact_figures(bench):
    browser = bench.open("server")
    at = resident_column(browser)["at"]
    for direction in ("descending", "ascending"):
        browser.click(header(at))
        values = numbers(resident_column(browser)["values"])
        expect(len(values) > 40, "arenas")
        equal(values, sorted(values, reverse=direction == "descending"), direction)
        equal(browser.js(f"document.querySelector('{header(at)}').parentElement.ariaSort"),
              direction, "aria-sort")
    equal(browser.js("document.querySelectorAll('#arenas [aria-sort]').length"), 1, "columns")


def a_table_is_sorted_by_keyboard(bench):
    browser = bench.open("server")
    at = resident_column(browser)["at"]
    browser.js(f"document.querySelector('{header(at)}').focus()")
    browser.key("Enter")
    values = numbers(resident_column(browser)["values"])
    equal(values, sorted(values, reverse=True), "after Enter")
    browser.key(" ")
    values = numbers(resident_column(browser)["values"])
    equal(values, sorted(values), "after Space")


def a_long_table_is_folded_until_asked(bench):
    browser = bench.open("server")
    seen = "[...document.querySelectorAll('#arenas tbody tr')].filter((r) => r.offsetHeight > 0).length"
    equal(browser.js(seen), 12, "rows")
    browser.click("#arenas .fold")
    expect(browser.js(seen) > 40, "unfolded")


# ---- the map ----

def open_first_heap(browser):
    browser.js("document.querySelector('.lane button').click()")


def heap_of_strip(browser):
    return browser.js("Number(document.querySelector('.heap').dataset.heap)")


def told(browser):
    return browser.js("document.querySelector('.told').innerText")


def cells(browser):
    return browser.js("document.querySelectorAll('.cell').length")


def grain(browser):
    words = browser.js("document.querySelector('.zoom .where').textContent")
    match = re.search(r"a cell is (?:a page|(\d+) pages)", words)
    return int(match.group(1) or 1)


def strips_are_there_without_scripts(bench):
    bench.browser.scripts(False)
    try:
        browser = bench.open("server")
    finally:
        bench.browser.scripts(True)
    browser.call("Runtime.enable")
    equal(browser.js("document.querySelectorAll('.heap .strip path').length > 100"), True, "strips")
    equal(browser.js("document.querySelectorAll('button').length"), 0, "buttons")


def cells_cover_the_heap(bench):
    browser = bench.open("server")
    open_first_heap(browser)
    heap = heap_of_strip(browser)
    db = sqlite3.connect(bench.server_db)
    pages, = db.execute("SELECT sum(pages) FROM v_page_run WHERE heap_id = ?", (heap,)).fetchone()
    db.close()
    equal(cells(browser), -(-pages // grain(browser)), "cells")


def a_cell_names_its_bytes_and_the_sql_that_lists_them(bench):
    """Page by page, the live bytes that the page tells are those of the chunks that its SQL lists."""
    browser = bench.open("server")
    open_first_heap(browser)
    equal(grain(browser), 1, "pages a cell")
    db = sqlite3.connect(bench.server_db)
    checked = 0
    for at in browser.js("[...document.querySelectorAll('.cell')].map((c, i) => "
                         "c.textContent === 'M' ? i : -1).filter((i) => i >= 0)"):
        browser.js(f"document.querySelectorAll('.cell')[{at}].click()")
        text = told(browser)
        low, high = (int(word, 16) for word in re.findall(r"0x[0-9a-f]+", text)[:2])
        live = int(re.search(r"Live: ([\d,]+) B", text).group(1).replace(",", ""))
        sql = browser.js("document.querySelector('.told code').textContent")
        rows = db.execute(sql).fetchall()
        expect(len(rows) > 0, "no chunk:", sql)
        inside = sum(min(high, int(address, 16) + size) - max(low, int(address, 16))
                     for address, size, _ in rows)
        equal(inside, live, "live bytes of " + hex(low))
        checked += 1
    db.close()
    expect(checked > 2, "mixed pages")


def pins_stand_in_their_cells(bench):
    browser = bench.open("server")
    open_first_heap(browser)
    expect(browser.js("document.querySelectorAll('.cell.marked').length") > 0, "marks")
    browser.js("[...document.querySelectorAll('.cell.marked')].pop().click()")
    expect("Pin number 1" in told(browser) or "A hole of" in told(browser), told(browser))


def the_map_zooms_in_and_out_by_mouse(bench):
    browser = bench.open("large")
    browser.click(".lane button")
    whole = grain(browser)
    expect(whole > 1, "a large heap")
    browser.click(".cell:nth-child(5)")
    browser.click(".zoom [aria-label^='Zoom in']")
    expect(grain(browser) < whole, "after in")
    browser.click(".zoom [aria-label^='Zoom in']")
    browser.click(".zoom [aria-label='Zoom out']")
    browser.click(".zoom [aria-label='Zoom out']")
    equal(grain(browser), whole, "after out")
    browser.click(".zoom [aria-label='Close']")
    equal(browser.js("document.querySelectorAll('.zoom').length"), 0, "after close")


def the_map_is_used_by_keyboard(bench):
    browser = bench.open("large")
    browser.js("document.querySelector('.lane button').focus()")
    browser.key("Enter")
    equal(browser.js("document.activeElement.className.split(' ')[0]"), "cell", "after Enter")
    before = told(browser)
    browser.key("ArrowRight")
    expect(told(browser) != before, "after right")
    browser.key("ArrowLeft")
    equal(told(browser), before, "after left")
    browser.key("ArrowDown")
    browser.key("Home")
    equal(told(browser), before, "after Home")
    browser.key("End")
    whole = grain(browser)
    browser.key("Enter")
    expect(grain(browser) < whole, "after zooming in")
    browser.key("-")
    equal(grain(browser), whole, "after zooming out")
    browser.key("Escape")
    equal(browser.js("document.querySelectorAll('.zoom').length"), 0, "after Escape")
    equal(browser.js("document.activeElement.parentElement.className"), "lane", "focus")


def one_cell_takes_part_in_tabbing(bench):
    browser = bench.open("server")
    open_first_heap(browser)
    equal(browser.js("document.querySelectorAll('.cell[tabindex=\"0\"]').length"), 1, "cells")


def heaps_that_are_not_drawn_can_be(bench):
    browser = bench.open("large")
    before = browser.js("document.querySelectorAll('.heap').length")
    browser.click("#map-more button")
    after = browser.js("document.querySelectorAll('.heap').length")
    equal(after - before, 200, "more strips")
    browser.js("[...document.querySelectorAll('.lane button')].pop().click()")
    expect(cells(browser) > 100, "cells")
    equal(browser.complaints(), [], "complaints")


# ---- copying ----

def sql_is_copied(bench):
    browser = bench.open("server")
    browser.call("Browser.grantPermissions",
                 permissions=["clipboardReadWrite", "clipboardSanitizedWrite"])
    for selector in ("#arenas .sql", "#database .sql"):
        wanted = browser.js(f"document.querySelector('{selector} code').textContent")
        browser.click(selector + " button")
        browser.js("new Promise((done) => setTimeout(done, 100))")
        equal(browser.js("navigator.clipboard.readText()"), wanted, "the clipboard")
        equal(browser.js(f"document.querySelector('{selector} button').textContent"), "Copied", "it")


def sql_is_copied_where_there_is_no_clipboard(bench):
    browser = bench.open("server")
    browser.js("""navigator.clipboard.writeText = () => Promise.reject(new Error("no"));
        window.copied = null;
        document.addEventListener("copy", () => { window.copied = document.activeElement.value; })""")
    wanted = browser.js("document.querySelector('#arenas .sql code').textContent")
    browser.click("#arenas .sql button")
    browser.js("new Promise((done) => setTimeout(done, 100))")
    equal(browser.js("window.copied"), wanted, "what was copied")


# ---- looks ----

CONTRAST = """
(() => {
  const light = (text) => { const c = text.match(/[\\d.]+/g).slice(0, 3).map((v) => v / 255)
      .map((v) => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    return 0.2126 * c[0] + 0.7152 * c[1] + 0.0722 * c[2]; };
  const contrast = (a, b) => { const [x, y] = [light(a), light(b)].sort((p, q) => q - p);
    return (x + 0.05) / (y + 0.05); };
  const ground = (node) => { for (; node !== null; node = node.parentElement) {
      const color = getComputedStyle(node).backgroundColor;
      if (!/rgba\\(.*, 0\\)|transparent/.test(color)) return color; }
    return "rgb(255, 255, 255)"; };
  const faults = [];
  for (const node of document.querySelectorAll("p, th, td, a, button, code, h1, h2, caption, small"))
    if (node.textContent.trim() !== "" && node.offsetHeight > 0 && !node.disabled) {
      const value = contrast(getComputedStyle(node).color, ground(node));
      if (value < 4.5) faults.push([node.tagName, node.className, value]); }
  for (const cell of document.querySelectorAll(".cell"))
    for (const color of getComputedStyle(cell).backgroundImage.match(/rgb\\([^)]*\\)/g))
      if (contrast(getComputedStyle(cell).color, color) < 4.5) faults.push(["cell", color]);
  const back = getComputedStyle(document.body).backgroundColor;
  for (const node of document.querySelectorAll("rect.k, path.k"))
    if (!node.classList.contains("absent")) {
      const value = contrast(getComputedStyle(node).fill, back);
      if (value < 3) faults.push([node.className.baseVal, value]); }
  return faults.slice(0, 8);
})()
"""


def text_and_drawings_stand_out_in_both_themes(bench):
    for scheme in SCHEMES:
        browser = bench.open("server", scheme=scheme)
        open_first_heap(browser)
        equal(browser.js(CONTRAST), [], scheme)


def is_dark(browser):
    color = browser.js("getComputedStyle(document.body).backgroundColor")
    return sum(map(int, re.findall(r"\d+", color)[:3])) < 200


def the_theme_follows_the_system_and_can_be_chosen(bench):
    equal([is_dark(bench.open("server", scheme=scheme)) for scheme in SCHEMES], [False, True], "it")
    browser = bench.open("server", scheme="dark")
    browser.click("#theme")
    expect(not is_dark(browser), "light by choice")
    browser.click("#theme")
    browser.media("", "light")
    expect(is_dark(browser), "dark by choice")
    browser.click("#theme")
    expect(not is_dark(browser), "as the system again")


def a_page_prints_light_and_whole(bench):
    browser = bench.open("server", width=718, scheme="dark", media="print")
    expect(not is_dark(browser), "paper is white")
    equal(browser.js("document.querySelector('nav').offsetHeight"), 0, "navigation")
    expect(browser.js("document.documentElement.scrollWidth") <= 718, "too wide for paper:",
           browser.js("document.documentElement.scrollWidth"))
    equal(browser.js("[...document.querySelectorAll('.copy')].filter((b) => b.offsetHeight).length"),
          0, "buttons")
    browser.media("", "light")
    paper = browser.pdf()
    expect(paper.startswith(b"%PDF"), "no PDF")
    sheets = len(re.findall(rb"/Type\s*/Page\b", paper))
    expect(3 <= sheets <= 20, sheets, "sheets")
    with open(os.path.join(bench.folder, "server.pdf"), "wb") as out:
        out.write(paper)


# ---- two cores ----

def a_comparison_draws_both_waterfalls_on_one_scale(bench):
    browser = bench.open("diff")
    ends = browser.js("""[...document.querySelectorAll("#waste .stack")].map((svg) =>
        [...svg.querySelectorAll(":scope > svg")].map((part) => parseFloat(part.getAttribute("x")) +
            parseFloat(part.getAttribute("width"))).reduce((a, b) => Math.max(a, b), 0))""")
    equal(len(ends), 2, "stacks")
    expect(ends[0] < 50 and 99 < ends[1] < 100.2, "they end at", ends)


def growth_is_drawn_and_sorted_by_its_sign(bench):
    browser = bench.open("diff")
    bars = "document.querySelectorAll('#figures .change rect[width], #served .change rect[width]')"
    expect(browser.js(bars + ".length") > 5, "bars")
    at = browser.js("""[...document.querySelector("#figures table").tHead.rows[0].cells]
        .findIndex((cell) => /growth/.test(cell.innerText))""")
    browser.click(f"#figures thead th:nth-child({at + 1}) button")
    cells = browser.js(f"""[...document.querySelector("#figures table").tBodies[0].rows]
        .map((row) => row.cells[{at}].title || row.cells[{at}].textContent)""")
    values = [int(re.sub(r"[^-0-9]", "", cell)) for cell in cells]
    equal(values, sorted(values, reverse=True), "growth")


# ---- hostile names ----

def hostile_names_stay_text(bench):
    browser = bench.open("hostile")
    open_first_heap(browser)
    browser.js("document.querySelectorAll('.cell.marked').forEach((cell) => cell.click())")
    equal(browser.complaints(), [], "complaints")
    equal(browser.js("document.images.length"), 0, "pictures")
    equal(browser.js("document.scripts.length"), 2, "scripts")
    expect("<img src=x onerror=alert(1)>" in browser.js("document.body.innerText"), "as text")
    expect("</script><img" in browser.js("document.body.innerText"), "the program's name")
    equal(browser.js(r"/[\u202e\u001b]/.test(document.documentElement.outerHTML)"), False, "raw")
    equal(browser.js("""[...document.querySelectorAll("*")].some((node) =>
        [...node.attributes].some((a) => a.name.startsWith("on") || /javascript:/.test(a.value)))"""),
          False, "handlers")


def the_policy_stops_what_would_get_through(bench):
    browser = bench.open("server")
    browser.js("""document.body.append(Object.assign(document.createElement("script"),
        { textContent: "window.broken = 1" })); document.body.insertAdjacentHTML("beforeend",
        '<p id=bad style="color: red" onclick="window.broken = 2">x</p><img src="file:///x">')""")
    browser.js("document.querySelector('#bad').click()")
    equal(browser.js("window.broken === undefined"), True, "nothing ran")
    expect(len(browser.complaints()) >= 3, "the policy says so")


TESTS = [value for name, value in list(globals().items())
         if callable(value) and getattr(value, "__code__", None) is not None
         and value.__code__.co_varnames[:1] == ("bench",) and value.__code__.co_argcount == 1]


def take_shots(bench, folder):
    os.makedirs(folder, exist_ok=True)
    for width in WIDTHS:
        for scheme in SCHEMES:
            browser = bench.open("server", width, scheme)
            open_first_heap(browser)
            browser.shot(os.path.join(folder, f"server-{width}-{scheme}.png"), width)


def run(bench, names):
    failed = []
    for test in TESTS:
        if names and test.__name__ not in names:
            continue
        try:
            test(bench)
            print("[       OK ]", test.__name__, flush=True)
        except Exception:
            failed.append(test.__name__)
            print("[  FAILED  ]", test.__name__)
            traceback.print_exc(limit=2, file=sys.stdout)
    return failed


def main(arguments):
    shots = None
    if arguments[:1] == ["--shots"]:
        shots, arguments = arguments[1], arguments[2:]
    folder = tempfile.mkdtemp(prefix="corefrag-html-")
    bench = None
    try:
        bench = Bench(folder)
        failed = run(bench, arguments)
        if shots:
            take_shots(bench, shots)
    finally:
        if bench is not None:
            bench.browser.close()
        shutil.rmtree(folder, ignore_errors=True)
    ran = len(arguments) or len(TESTS)
    print(f"[  PASSED  ] {ran - len(failed)} test(s).")
    if failed:
        print(f"[  FAILED  ] {len(failed)} test(s):", *failed)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
