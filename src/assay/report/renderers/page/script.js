"use strict";
// Sorting, searching and paging of tables, the theme, and the view of one query. Texts are only ever set as text.
(function () {
  const words = JSON.parse(document.getElementById("words").textContent);
  const PAGE = 50;

  function make(tag, name, text) {
    const element = document.createElement(tag);
    if (name) element.className = name;
    if (text !== undefined && text !== null) element.textContent = text;
    return element;
  }

  function say(text, values) {
    return text.replace(/\{(\w+)\}/g, (whole, name) => (name in values ? values[name] : whole));
  }

  // ---- tables ----------------------------------------------------------------------------------------------------
  function cellOf(given, isText, head) {
    const [text, tone, query, mark, strong] = Array.isArray(given) ? given : [given, "", null, "", 0];
    const cell = make(head ? "th" : "td", isText ? "" : "n");
    if (head) cell.scope = "row";
    let inside = cell;
    if (query !== null) {
      const link = make("a");
      link.href = "#q=" + encodeURIComponent(query);
      inside.append(link);
      inside = link;
    }
    inside.append(tone ? make("span", "tone " + tone, text) : strong ? make("strong", "", text) : text);
    if (mark) cell.append(" ", make("sup", "", mark));
    return cell;
  }

  function textOf(given) {
    return Array.isArray(given) ? given[0] : given;
  }

  function key(text) {
    const value = parseFloat(text.replace(/,/g, "").replace(/^(<=?|>=?)\s*/, ""));
    return Number.isNaN(value) ? -Infinity : value;
  }

  function Grid(box) {
    const texts = new Set(box.dataset.texts.split(" ").filter(Boolean).map(Number));
    const body = box.querySelector("tbody");
    const stored = box.querySelector("script.rows");
    const heads = Array.from(box.querySelectorAll("thead th"));
    let rows = null;
    let shown = null;
    let first = 0;
    let sorted = { column: -1, down: false };
    let asked = "";
    const count = stored ? Infinity : body.rows.length;

    function load() {
      if (rows) return;
      if (stored) {
        rows = JSON.parse(stored.textContent).map((cells, i) => ({ cells: cells.map(textOf), given: cells, at: i }));
      } else {
        rows = Array.from(body.rows, (element, i) => ({
          cells: Array.from(element.cells, (cell) => cell.textContent), element: element, at: i,
        }));
      }
      shown = rows;
    }

    function elementOf(row) {
      if (!row.element) {
        row.element = make("tr");
        row.given.forEach((cell, i) => row.element.append(cellOf(cell, texts.has(i), i === 0 && texts.has(0))));
      }
      return row.element;
    }

    function draw() {
      const part = shown.slice(first, first + PAGE);
      body.replaceChildren(...part.map(elementOf));
      if (!part.length) {
        const cell = make("td", "", words.no_rows);
        cell.colSpan = heads.length;
        const row = make("tr");
        row.append(cell);
        body.append(row);
      }
      state.textContent = say(words.rows, {
        first: (part.length ? first + 1 : 0).toLocaleString("en"), last: (first + part.length).toLocaleString("en"),
        n: shown.length.toLocaleString("en"),
      });
      back.disabled = first === 0;
      on.disabled = first + PAGE >= shown.length;
      pager.hidden = shown.length <= PAGE && !asked;
    }

    function arrange() {
      load();
      const needle = asked.toLowerCase();
      shown = needle ? rows.filter((row) => row.cells.some((text) => text.toLowerCase().includes(needle))) : rows.slice();
      const column = sorted.column;
      if (column >= 0) {
        const sign = sorted.down ? -1 : 1;
        const isText = texts.has(column);
        const keys = new Map(shown.map((row) => [row, isText ? row.cells[column] : key(row.cells[column])]));
        const order = new Intl.Collator(document.documentElement.lang, { numeric: true });
        shown.sort((a, b) => {
          const x = keys.get(a), y = keys.get(b);
          const found = isText ? order.compare(x, y) : x < y ? -1 : x > y ? 1 : 0;
          return sign * found || a.at - b.at;
        });
      }
      first = 0;
      draw();
    }

    heads.forEach((head, column) => {
      const button = make("button", "sort");
      button.type = "button";
      button.append(...head.childNodes);
      head.append(button);
      button.addEventListener("click", () => {
        const down = sorted.column === column ? !sorted.down : !texts.has(column);
        sorted = { column: column, down: down };
        heads.forEach((other, i) => {
          if (i === column) other.setAttribute("aria-sort", down ? "descending" : "ascending");
          else other.removeAttribute("aria-sort");
        });
        arrange();
      });
    });

    const pager = make("div", "pager");
    const back = make("button", "", words.previous);
    const on = make("button", "", words.next);
    const state = make("span");
    state.setAttribute("role", "status");
    [back, on].forEach((button) => { button.type = "button"; });
    back.addEventListener("click", () => { first = Math.max(0, first - PAGE); draw(); });
    on.addEventListener("click", () => { load(); first += PAGE; draw(); });
    pager.append(back, state, on);
    pager.hidden = true;
    if (count > 10) {
      const search = make("input", "filter");
      search.type = "search";
      search.placeholder = words.filter;
      search.setAttribute("aria-label", words.filter);
      let wait = 0;
      search.addEventListener("input", () => {
        clearTimeout(wait);
        wait = setTimeout(() => { asked = search.value.trim(); arrange(); }, 120);
      });
      box.insertBefore(search, box.querySelector(".scroll"));
    }
    box.append(pager);
    const more = box.querySelector(".more");
    if (more) more.remove();
    if (count > PAGE) {
      load();
      draw();
    }
  }

  document.querySelectorAll(".grid").forEach(Grid);

  // ---- theme -----------------------------------------------------------------------------------------------------
  const theme = document.getElementById("theme");
  theme.hidden = false;
  theme.addEventListener("click", () => {
    const root = document.documentElement;
    const dark = root.dataset.theme
      ? root.dataset.theme === "dark"
      : window.matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = dark ? "light" : "dark";
  });

  // ---- the page that is being read -------------------------------------------------------------------------------
  const links = new Map(Array.from(document.querySelectorAll("nav a"), (a) => [a.getAttribute("href").slice(1), a]));
  const bar = document.querySelector("nav ul");
  const watch = new IntersectionObserver((entries) => {
    for (const entry of entries) {
      if (!entry.isIntersecting) continue;
      links.forEach((a) => a.removeAttribute("aria-current"));
      const link = links.get(entry.target.id);
      link.setAttribute("aria-current", "true");
      bar.scrollLeft = link.offsetLeft - 24;
    }
  }, { rootMargin: "-15% 0px -75% 0px" });
  document.querySelectorAll("main > section").forEach((section) => watch.observe(section));

  // ---- one query -------------------------------------------------------------------------------------------------
  const dialog = document.getElementById("query");
  const source = document.getElementById("drill");
  let drill = null;
  let places = null;

  function known() {
    if (!drill && source) {
      drill = JSON.parse(source.textContent);
      places = new Map(drill.queries.map((query, i) => [query.id, i]));
    }
    return drill;
  }

  function values(query) {
    const table = make("table");
    const head = make("tr");
    head.append(make("th", "", words.column_system), ...drill.measures.map((name) => make("th", "n", name)));
    const top = make("thead");
    top.append(head);
    const body = make("tbody");
    query.v.forEach((row, i) => {
      const line = make("tr");
      const name = make("th", "", drill.systems[i]);
      name.scope = "row";
      line.append(name, ...row.map((v) => make("td", "n", v === null ? "" : v.toFixed(4))));
      body.append(line);
    });
    table.append(top, body);
    const box = make("div", "scroll");
    box.tabIndex = 0;
    box.append(table);
    return box;
  }

  function entry(query, doc, moved, first) {
    const item = make("li");
    const line = make("div", "doc");
    const grade = query.g[doc] < 0 ? null : drill.grades[query.g[doc]];
    const badge = make("span", "grade " + (grade ? "g" + grade[1] : "gu"), grade ? grade[0] : "?");
    badge.title = grade ? say(words.grade, { grade: grade[0] }) : words.unjudged;
    line.append(badge, make("span", "id", query.d[doc]));
    if (!first) {
      const sign = moved === "" ? words.new : moved > 0 ? "\u25B2" + moved : moved < 0 ? "\u25BC" + -moved : "=";
      const move = make("span", "move " + (moved === "" ? "fresh" : moved > 0 ? "up" : moved < 0 ? "down" : ""), sign);
      move.title = moved === "" ? words.new_why : drill.moved;
      line.append(move);
    }
    item.append(line);
    const text = Object.hasOwn(drill.texts, query.d[doc]) ? drill.texts[query.d[doc]] : "";
    if (text) {
      if (text.length <= 90) item.append(make("p", "text", text));
      else {
        const more = make("details", "text");
        more.append(make("summary", "", Array.from(text).slice(0, 80).join("").replace(/\s+/g, " ") + "\u2026"), make("p", "", text));
        item.append(more);
      }
    }
    return item;
  }

  function lists(query) {
    const box = make("div", "lists");
    query.l.forEach((flat, i) => {
      const part = make("section");
      part.append(make("h3", "", drill.systems[i]));
      const list = make("ol");
      const step = i ? 2 : 1;
      for (let at = 0; at < flat.length; at += step) list.append(entry(query, flat[at], i ? flat[at + 1] : 0, !i));
      part.append(flat.length ? list : make("p", "", words.empty));
      box.append(part);
    });
    return box;
  }

  function sample(given, known) {
    const box = make("section", "sample");
    const head = make("p", "asked", given.q);
    const answer = make("p", "answer");
    const table = make("table");
    const top = make("tr");
    ["column_statement", "column_support", "column_evidence"].forEach((name) => top.append(make("th", "", words[name])));
    const heads = make("thead");
    heads.append(top);
    const body = make("tbody");
    for (const [text, support, tone, context, evidence, reason] of given.a) {
      if (!support) { answer.append(text); continue; }
      answer.append(make("mark", tone, text), make("sup", "", support));
      const row = make("tr");
      const said = make("td");
      const value = make("td", "n");
      const why = make("td");
      said.append(text);
      value.append(make("span", "tone " + tone, support));
      if (context) why.append(make("span", "id", context), " ");
      if (evidence) why.append(make("q", "", evidence), " ");
      if (reason) why.append(make("span", "reason", reason));
      row.append(said, value, why);
      body.append(row);
    }
    table.append(heads, body);
    const scroll = make("div", "scroll");
    scroll.tabIndex = 0;
    scroll.append(table);
    if (given.q !== known) box.append(head);
    if (given.n) box.append(make("h3", "", given.n));
    box.append(make("p", "method", [given.s, given.m].filter(Boolean).join(" \u00B7 ")), answer);
    given.r.forEach((text) => box.append(make("p", "reference", say(words.reference, { text: text }))));
    box.append(scroll);
    if (given.c.length) {
      const more = make("details", "contexts");
      more.append(make("summary", "", words.contexts + " (" + given.c.length + ")"));
      given.c.forEach(([id, text], i) => {
        more.append(make("h4", "id", id || "#" + (i + 1)), make("p", "text", text));
      });
      box.append(more);
    }
    return box;
  }

  function open(id) {
    if (!known() || !places.has(id)) return;
    const at = places.get(id);
    const query = drill.queries[at];
    const head = make("div", "head");
    const title = make("h2", "", query.id);
    title.id = "query-title";
    head.append(title);
    for (const [word, other, sign] of [["previous_query", at - 1, "\u2190"], ["next_query", at + 1, "\u2192"]]) {
      const button = make("button", "", sign);
      button.type = "button";
      button.setAttribute("aria-label", words[word]);
      button.title = words[word];
      button.disabled = !(other in drill.queries);
      button.addEventListener("click", () => { location.hash = "q=" + encodeURIComponent(drill.queries[other].id); });
      head.append(button);
    }
    const close = make("button", "", words.close);
    close.type = "button";
    close.autofocus = true;
    close.addEventListener("click", () => dialog.close());
    head.append(close);
    const parts = [head];
    if (query.t) parts.push(make("p", "asked", query.t));
    if (query.v.length) parts.push(values(query));
    if (query.s) parts.push(...query.s.map((one) => sample(one, query.t)));
    if (query.l) parts.push(lists(query));
    dialog.replaceChildren(...parts);
    if (!dialog.open) dialog.showModal();
    dialog.scrollTop = 0;
  }

  function follow() {
    if (location.hash.startsWith("#q=")) {
      let id = null;
      try { id = decodeURIComponent(location.hash.slice(3)); } catch (error) { return; }
      open(id);
    } else if (dialog.open) dialog.close();
  }

  dialog.addEventListener("close", () => {
    if (location.hash.startsWith("#q=")) history.replaceState(null, "", "#queries");
  });
  dialog.addEventListener("click", (event) => { if (event.target === dialog) dialog.close(); });
  window.addEventListener("hashchange", follow);
  follow();
})();
