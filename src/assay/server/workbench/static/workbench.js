"use strict";
// Keys press the buttons that show them, a form is sent once, and no more boxes are ticked than can be compared.
(function () {
  let sent = false;
  addEventListener("pageshow", () => { sent = false; });
  document.addEventListener("submit", (event) => {
    if (event.target.method !== "post") return;
    if (sent) event.preventDefault();
    sent = true;
  });

  // With a Chinese input method on, the key is "Process" and only its place on the keyboard is known.
  function keyOf(event) {
    if (/^[0-9a-zA-Z?]$/.test(event.key) || event.key.startsWith("Arrow")) return event.key.toLowerCase();
    const place = /^(?:Digit|Numpad)([0-9])$|^Key([A-Z])$/.exec(event.code);
    return place ? (place[1] || place[2]).toLowerCase() : "";
  }

  // Keys of a row are those of the row that is chosen.
  function seek(what, row) {
    const free = (one) => one.matches("[data-row]") || !one.closest("[data-row]");
    return (row && row.querySelector(what)) || Array.from(document.querySelectorAll(what)).find(free);
  }
  function step(event, key, row) {
    const by = { arrowdown: 1, arrowup: -1 }[key];
    const rows = Array.from(document.querySelectorAll("[data-row]"));
    if (!by || !rows.length) return;
    event.preventDefault();
    rows[Math.min(Math.max(row ? rows.indexOf(row) + by : 0, 0), rows.length - 1)].focus();
  }
  // Enter sends what was written by the button that says so, Shift with Enter by the other one.
  function send(event, form) {
    const button = form.querySelector(event.shiftKey ? "[data-sends-shifted]" : "[data-sends]");
    if (!button) return;
    event.preventDefault();
    if (!sent) form.requestSubmit(button);
  }

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.altKey || event.metaKey || event.repeat) return;
    const writing = event.target.closest("input:not([type=checkbox]), textarea, select");
    const row = event.target.closest("[data-row]");
    if (writing) {
      if (event.key === "Escape") row ? row.focus() : writing.blur();
      if (event.key === "Enter" && "send" in writing.dataset && !event.isComposing) send(event, writing.form);
      return;
    }
    const key = keyOf(event);
    if (!key) return;
    const field = seek(`[data-focus="${key}"]`, row);
    const button = seek(`[data-key~="${key}"]`, row);
    if (!field && !button) return step(event, key, row);
    event.preventDefault();
    if (field) field.focus();
    else if (!sent) button.click();
  });

  // Where a page goes on; keys that were pressed before may have chosen another place.
  const first = document.querySelector("[data-first]");
  if (first && document.activeElement === document.body) first.focus();

  // What goes on by itself is asked for again, every so many seconds and when the page is looked at once more.
  let next = 0;
  async function look() {
    clearTimeout(next);
    const shown = document.querySelector("[data-live]");
    if (!shown || !shown.dataset.live) return;
    const busy = document.activeElement.closest("[data-live] :is(input, textarea, select)");
    if (!document.hidden && !busy) {
      try {
        const answer = await fetch(location.href, { redirect: "error" });
        const page = new DOMParser().parseFromString(await answer.text(), "text/html");
        const fresh = answer.ok && page.querySelector("[data-live]");
        if (fresh && fresh.outerHTML !== shown.outerHTML) renew(shown, fresh);
      } catch (error) { /* the server is gone: what is shown stays */ }
    }
    plan();
  }
  // What was scrolled, opened and focused stays so, where it is still there.
  function renew(shown, fresh) {
    const those = (box, what) => Array.from(box.querySelectorAll(what));
    const kept = those(shown, ".scroll, .columns").map((one) => [one.scrollLeft, one.scrollTop]);
    const open = those(shown, "details").map((one) => one.open);
    const focused = those(shown, "a, button, summary, [tabindex]").indexOf(document.activeElement);
    shown.replaceWith(fresh);
    those(fresh, ".scroll, .columns").forEach((one, i) => { if (kept[i]) [one.scrollLeft, one.scrollTop] = kept[i]; });
    those(fresh, "details").forEach((one, i) => { if (i in open) one.open = open[i]; });
    const next = focused < 0 ? null : those(fresh, "a, button, summary, [tabindex]")[focused];
    if (next) next.focus({ preventScroll: true });
  }
  function plan() {
    const shown = document.querySelector("[data-live]");
    if (shown && shown.dataset.live) next = setTimeout(look, 1000 * Number(shown.dataset.live));
  }
  plan();
  document.addEventListener("visibilitychange", look);

  for (const form of document.querySelectorAll("form[data-most]")) {
    const most = Number(form.dataset.most);
    const boxes = Array.from(form.elements).filter((one) => one.type === "checkbox");
    const button = form.querySelector("[data-needs]");
    const look = () => {
      const ticked = boxes.filter((box) => box.checked).length;
      for (const box of boxes) box.disabled = !box.checked && ticked >= most;
      button.disabled = ticked < Number(button.dataset.needs);
    };
    document.addEventListener("change", look);
    addEventListener("pageshow", look);
  }
})();
