// What all parts of the page share: making elements, and the address, which holds the whole state of the page.
// Texts are only ever set as text.
const words = JSON.parse(document.getElementById("words").textContent);

function make(tag, name, text) {
  const element = document.createElement(tag);
  if (name) element.className = name;
  if (text !== undefined && text !== null) element.textContent = text;
  return element;
}

function makeButton(name, text, act, label) {
  const button = make("button", name, text);
  button.type = "button";
  if (label) { button.setAttribute("aria-label", label); button.title = label; }
  button.addEventListener("click", act);
  return button;
}

function say(text, values) {
  return text.replace(/\{(\w+)\}/g, (whole, name) => (name in values ? values[name] : whole));
}

function count(n) { return n.toLocaleString("en"); }

// ---- the address: #PAGE&name=value... or #query=ID&name=value... --------------------------------------------------
const sections = new Map(Array.from(document.querySelectorAll("main > section"), (one) => [one.id, one]));
const links = new Map(Array.from(document.querySelectorAll(".pages a"), (a) => [a.getAttribute("href").slice(1), a]));
const first = links.keys().next().value || "";

function decode(text) {
  try { return decodeURIComponent(text); } catch (error) { return text; }
}

function readAddress() {
  const [head, ...rest] = location.hash.slice(1).split("&");
  const params = new Map();
  for (const part of rest) {
    const at = part.indexOf("=");
    if (at > 0) params.set(decode(part.slice(0, at)), decode(part.slice(at + 1)));
  }
  if (head.startsWith("query=")) return { page: "query", query: decode(head.slice(6)), params: params };
  const page = decode(head);
  return { page: links.has(page) ? page : first, query: null, params: params };
}

function addressOf(state) {
  const head = state.page === "query" ? "query=" + encodeURIComponent(state.query) : encodeURIComponent(state.page);
  return "#" + [head, ...Array.from(state.params, ([name, value]) => encodeURIComponent(name) + "=" + encodeURIComponent(value))].join("&");
}

let here = readAddress();

function go(state, quietly) {
  const address = addressOf(state);
  if (address === location.hash) return;
  if (quietly) { history.replaceState(null, "", address); here = readAddress(); } else location.hash = address;
}

function change(changes, quietly) {
  const params = new Map(here.params);
  for (const [name, value] of Object.entries(changes)) {
    if (value === "" || value === null) params.delete(name); else params.set(name, value);
  }
  go({ page: here.page, query: here.query, params: params }, quietly);
}

// ---- theme --------------------------------------------------------------------------------------------------------
function remember(value) {
  try { if (value) localStorage.setItem("assay-theme", value); return localStorage.getItem("assay-theme"); } catch (error) { return null; }
}

function startTheme() {
  const root = document.documentElement;
  const button = document.getElementById("theme");
  const known = remember();
  if (known === "dark" || known === "light") root.dataset.theme = known;
  button.hidden = false;
  button.addEventListener("click", () => {
    const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = dark ? "light" : "dark";
    remember(root.dataset.theme);
  });
}
