// The page that the address names is shown, and nothing else.
function show() {
  const before = here;
  here = readAddress();
  const query = here.page === "query";
  if (query) showQuery(here.query);
  sections.forEach((section, name) => section.classList.toggle("now", name === here.page));
  sections.get("query").hidden = !query;
  const current = query ? here.params.get("from") || "queries" : here.page;
  links.forEach((link, name) => {
    if (name === current) link.setAttribute("aria-current", "page"); else link.removeAttribute("aria-current");
  });
  const link = links.get(current);
  if (link) link.parentElement.parentElement.scrollLeft = link.offsetLeft - 24;
  (grids.get(here.page) || []).forEach((grid) => grid.show());
  if (before.page !== here.page || before.query !== here.query) {
    window.scrollTo(0, 0);
    document.getElementById("content").focus({ preventScroll: true });
  }
  document.getElementById("tip").hidden = true;
}

// Paper has no clicks: what is folded is printed open, and folded again after that.
let folded = [];
window.addEventListener("beforeprint", () => {
  folded = Array.from(document.querySelectorAll("details.fold:not([open])"));
  folded.forEach((one) => { one.open = true; });
});
window.addEventListener("afterprint", () => { folded.forEach((one) => { one.open = false; }); });

startTheme();
startTables();
document.querySelectorAll("figure.chart").forEach(Picture);
document.documentElement.classList.add("paged");
window.addEventListener("hashchange", show);
show();
