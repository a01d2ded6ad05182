// A textarea with line numbers. Files of a protocol are short, so that no editor from elsewhere pays.
export function editor(area, numbers) {
  let marked = 0;

  function number() {
    const lines = area.value.split("\n").length;
    numbers.replaceChildren();
    for (let k = 1; k <= lines; k += 1) {
      const at = document.createElement("span");
      at.textContent = String(k);
      if (k === marked) at.className = "at";
      numbers.append(at, "\n");
    }
    numbers.scrollTop = area.scrollTop;
  }

  // As high as the text, which the user may drag, whatever the count of lines.
  new ResizeObserver(() => {
    numbers.style.height = `${area.offsetHeight}px`;
  }).observe(area);
  area.addEventListener("input", () => {
    marked = 0;
    number();
  });
  area.addEventListener("scroll", () => {
    numbers.scrollTop = area.scrollTop;
  });
  area.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.isComposing || event.ctrlKey) return;
    const before = area.value.slice(0, area.selectionStart).split("\n").pop();
    const indent = /^ */.exec(before)[0] + (before.trimEnd().endsWith(":") ? "    " : "");
    if (!indent) return;
    event.preventDefault();
    // The one way of a browser to insert text that undo knows of.
    document.execCommand("insertText", false, `\n${indent}`);
  });

  return {
    text: () => area.value,
    set(text) {
      marked = 0;
      area.value = text;
      number();
      area.scrollTop = 0;
    },
    // Marks a line and shows it; 0: none
    mark(line) {
      marked = line;
      number();
      if (!line) return;
      const height = Number.parseFloat(getComputedStyle(area).lineHeight);
      area.scrollTop = Math.max(0, (line - 6) * height);
      numbers.scrollTop = area.scrollTop;
    },
  };
}
