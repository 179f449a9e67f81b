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
