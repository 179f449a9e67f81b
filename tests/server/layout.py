"""What is wrong with how a page looks, in any browser window."""

from __future__ import annotations

# Words of tables that are broken in the middle, and names in pictures that stand out of them.
_CUT = """() => {
  const found = [], range = document.createRange();
  for (const cell of document.querySelectorAll("th, td")) {
    if (!cell.checkVisibility() || found.length > 3) continue;
    const texts = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT);
    while (texts.nextNode()) for (const word of texts.currentNode.data.matchAll(/(?<![A-Za-z0-9])[A-Za-z0-9]{2,20}(?![A-Za-z0-9])/g)) {
      range.setStart(texts.currentNode, word.index);
      range.setEnd(texts.currentNode, word.index + word[0].length);
      if (range.getClientRects().length > 1 && range.getBoundingClientRect().height > 30) found.push(`broken: ${word[0]}`);
    }
  }
  for (const text of document.querySelectorAll("figure svg text")) {
    if (!text.checkVisibility()) continue;
    const own = text.getBoundingClientRect(), all = text.closest("svg").getBoundingClientRect();
    if (own.right > all.right + 1 || own.left < all.left - 1) found.push(`cut: ${text.textContent}`);
  }
  return found;
}"""


def cut_words(page) -> list[str]:
    """Words of tables that are broken, and names in pictures that are cut."""
    return page.evaluate(_CUT)


def faults_of_layout(page):
    """What sticks out of the window or is cut, and what axe finds to be serious."""
    from axe_playwright_python.sync_playwright import Axe

    wide = page.evaluate("document.documentElement.scrollWidth > innerWidth + 1")
    found = Axe().run(page).response["violations"]
    return (["wider than the window"] if wide else []) + cut_words(page) + [f"{one['id']}: {one['nodes'][0]['html'][:120]}" for one in found if one["impact"] in {"serious", "critical"}]  # fmt: skip
