// Charts: what is nearest to the pointer says what it is, and leads to where it is from.
const REACH = 28;

function Picture(figure) {
  const told = JSON.parse(figure.querySelector(":scope > script.tips").textContent);
  const tip = document.getElementById("tip");
  const svg = figure.querySelector("svg");
  const marks = Array.from(svg.querySelectorAll("[data-p]"), (element) => ({ element: element, told: told[Number(element.dataset.p)] })).filter((mark) => mark.told);
  if (!marks.length) return;
  marks.forEach((mark) => { if (mark.told[2]) mark.element.classList.add("to"); });
  let over = null;

  function nearest(event) {
    let best = null, least = REACH;
    for (const mark of marks) {
      const box = mark.element.getBoundingClientRect();
      const x = Math.max(box.left - event.clientX, 0, event.clientX - box.right);
      const y = Math.max(box.top - event.clientY, 0, event.clientY - box.bottom);
      const middle = Math.hypot(box.left + box.width / 2 - event.clientX, box.top + box.height / 2 - event.clientY) / 1000;
      const far = Math.hypot(x, y) + middle;
      if (far < least) { least = far; best = mark; }
    }
    return best;
  }

  function leave() {
    if (over) over.element.classList.remove("over");
    over = null;
    tip.hidden = true;
    svg.style.cursor = "";
  }

  svg.addEventListener("pointermove", (event) => {
    const mark = nearest(event);
    if (!mark) { leave(); return; }
    if (mark !== over) {
      leave();
      over = mark;
      mark.element.classList.add("over");
      tip.replaceChildren();
      if (mark.told[0]) tip.append(make("strong", "", mark.told[0]), mark.told[1] ? "\n" : "");
      tip.append(mark.told[1]);
      tip.hidden = false;
      svg.style.cursor = mark.told[2] ? "pointer" : "";
    }
    const box = tip.getBoundingClientRect();
    tip.style.left = Math.max(4, Math.min(event.clientX + 14, innerWidth - box.width - 8)) + "px";
    tip.style.top = (event.clientY + 18 + box.height > innerHeight ? event.clientY - box.height - 12 : event.clientY + 18) + "px";
  });
  svg.addEventListener("pointerleave", leave);
  svg.addEventListener("click", (event) => {
    const mark = nearest(event);
    if (!mark || !mark.told[2]) return;
    leave();
    if (mark.told[2].startsWith("query=")) openQuery(decode(mark.told[2].slice(6)), here.page);
    else location.hash = mark.told[2];
  });
}
