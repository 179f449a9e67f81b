// One query: its values, the lists and the answers of all systems side by side, the reference, the evidence.
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

function systemOf(name, tag) {
  const colour = Object.hasOwn(drill.colours, name) ? drill.colours[name] : 0;
  const head = make(tag);
  const label = make("span", colour ? "system" : "", name);
  head.append(label);
  return [head, colour];
}

function paneOf(name) {
  const [head, colour] = systemOf(name, "h3");
  const pane = make("section", "pane" + (colour ? " s" + colour : ""));
  if (name) pane.append(head);
  return pane;
}

function valuesOf(query) {
  const table = make("table");
  table.setAttribute("aria-label", words.values);
  const head = make("tr");
  [words.column_system, ...drill.measures].forEach((name, i) => {
    const cell = make("th", i ? "n" : "", name);
    cell.scope = "col";
    head.append(cell);
  });
  const top = make("thead");
  top.append(head);
  const body = make("tbody");
  query.v.forEach((row, i) => {
    const line = make("tr");
    const [name, colour] = systemOf(drill.systems[i], "th");
    if (colour) name.className = "s" + colour;
    name.scope = "row";
    line.append(name, ...row.map((v) => make("td", "n", v === null ? "" : v.toFixed(4))));
    body.append(line);
  });
  table.append(top, body);
  const box = make("div", "scroll");
  box.tabIndex = 0;
  box.setAttribute("role", "region");
  box.setAttribute("aria-label", words.values);
  box.append(table);
  return box;
}

function entryOf(query, doc, moved, isFirst) {
  const item = make("li");
  const grade = query.g[doc] < 0 ? null : drill.grades[query.g[doc]];
  const badge = make("span", "grade " + (grade ? "g" + grade[1] : "gu"), grade ? grade[0] : "?");
  badge.title = grade ? say(words.grade, { grade: grade[0] }) : words.unjudged;
  item.append(badge, make("span", "id", query.d[doc]));
  if (!isFirst) {
    const sign = moved === "" ? words.new : moved > 0 ? "\u25B2" + moved : moved < 0 ? "\u25BC" + -moved : "=";
    const move = make("span", "move " + (moved === "" ? "fresh" : moved > 0 ? "up" : moved < 0 ? "down" : ""), sign);
    move.title = moved === "" ? words.new_why : drill.moved;
    item.append(move);
  }
  const text = Object.hasOwn(drill.texts, query.d[doc]) ? drill.texts[query.d[doc]] : "";
  if (text && text.length <= 90) item.append(make("p", "text", text));
  else if (text) {
    const more = make("details", "text");
    more.append(make("summary", "", Array.from(text).slice(0, 80).join("").replace(/\s+/g, " ") + "\u2026"), make("p", "", text));
    item.append(more);
  }
  return item;
}

function listOf(query, flat, i) {
  if (!flat.length) return make("p", "soft", words.empty);
  const list = make("ol", "results");
  for (let at = 0; at < flat.length; at += i ? 2 : 1) list.append(entryOf(query, flat[at], i ? flat[at + 1] : 0, !i));
  return list;
}

// A sentence of a context within what stands around it.
function quote(text, sentence) {
  const around = 140;
  const at = text.indexOf(sentence);
  const parts = [];
  if (at > 0) parts.push((at > around ? "\u2026" : "") + text.slice(Math.max(0, at - around), at));
  parts.push(make("q", "", sentence));
  const end = at + sentence.length;
  if (at >= 0 && end < text.length) parts.push(text.slice(end, end + around) + (end + around < text.length ? "\u2026" : ""));
  return parts;
}

function statementOf(given, contexts) {
  const [text, support, tone, context, evidence, reason] = given;
  const item = make("li", "statement " + tone);
  const claim = make("p", "claim");
  const value = make("span", "tone " + tone, support);
  value.title = words.support;
  claim.append(make("span", "words", text), " ", value);
  item.append(claim);
  if (context || evidence) {
    const shown = make("p", "evidence");
    if (context) shown.append(make("cite", "", context));
    const whole = contexts.find(([id, own]) => own.includes(evidence) && (id === context || !id));
    if (evidence) shown.append(...quote(whole ? whole[1] : evidence, evidence));
    item.append(shown);
  }
  if (reason) item.append(make("p", "reason", reason));
  return item;
}

function answerOf(given, asked, shared) {
  const pane = paneOf(given.n);
  pane.classList.add("sample");
  if (given.q && given.q !== asked) pane.append(make("p", "text", given.q));
  const chip = make("p", "method");
  if (given.s) chip.append(make("span", "chip " + given.f, given.s), " ");
  if (given.m) chip.append(make("span", "soft small", given.m));
  const answer = make("p", "answer");
  for (const [text, support, tone] of given.a) answer.append(support ? make("mark", tone, text) : text);
  pane.append(chip, given.a.length ? answer : make("p", "soft", words.no_answer));
  if (!shared) given.r.forEach((text) => pane.append(make("p", "reference", say(words.reference, { text: text }))));
  const statements = given.a.filter(([, support]) => support);
  if (statements.length) {
    const list = make("ol", "statements");
    list.append(...statements.map((one) => statementOf(one, given.c)));
    pane.append(list);
  }
  if (given.c.length) {
    const more = make("details", "contexts");
    more.append(make("summary", "", words.contexts + " (" + given.c.length + ")"));
    given.c.forEach(([id, text], i) => more.append(make("h4", "id", id || "#" + (i + 1)), make("p", "text", text)));
    pane.append(more);
  }
  return pane;
}

function columnsOf(title, panes) {
  const box = make("div", "columns");
  box.tabIndex = 0;
  box.setAttribute("role", "region");
  box.setAttribute("aria-label", title);
  box.append(...panes);
  return [make("h3", "", title), box];
}

// The queries among which one goes on and back: those of the table it was opened from, as they are filtered and sorted.
function orderOf() {
  const from = grids.get(here.params.get("from") || "queries");
  const grid = from && from[0];
  const listed = grid ? grid.queries() : [];
  return listed.includes(here.query) ? listed : drill.queries.map((query) => query.id);
}

function headOf(id) {
  const order = orderOf();
  const at = order.indexOf(id);
  const head = make("div", "query-head");
  const title = make("h2", "id", id);
  title.id = "h-query";
  title.tabIndex = -1;
  const back = here.params.get("from") || (links.has("queries") ? "queries" : first);
  const params = new Map(Array.from(here.params).filter(([name]) => name !== "from"));
  const home = make("a", "button", words.back);
  home.href = addressOf({ page: back, query: null, params: params });
  const step = (to) => () => go({ page: "query", query: order[to], params: here.params });
  const previous = makeButton("", "\u2190", step(at - 1), words.previous_query);
  const next = makeButton("", "\u2192", step(at + 1), words.next_query);
  previous.disabled = at <= 0;
  next.disabled = at + 1 >= order.length;
  head.append(title, make("span", "soft small", say(words.place, { at: count(at + 1), n: count(order.length) })), previous, next, home);
  return head;
}

function showQuery(id) {
  const box = sections.get("query");
  if (!known() || !places.has(id)) {
    const title = make("h2", "id", id);
    title.id = "h-query";
    box.replaceChildren(title, make("p", "empty", words.gone));
    return;
  }
  const query = drill.queries[places.get(id)];
  const parts = [headOf(id)];
  const asked = query.t || (query.s && query.s[0].q) || "";
  if (asked) parts.push(make("p", "asked", asked));
  if (query.s) {
    const references = new Set(query.s.map((one) => JSON.stringify(one.r)));
    const shared = references.size === 1;
    if (shared) query.s[0].r.forEach((text) => parts.push(make("p", "reference", say(words.reference, { text: text }))));
    parts.push(...columnsOf(words.answer, query.s.map((one) => answerOf(one, asked, shared))));
  }
  if (query.v.length) parts.push(valuesOf(query));
  if (query.l) {
    parts.push(...columnsOf(words.lists, query.l.map((flat, i) => {
      const pane = paneOf(drill.systems[i]);
      pane.append(listOf(query, flat, i));
      return pane;
    })));
  }
  box.replaceChildren(...parts);
}

document.addEventListener("keydown", (event) => {
  if (here.page !== "query" || event.altKey || event.ctrlKey || event.metaKey || event.target.closest("input, select, textarea, [role=region]")) return;
  const wanted = { ArrowLeft: words.previous_query, ArrowRight: words.next_query }[event.key];
  if (wanted) { const button = Array.from(document.querySelectorAll("#query .query-head button")).find((one) => one.title === wanted); if (button) button.click(); }
  if (event.key === "Escape") { const home = document.querySelector("#query .query-head a"); if (home) home.click(); }
});
