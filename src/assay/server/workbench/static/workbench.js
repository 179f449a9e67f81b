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

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.altKey || event.metaKey || event.repeat) return;
    const writing = event.target.closest("input:not([type=checkbox]), textarea, select");
    if (writing) {
      if (event.key === "Escape") writing.blur();
      return;
    }
    const key = keyOf(event);
    if (!key) return;
    const field = document.querySelector(`[data-focus="${key}"]`);
    const button = document.querySelector(`[data-key~="${key}"]`);
    if (!field && !button) return;
    event.preventDefault();
    if (field) field.focus();
    else if (!sent) button.click();
  });

  // What goes on by itself is asked for again, every so many seconds and when the page is looked at once more.
  let next = 0;
  async function look() {
    clearTimeout(next);
    const shown = document.querySelector("[data-live]");
    if (!shown || !shown.dataset.live) return;
    if (!document.hidden && !shown.contains(document.activeElement)) {
      try {
        const answer = await fetch(location.href, { redirect: "error" });
        const page = new DOMParser().parseFromString(await answer.text(), "text/html");
        const fresh = answer.ok && page.querySelector("[data-live]");
        if (fresh && fresh.outerHTML !== shown.outerHTML) shown.replaceWith(fresh);
      } catch (error) { /* the server is gone: what is shown stays */ }
    }
    plan();
  }
  function plan() {
    const shown = document.querySelector("[data-live]");
    if (shown && shown.dataset.live) next = setTimeout(look, 1000 * Number(shown.dataset.live));
  }
  plan();
  document.addEventListener("visibilitychange", look);

  for (const form of document.querySelectorAll("form[data-most]")) {
    const most = Number(form.dataset.most);
    const boxes = Array.from(form.querySelectorAll("input[type=checkbox]"));
    const button = form.querySelector("[data-needs]");
    const look = () => {
      const ticked = boxes.filter((box) => box.checked).length;
      for (const box of boxes) box.disabled = !box.checked && ticked >= most;
      button.disabled = ticked < Number(button.dataset.needs);
    };
    form.addEventListener("change", look);
    addEventListener("pageshow", look);
  }
})();
