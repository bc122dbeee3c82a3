"""Opens every page of the built site in Chromium: ``python docs/check_pages.py build/site``.

Each page at 390 and at 1,280 pixels, light and dark: none may be wider than the screen, have a picture that
is not there, text without contrast, an error of a script, a link to a page or a heading that does not exist,
or load anything from elsewhere. Where there is no Chromium it says so and checks nothing.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urldefrag, urljoin, urlsplit

WIDTHS = (390, 1280)
SCHEMES = ("light", "dark")
NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
FLAGS = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"]
FLAGS += ["--disable-component-update", "--disable-sync"]
PATIENCE_MS = 120_000  # for a busy machine
CONTRAST = 4.5  # of text, by the guidelines for accessible pages (WCAG 2.1, AA)

LOOK = """() => {
  const light = colour => {
    const part = colour.match(/[\\d.]+/g).slice(0, 3).map(Number).map(v => v / 255)
      .map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    return 0.2126 * part[0] + 0.7152 * part[1] + 0.0722 * part[2];
  };
  const clear = colour => /^rgba\\(.*, 0(\\.\\d+)?\\)$/.test(colour);
  const behind = element => {
    const colour = getComputedStyle(element).backgroundColor;
    return clear(colour) && element.parentElement ? behind(element.parentElement) : light(colour);
  };
  const contrast = element => {
    const text = light(getComputedStyle(element).color), ground = behind(element);
    return (Math.max(text, ground) + 0.05) / (Math.min(text, ground) + 0.05);
  };
  const written = [...document.querySelectorAll('h1, h2, h3, p, li, td, th, dt, dd, pre, p code')]
    .filter(element => element.innerText && element.checkVisibility());
  // the theme lets an article scroll by itself: that is too wide as well
  const frames = [...document.querySelectorAll('body, main, article, .bd-content, .bd-article-container')];
  const over = frame => frame.scrollWidth - frame.clientWidth;
  return {
    wide: Math.max(document.documentElement.scrollWidth - window.innerWidth, ...frames.map(over)),
    dark: behind(document.body) < light(getComputedStyle(document.body).color),
    pale: written.filter(element => contrast(element) < CONTRAST).map(e => e.innerText.slice(0, 40)),
    missing: [...document.images].filter(i => i.complete && !i.naturalWidth).map(i => i.getAttribute('src')),
  };
}""".replace("CONTRAST", str(CONTRAST))
READ = """() => ({
  links: [...document.querySelectorAll('a[href]')].map(a => a.getAttribute('href')),
  names: [...document.querySelectorAll('[id], a[name]')].map(e => e.id || e.name),
})"""


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *args: Any) -> None:
        pass


def _visit(page: Any, address: str) -> tuple[list[str], list[str], list[str]]:
    """What is wrong with a page, its links, and what can be linked to on it."""
    wrong: list[str] = []
    page.set_viewport_size({"width": WIDTHS[-1], "height": 900})
    page.emulate_media(color_scheme=SCHEMES[0])
    page.goto(address, wait_until="load")
    page.add_style_tag(content="* { transition: none !important; animation: none !important; }")
    # pictures further down are loaded as they come into view
    page.evaluate("document.querySelectorAll('img').forEach(i => i.loading = 'eager')")
    page.wait_for_function("[...document.images].every(i => i.complete)")
    for scheme in SCHEMES:
        page.emulate_media(color_scheme=scheme)
        page.wait_for_function(f"document.documentElement.dataset.theme === '{scheme}'")
        for width in WIDTHS:
            page.set_viewport_size({"width": width, "height": 900})
            seen = page.evaluate(LOOK)
            where = f"at {width} pixels, {scheme}"
            if seen["wide"] > 0:
                wrong.append(f"{seen['wide']} pixels too wide {where}")
            if seen["dark"] != (scheme == "dark"):
                wrong.append(f"not {scheme} {where}")
            if seen["pale"]:
                wrong.append(f"text of little contrast {where}: {seen['pale'][:3]}")
            wrong += [f"no picture {name}" for name in seen["missing"]]
    read = page.evaluate(READ)
    return list(dict.fromkeys(wrong)), read["links"], read["names"]


def _broken(links: dict[str, list[str]], names: dict[str, set[str]], site: Path, base: str) -> list[str]:
    """Links to files or headings of the site that are not there."""
    found = []
    for source, targets in links.items():
        for target in sorted(set(targets)):
            address, fragment = urldefrag(urljoin(base + source, target))
            if not address.startswith(base):
                continue  # elsewhere: nothing outside is asked
            path = unquote(urlsplit(address).path).lstrip("/") or "index.html"
            if not (site / path).exists():
                found.append(f"{source}: link to {target}, which is not there")
            elif fragment and path in names and unquote(fragment) not in names[path]:
                found.append(f"{source}: link to {target}, which has no such heading")
    return found


def check(site: Path, chromium: str, pictures: Path | None) -> list[str]:
    """Everything that is wrong with a site."""
    from playwright.sync_api import TimeoutError, sync_playwright

    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=str(site)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    base = f"http://127.0.0.1:{server.server_port}/"
    wrong: list[str] = []
    links: dict[str, list[str]] = {}
    names: dict[str, set[str]] = {}
    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=chromium, args=FLAGS)
        page = browser.new_page()
        now = [""]
        page.set_default_timeout(PATIENCE_MS)
        # what the last page had still to load is given up when the next is opened: no failure
        page.on(
            "requestfailed",
            lambda r: r.failure == "net::ERR_ABORTED" or wrong.append(f"{now[0]}: {r.url} did not load"),
        )
        page.on(
            "request", lambda r: r.url.startswith((base, "data:")) or wrong.append(f"{now[0]}: loads {r.url}")
        )
        page.on("response", lambda r: r.status < 400 or wrong.append(f"{now[0]}: {r.url} gives {r.status}"))
        page.on("pageerror", lambda e: wrong.append(f"{now[0]}: {e}"))
        for path in sorted(site.rglob("*.html")):
            now[0] = name = path.relative_to(site).as_posix()
            if name.startswith("_static/"):  # parts of the theme, no pages
                continue
            problems, links[name], ids = _visit(page, base + name)
            names[name] = {*ids, ""}
            wrong += [f"{name}: {problem}" for problem in problems]
            if pictures is not None:
                for scheme in SCHEMES:
                    page.emulate_media(color_scheme=scheme)
                    for width in WIDTHS:
                        page.set_viewport_size({"width": width, "height": 900})
                        shot = pictures / f"{name.replace('/', '-')[:-5]}-{width}-{scheme}.png"
                        page.screenshot(path=shot, full_page=True)
        now[0] = "search.html"
        page.goto(base + "search.html?q=noise", wait_until="load")
        try:
            page.wait_for_selector("#search-results li a")
        except TimeoutError:
            wrong.append('search.html: nothing is found for "noise"')
        browser.close()
    server.shutdown()
    print(f"{len(links)} pages, {sum(map(len, links.values()))} links", flush=True)
    return wrong + _broken(links, names, site, base)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("site", type=Path, help="the folder with index.html")
    parser.add_argument("--pictures", type=Path, help="a folder for pictures of all pages")
    given = parser.parse_args()
    chromium = next(filter(None, map(shutil.which, NAMES)), None)
    if chromium is None:
        print(f"no browser to open the pages with: none of {', '.join(NAMES)} is installed; nothing checked")
        return 0
    if given.pictures is not None:
        given.pictures.mkdir(parents=True, exist_ok=True)
    wrong = check(given.site, chromium, given.pictures)
    print("\n".join(wrong))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
