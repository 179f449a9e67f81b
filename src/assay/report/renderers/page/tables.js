// Tables: sorted, searched, filtered and paged by what the address says; what is shown can be taken away as CSV.
const PAGE = 50;
const grids = new Map();

function cellOf(given, isText, head) {
  const [text, tone, query, mark, strong] = Array.isArray(given) ? given : [given, "", null, "", 0];
  const cell = make(head ? "th" : "td", isText ? "" : "n");
  if (head) cell.scope = "row";
  let inside = cell;
  if (query !== null) {
    const link = make("a");
    link.href = "#query=" + encodeURIComponent(query);
    inside.append(link);
    inside = link;
  }
  inside.append(tone ? make("span", "tone " + tone, text) : strong ? make("strong", "", text) : text);
  if (mark) cell.append(" ", make("sup", "", mark));
  return cell;
}

function readCell(cell) {
  const mark = cell.querySelector("sup");
  const whole = cell.textContent;
  return mark ? whole.slice(0, whole.length - mark.textContent.length - 1) : whole;
}

function sortKey(text) {
  const value = parseFloat(text.replace(/,/g, "").replace(/^(<=?|>=?)\s*/, ""));
  return Number.isNaN(value) ? -Infinity : value;
}

function quoteCsv(text) {
  const guarded = /^[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20]/.test(text) && !/^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(text) ? "'" + text : text;
  return /[",\r\n]/.test(guarded) ? '"' + guarded.replace(/"/g, '""') + '"' : guarded;
}

function saveFile(name, text) {
  const link = make("a");
  link.href = URL.createObjectURL(new Blob([text], { type: "text/csv;charset=utf-8" }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

class Grid {
  constructor(box, page, place) {
    this.box = box;
    this.page = page;
    this.end = place ? String(place + 1) : "";
    this.texts = new Set(box.dataset.texts.split(" ").filter(Boolean).map(Number));
    this.body = box.querySelector("tbody");
    this.stored = box.querySelector(":scope > script.rows");
    this.heads = Array.from(box.querySelectorAll("thead th"));
    this.names = this.heads.map((head) => head.textContent);
    const facets = box.querySelector(":scope > script.facets");
    this.facets = facets ? JSON.parse(facets.textContent) : [];
    this.rows = null;
    this.drawn = null;
    this.size = this.stored ? Infinity : this.body.rows.length;
    this.addSorting();
    this.addTools();
    this.pager = make("div", "pager");
    this.back = makeButton("", words.previous, () => this.turn(-1));
    this.on = makeButton("", words.next, () => this.turn(1));
    this.state = make("span");
    this.state.setAttribute("role", "status");
    this.pager.append(this.back, this.state, this.on);
    this.pager.hidden = true;
    box.append(this.pager);
    const more = box.querySelector(":scope > .more");
    if (more) more.remove();
  }

  param(name) { return here.params.get(name + this.end) || ""; }

  set(name, value, quietly) { change({ [name + this.end]: value, ["page" + this.end]: "" }, quietly); }

  addSorting() {
    this.heads.forEach((head, column) => {
      const button = makeButton("sort", null, () => {
        const now = this.param("sort");
        const down = now === "-" + (column + 1) ? false : now === String(column + 1) ? true : !this.texts.has(column);
        this.set("sort", (down ? "-" : "") + (column + 1));
      });
      button.append(...head.childNodes);
      head.append(button);
    });
  }

  addTools() {
    if (this.size <= 10 && !this.facets.length) return;
    const form = make("form", "filters");
    form.addEventListener("submit", (event) => event.preventDefault());
    this.selects = this.facets.map((facet) => {
      const field = make("label", "field");
      const select = make("select");
      select.append(new Option(words.all, ""));
      for (const [code, label] of facet.choices) select.append(new Option(label, code));
      select.addEventListener("change", () => this.set(facet.key, select.value));
      field.append(make("span", "", facet.title), select);
      form.append(field);
      return select;
    });
    const field = make("label", "field");
    this.search = make("input");
    this.search.type = "search";
    this.search.className = "filter";
    let wait = 0;
    this.search.addEventListener("input", () => {
      clearTimeout(wait);
      wait = setTimeout(() => { this.set("find", this.search.value.trim(), true); this.show(); }, 120);
    });
    field.append(make("span", "", words.filter), this.search);
    this.found = make("span", "state");
    this.found.setAttribute("role", "status");
    this.clear = makeButton("quiet", words.clear, () => {
      const none = Object.fromEntries(["find", "sort", "page", ...this.facets.map((facet) => facet.key)].map((key) => [key + this.end, ""]));
      change(none);
    });
    form.append(field, this.found, this.clear, makeButton("export", words.export, () => this.save()));
    this.box.insertBefore(form, this.box.querySelector(":scope > .scroll"));
  }

  load() {
    if (this.rows) return;
    if (this.stored) {
      this.rows = JSON.parse(this.stored.textContent).map((cells, at) => ({
        cells: cells.map((one) => (Array.isArray(one) ? one[0] : one)), given: cells, at: at,
      }));
    } else {
      this.rows = Array.from(this.body.rows, (element, at) => ({
        cells: Array.from(element.cells, readCell), element: element, at: at,
      }));
    }
    this.size = this.rows.length;
  }

  // The rows that the address asks for, in its order.
  shown() {
    this.load();
    let rows = this.rows;
    for (const facet of this.facets) {
      const wanted = facet.choices.find(([code]) => code === this.param(facet.key));
      if (wanted) { const kinds = new Set(wanted[2]); rows = rows.filter((row) => kinds.has(facet.kinds[row.at])); }
    }
    const needle = this.param("find").toLowerCase();
    if (needle) rows = rows.filter((row) => row.cells.some((text) => text.toLowerCase().includes(needle)));
    const sort = parseInt(this.param("sort"), 10);
    const column = Math.abs(sort) - 1;
    if (!(column >= 0 && column < this.heads.length)) return rows;
    const sign = sort < 0 ? -1 : 1;
    const isText = this.texts.has(column);
    const keys = new Map(rows.map((row) => [row, isText ? row.cells[column] : sortKey(row.cells[column])]));
    const order = new Intl.Collator(document.documentElement.lang, { numeric: true });
    return rows.slice().sort((a, b) => {
      const x = keys.get(a), y = keys.get(b);
      return sign * (isText ? order.compare(x, y) : x < y ? -1 : x > y ? 1 : 0) || a.at - b.at;
    });
  }

  elementOf(row) {
    if (!row.element) {
      row.element = make("tr");
      row.given.forEach((cell, i) => row.element.append(cellOf(cell, this.texts.has(i), i === 0 && this.texts.has(0))));
    }
    return row.element;
  }

  turn(by) { change({ ["page" + this.end]: String(Math.max(1, (parseInt(this.param("page"), 10) || 1) + by)) }); }

  show() {
    const asked = ["find", "sort", "page", ...this.facets.map((facet) => facet.key)].map((name) => this.param(name)).join("\n");
    if (asked === this.drawn || (this.drawn === null && !asked.trim() && this.size <= PAGE)) {
      if (this.drawn === null) this.tell(this.size, this.size);
      return;
    }
    this.drawn = asked;
    const rows = this.shown();
    const last = Math.max(1, Math.ceil(rows.length / PAGE));
    const page = Math.min(last, parseInt(this.param("page"), 10) || 1);
    const from = PAGE * (page - 1);
    const part = rows.slice(from, from + PAGE);
    this.body.replaceChildren(...part.map((row) => this.elementOf(row)));
    if (!part.length) {
      const cell = make("td", "", words.no_rows);
      cell.colSpan = this.heads.length;
      const row = make("tr");
      row.append(cell);
      this.body.append(row);
    }
    const sort = parseInt(this.param("sort"), 10) || 0;
    this.heads.forEach((head, i) => {
      if (i === Math.abs(sort) - 1) head.setAttribute("aria-sort", sort < 0 ? "descending" : "ascending");
      else head.removeAttribute("aria-sort");
    });
    this.state.textContent = say(words.rows, { first: count(part.length ? from + 1 : 0), last: count(from + part.length), n: count(rows.length) });
    this.back.disabled = page === 1;
    this.on.disabled = page === last;
    this.pager.hidden = rows.length <= PAGE;
    this.tell(rows.length, this.rows.length);
  }

  tell(shown, all) {
    if (!this.search) return;
    if (document.activeElement !== this.search) this.search.value = this.param("find");
    this.selects.forEach((select, i) => { select.value = this.param(this.facets[i].key); });
    this.found.textContent = say(words.place, { at: count(shown), n: count(all) });
    this.clear.hidden = shown === all && !this.param("sort");
  }

  queries() {
    const found = this.shown().map((row) => {
      if (row.given) { const cell = row.given.find((one) => Array.isArray(one) && one[2] !== null); return cell ? cell[2] : null; }
      const link = row.element.querySelector("a[href^='#query=']");
      return link ? decode(link.getAttribute("href").slice(7)) : null;
    });
    return Array.from(new Set(found.filter((one) => one !== null)));
  }

  save() {
    const lines = [this.names, ...this.shown().map((row) => row.cells)].map((cells) => cells.map(quoteCsv).join(","));
    saveFile("assay-" + this.page + this.end + ".csv", lines.join("\n") + "\n");
  }
}

// The first table of a page with choices has its state under plain names, the others under names with a number.
function startTables() {
  for (const [page, section] of sections) {
    const boxes = Array.from(section.querySelectorAll(".grid"));
    const main = boxes.find((box) => box.querySelector(":scope > script.facets")) || boxes.find((box) => box.querySelector(":scope > script.rows"));
    const ordered = main ? [main, ...boxes.filter((box) => box !== main)] : boxes;
    grids.set(page, ordered.map((box, place) => new Grid(box, page, place)));
  }
  document.addEventListener("click", (event) => {
    const link = event.target.closest("main a[href^='#query=']");
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey || here.page === "query") return;
    event.preventDefault();
    openQuery(decode(link.getAttribute("href").slice(7)), here.page);
  });
}

// A query keeps the filters of the page it was opened from, so that the next one is the next of those.
function openQuery(query, from) {
  const params = new Map(Array.from(here.params).filter(([name]) => name !== "page" && name !== "from"));
  if (from !== "queries") params.set("from", from);
  go({ page: "query", query: query, params: params });
}
