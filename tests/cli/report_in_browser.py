#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The page of tare report in a headless Chromium: report_in_browser.py TARE [PICTURES]

Guards against a page that needs a mouse, or a network, or a wide screen; a search, a sort or a zoom
that shows something else than it says; names that are run. With PICTURES, a folder, what was seen is
kept there in three widths, light and dark. 77: no Chromium here.
"""
import json
import os
import subprocess
import sys
import tempfile

import browser
import report_models

WIDTHS = (390, 900, 1600)

ROWS = "[...document.querySelectorAll('#table tbody tr')]"
NAMES = ROWS + ".map(r => r.cells[0].textContent)"
TILES = "[...document.querySelectorAll('#treemap .tile')]"
FOCUS = "document.activeElement.getAttribute('aria-label') || document.activeElement.textContent"


def equal(found, expected):
    assert found == expected, f"{found!r}, not {expected!r}"


def column(page, name):
    return page.run(f"[...document.querySelectorAll('#table thead th')].findIndex(h => h.textContent.startsWith({name!r})) + 1")


def fits(page, width):
    """Nothing is wider than the window, and tiles lie side by side and fill the map."""
    assert page.run("document.documentElement.scrollWidth") <= width, "wider than the window"
    cut = page.run("[...document.querySelectorAll('.scroll')].filter(box => box.scrollWidth > box.clientWidth + 1)"
                   ".map(box => box.parentElement.id)")
    assert not cut, f"{width}: a table is wider than the window, and cut: {cut}"
    assert page.run("document.getElementById('treemap').clientHeight") > 200
    share = page.run(f"""(() => {{
        const box = document.getElementById('treemap');
        return {TILES}.reduce((sum, t) => sum + t.offsetWidth * t.offsetHeight, 0) / box.clientWidth / box.clientHeight;
    }})()""")
    assert 0.93 < share < 1.05, share


def contrast(page):
    """The worst of text against what is behind it, as WCAG has it."""
    return page.run("""(() => {
        const parse = c => c.match(/[\\d.]+/g).map(Number);
        const light = c => { const [r, g, b] = c.map(x => (x /= 255) <= 0.03928 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4);
            return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
        let worst = [99, ''];
        for (const node of document.querySelectorAll('body *')) {
            const own = [...node.childNodes].some(n => n.nodeType === 3 && n.data.trim());
            if (!own || !node.checkVisibility() || node.closest('.hidden, .skip, noscript, script, style, option')) continue;
            let behind = node, back;
            do { back = parse(getComputedStyle(behind).backgroundColor); behind = behind.parentElement; } while (behind && back[3] === 0);
            const a = light(parse(getComputedStyle(node).color).slice(0, 3)), b = light(back.slice(0, 3));
            const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
            if (ratio < worst[0]) worst = [ratio, node.tagName + ' ' + node.textContent.slice(0, 40)];
        }
        return worst;
    })()""")


def names_and_roles(page):
    """What a screen reader is given: nothing to press or to slide without a name."""
    nodes = page.call("Accessibility.getFullAXTree")["nodes"]
    asked = ("button", "link", "combobox", "searchbox", "slider", "checkbox", "gridcell", "dialog", "table", "grid")
    for node in nodes:
        role = node.get("role", {}).get("value")
        if node.get("ignored") or role not in asked:
            continue
        name = node.get("name", {}).get("value", "")
        if role == "gridcell" and not node.get("properties"):
            continue
        assert name, f"a {role} without a name"


def sizes(page, path, name, pictures):
    for width in WIDTHS:
        for dark in (False, True):
            page.open(path, width, dark=dark)
            fits(page, width)
            ratio, where = contrast(page)
            assert ratio >= 4.5, f"{width}, dark {dark}: contrast {ratio:.2f} of {where}"
            if pictures:
                page.picture(os.path.join(pictures, f"{name}-{width}-{'dark' if dark else 'light'}.png"), whole=True)
            equal(page.complaints(), [])


def search(page):
    equal(page.run("document.getElementById('found').textContent.startsWith('21 tensors')"), True)
    page.key("/")
    page.type("ATTN v_proj")
    equal(page.run(NAMES), [f"model.layers.{i}.self_attn.v_proj.weight" for i in (0, 1)])
    assert page.run("document.getElementById('found').textContent").startswith("2 of 21 tensors")
    equal(page.run(TILES + ".filter(t => t.classList.contains('dim')).length > 0"), True)
    equal(page.run("[...document.querySelectorAll('#treemap .cell:not(.dim)')].length"), 2)
    page.run("document.getElementById('search').value = 'nothing of this'")
    page.run("document.getElementById('search').dispatchEvent(new Event('input'))")
    equal(page.run(NAMES), [])
    page.run("document.getElementById('search').value = ''")
    page.run("document.getElementById('search').dispatchEvent(new Event('input'))")
    equal(page.run(ROWS + ".length"), 21)


def sort(page):
    in_file = page.run(NAMES)
    bytes_of = "JSON.parse(document.getElementById('data').textContent).models[0].tensors"
    by_name = {t["name"]: t for t in page.run(bytes_of)}
    n = column(page, "Size")
    head = f"#table thead th:nth-child({n})"
    page.click(head + " button")
    equal(page.run(f"document.querySelector({head!r}).getAttribute('aria-sort')"), "descending")
    found = [by_name[name]["size_bytes"] for name in page.run(NAMES)]
    equal(found, sorted(found, reverse=True))
    page.run(f"document.querySelector({head!r} + ' button').focus()")
    page.key("Enter")
    equal(page.run(f"document.querySelector({head!r}).getAttribute('aria-sort')"), "ascending")
    found = [by_name[name]["size_bytes"] for name in page.run(NAMES)]
    equal(found, sorted(found))
    page.key("Enter")
    equal(page.run("document.querySelectorAll('#table [aria-sort]').length"), 0)
    equal(page.run(NAMES), in_file)
    page.click("#table thead th:first-child button")
    equal(page.run(NAMES), sorted(in_file))
    page.click(f"#table thead th:nth-child({column(page, 'Error')}) button")
    found = [by_name[name]["relative_rmse"] for name in page.run(NAMES)]
    equal(found, sorted(found, reverse=True))


def zoom(page):
    groups = page.run(TILES + ".length")
    equal(page.run(TILES + ".filter(t => t.tabIndex === 0).length"), 1)
    page.run(TILES + "[0].focus()")
    first = page.run(FOCUS)
    page.key("ArrowRight")
    assert page.run(FOCUS) != first, "the arrow key moves"
    page.key("ArrowLeft")
    equal(page.run(FOCUS), first)
    assert first.startswith("layer 0: 9 tensors"), first
    page.key("Enter")
    equal(page.run(TILES + ".length"), 9)
    equal(page.run("document.querySelector('#trail [aria-current]').textContent"), "layer 0")
    equal(page.run("document.activeElement.classList.contains('tile')"), True)
    page.key("Escape")
    equal(page.run(TILES + ".length"), groups)
    equal(page.run(FOCUS), first)
    page.click("#treemap .tile:nth-child(2)")
    equal(page.run("document.querySelector('#trail [aria-current]').textContent"), "layer 1")
    page.click("#treemap .tile:first-child")
    equal(page.run("document.getElementById('detail').open"), True)
    page.key("Escape")
    equal(page.run("document.getElementById('detail').open"), False)
    page.click("#trail button")
    for by, count in (("type", 2), ("role", 10)):
        page.run(f"document.getElementById('group-by').value = {by!r}")
        page.run("document.getElementById('group-by').dispatchEvent(new Event('change'))")
        equal(page.run(TILES + ".length"), count)
    for paint in ("type", "bits", "error"):
        page.run(f"document.getElementById('colour-by').value = {paint!r}")
        page.run("document.getElementById('colour-by').dispatchEvent(new Event('change'))")
        assert page.run("document.getElementById('legend').textContent")


def detail(page):
    page.run("document.querySelector('#table tbody button').focus()")
    page.key("Enter")
    name = page.run(NAMES)[0]
    equal(page.run("document.querySelector('#detail h2').textContent"), name)
    equal(page.run("document.querySelectorAll('#detail .chart').length"), 2 if "layers" in name else 1)
    names_and_roles(page)
    ratio, where = contrast(page)
    assert ratio >= 4.5, (ratio, where)
    before = page.run("document.querySelector('#detail .chart').getAttribute('aria-valuetext')")
    page.run("document.querySelector('#detail .chart').focus()")
    page.key("ArrowRight")
    assert page.run("document.querySelector('#detail .chart').getAttribute('aria-valuetext')") != before
    heights = "[...document.querySelectorAll('#detail .chart')][0].querySelectorAll('rect')"
    linear = page.run(f"[...{heights}].map(r => Number(r.getAttribute('height')))")
    page.click("#detail input")
    assert page.run(f"[...{heights}].map(r => Number(r.getAttribute('height')))") != linear
    page.click("#detail [data-step='1']")
    equal(page.run("document.querySelector('#detail h2').textContent"), page.run(NAMES)[1])
    page.key("Escape")
    equal(page.run("document.activeElement.textContent"), name)


def heat(page):
    cells = page.run("document.querySelectorAll('#heat td[tabindex]').length")
    assert cells >= 10, cells
    page.run("document.querySelector('#heat td[tabindex=\"0\"]').focus()")
    before = page.run(FOCUS)
    page.key("ArrowDown")
    after = page.run(FOCUS)
    assert before != after and "%" in before + after, (before, after)
    page.key("Enter")
    equal(page.run("document.getElementById('detail').open"), True)
    page.key("Escape")
    worst = page.run("[...document.querySelectorAll('#worst li span')].map(s => parseFloat(s.textContent))")
    assert len(worst) == 10 and worst == sorted(worst, reverse=True), worst


def hostile(page, path):
    page.open(path, 900)
    equal(page.complaints(), [])
    assert page.run("document.title").endswith("tare report"), page.run("document.title")
    equal(page.run("document.querySelectorAll('script').length"), 2)
    equal(page.run("document.querySelectorAll('main img').length"), 0)
    texts = page.run(NAMES)
    equal(len(texts), len(report_models.HOSTILE))
    equal(texts[0], report_models.HOSTILE[0])
    assert "\\u{202e}gpj.exe\\u{2066}\\u{200b}" in texts and "\\u{1}\\u{1b}[31m\\u{7f}" in texts, texts
    equal(page.run("document.body.innerText.match(/[\\u202a-\\u202e\\u2066-\\u2069\\u200b\\u0001\\u001b]/)"), None)
    page.run("document.querySelector('#table tbody button').click()")
    page.settle()
    assert page.run("document.title").endswith("tare report")
    # What the policy keeps out, whatever gets into the page.
    page.run("document.body.insertAdjacentHTML('beforeend', '<img src=x onerror=\"document.title=1\">')")
    page.run("document.body.append(Object.assign(document.createElement('script'), {textContent: 'document.title = 2'}))")
    page.settle()
    assert page.run("document.title").endswith("tare report")


def large(page, path):
    page.open(path, 1600)
    equal(page.complaints(), [])
    equal(page.run(ROWS + ".length"), 1000)
    page.click("#more")
    equal(page.run(ROWS + ".length"), 1002)
    equal(page.run("document.getElementById('more').checkVisibility()"), False)
    equal(page.run("document.activeElement.textContent"), page.run(NAMES)[1000])
    drawn = page.run("document.querySelectorAll('#treemap .cell').length")
    assert drawn > 100, drawn
    page.click(f"#table thead th:nth-child({column(page, 'Size')}) button")
    page.key("/")
    page.type("q_proj")
    equal(page.run(ROWS + ".length"), 125)


def faults(page):
    """What is wrong with the file is said at the top, and only then."""
    page.open("q.html", 1600)
    equal(page.run("document.getElementById('faults').checkVisibility()"), False)
    page.open("cut.html", WIDTHS[0])
    assert "bytes too early" in page.run("document.getElementById('faults').textContent")
    fits(page, WIDTHS[0])
    page.click("#faults a")
    equal(page.run("location.hash"), "#files")
    equal(page.complaints(), [])


def same_as_diff(page, tare):
    """The error of the whole is the one that tare diff tells."""
    said = subprocess.run([tare, "diff", "--json", "a.safetensors", "q.gguf"], stdout=subprocess.PIPE).stdout
    error = json.loads(said)["comparisons"][0]["relative_rmse"]
    page.open("q.html", 1600)
    equal(page.run(f"Math.abs(errorOf(tensors) / {error} - 1) < 1e-5"), True)


def main():
    program = browser.find()
    if not program:
        print("SKIP: no chromium (Debian package chromium)")
        return 77
    tare = os.path.abspath(sys.argv[1])
    pictures = os.path.abspath(sys.argv[2]) if len(sys.argv) > 2 else None
    if pictures:
        os.makedirs(pictures, exist_ok=True)

    def run(*args):
        subprocess.run([tare, *args], check=True)

    with tempfile.TemporaryDirectory(prefix="tare-report-") as folder:
        os.chdir(folder)
        run("synth", "llama-tiny:t5", "a.safetensors", "--quiet")
        run("convert", "a.safetensors", "q.gguf", "--type", "q4_0", "--quiet")
        run("report", "q.gguf", "--against", "a.safetensors", "-o", "q.html")
        run("convert", "a.safetensors", "q8.gguf", "--type", "q8_0", "--quiet")
        run("report", "q.gguf", "q8.gguf", "--against", "a.safetensors", "-o", "several.html")
        report_models.hostile("hostile.safetensors")
        run("report", "hostile.safetensors", "-o", "hostile.html")
        report_models.thousand("thousand.safetensors", 1002)
        run("report", "thousand.safetensors", "-o", "thousand.html")
        with open("q.gguf", "rb") as whole, open("cut.gguf", "wb") as file:
            file.write(whole.read()[:500_000])
        run("report", "cut.gguf", "--header-only", "-o", "cut.html")
        page = browser.Browser(program)
        try:
            sizes(page, "q.html", "report", pictures)
            sizes(page, "several.html", "several", pictures)
            for width in WIDTHS[::2]:
                page.open("q.html", width)
                names_and_roles(page)
                for check in (search, sort, zoom, heat, detail):
                    check(page)
                    print(f"{width}: {check.__name__} ok")
                equal(page.complaints(), [])
            same_as_diff(page, tare)
            faults(page)
            hostile(page, "hostile.html")
            large(page, "thousand.html")
        finally:
            page.close()
            os.chdir("/")
    print("the page does what it says")
    return 0


if __name__ == "__main__":
    sys.exit(main())
