"use strict";
// The page of `groupcheck explore`. It asks oracles/explore/questions.py and draws the answers.
// Every text of an answer becomes a text node, never markup. There is no framework: an answer
// replaces what is shown, and `el` below is all that this takes.

(() => {
  const $ = (selector) => document.querySelector(selector);
  const first = JSON.parse($("#first").textContent);
  const MOST_QUIET = 3; // fields that are as at first: more are folded
  const SVG = "http://www.w3.org/2000/svg";
  const opened = new Set(); // what the reader has unfolded, by name
  let here = first.key; // the key of the state that is shown
  let line = first.end; // the furthest key of this branch, for `forward`
  let shown = null; // the last answer about a state
  let asked = 0; // the number of the last move, so that late answers are dropped
  let seed = 0;
  let timer = 0;

  function el(tag, attributes = {}, ...children) {
    const made = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) {
      if (name === "on") made.addEventListener("click", value);
      else if (value === true) made.setAttribute(name, "");
      else if (value !== false && value !== null) made.setAttribute(name, value);
    }
    made.append(...children.filter((child) => child !== null && child !== ""));
    return made;
  }

  function draw(tag, attributes, text = "", title = "") {
    const made = document.createElementNS(SVG, tag);
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
    if (text) made.textContent = text;
    if (title) made.append(draw("title", {}, title));
    return made;
  }

  async function overHttp(question) {
    const answer = await fetch("ask", {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(question),
    });
    return answer.json();
  }

  // A page without a server answers by itself.
  const post = self.groupcheckAsk ?? overHttp;
  // A page in a frame has no address of its own: the page around it keeps the link.
  const keepLink = self.groupcheckKeep ?? ((link) => {
    if (location.hash !== `#${link}`) history.pushState(null, "", `#${link}`);
  });
  const copyLink = self.groupcheckCopy ?? (() => navigator.clipboard.writeText(location.href));

  // An error goes when the reader asks for something else, and not when an answer comes to what the
  // page had asked for by itself meanwhile.
  const BY_ITSELF = new Set(["path", "tree", "beside"]);

  async function ask(what, more = {}) {
    if (!BY_ITSELF.has(what)) $("#error").textContent = "";
    let told;
    try {
      told = await post({ ask: what, key: here, ...more });
    } catch {
      told = { error: "groupcheck does not answer: is the command still running?" };
    }
    if (told.error) $("#error").textContent = told.error;
    return told.error ? null : told;
  }

  // -- moving

  const parent = (key) => (key.includes(".") ? key.slice(0, key.lastIndexOf(".")) : null);
  const isOn = (key, branch) => branch === key || branch.startsWith(`${key}.`);

  async function go(key, keep = true) {
    asked += 1;
    const number = asked;
    const told = await ask("state", { key });
    if (!told || number !== asked) return false;
    here = told.key;
    if (!isOn(here, line)) line = here;
    shown = told;
    if (keep) keepLink(told.link);
    render(told);
    const path = await ask("path", { key: here });
    if (path && number === asked) renderPath(path);
    if (number === asked && $("#tree").open) await renderTree();
    if (number === asked && $("#other")?.dataset.on) await compare();
    document.body.dataset.ready = String(number);
    return true;
  }

  const moves = {
    begin: () => go(here.split(".")[0]),
    back: () => parent(here) && go(parent(here)),
    forward: () => {
      if (line === here) return null;
      const rest = line.slice(here.length + 1);
      return go(`${here}.${rest.split(".")[0]}`);
    },
    play: () => play(!timer),
    random: async () => {
      const told = await ask("random", { steps: 10, seed });
      seed += 1;
      return told && go(told.key);
    },
    copy: async () => {
      let told = "The link is in the clipboard.";
      try {
        await copyLink();
      } catch { // a browser may refuse it, and has no clipboard for plain HTTP
        told = "The address of this page is the link.";
      }
      $("#where").textContent = told;
    },
  };

  function play(on) {
    clearInterval(timer);
    timer = 0;
    if (on && line !== here) {
      timer = setInterval(() => (line === here ? play(false) : moves.forward()), 1200);
      moves.forward();
    }
    $("[data-do=play]").setAttribute("aria-pressed", String(Boolean(timer)));
  }

  async function take(choice) {
    const inside = $("#choices").contains(document.activeElement);
    if (await go(`${here}.${choice.number}`) && inside) $("#next").focus();
  }

  // -- the state

  function plural(count, word) {
    return `${count} ${word}${count === 1 ? "" : "s"}`;
  }

  function render(told) {
    const begun = told.depth === 0;
    $("#where").textContent = begun ? `At the beginning: ${told.words}.`
      : `After ${plural(told.depth, "step")}: ${told.words}.`;
    $("#said").replaceChildren(...told.said.map((text) => el("li", {}, text)));
    const broken = told.promises.filter((p) => p.true === false);
    const met = told.goals.filter((g) => g.true);
    $("#alarm").replaceChildren(
      ...broken.map((p) => el("p", { class: "fact" }, `✕ ${p.name} is broken: ${p.promise}`)),
      met.length
        ? el("p", { class: "met" }, `✓ met here: ${met.map((g) => g.name).join(", ")}`) : "",
    );
    renderPicture(told);
    renderChoices(told);
    renderSaid($("#promises"), told.promises, told.held, ["holds", "broken"]);
    const goals = `${met.length} of ${plural(told.goals.length, "goal")} met here`;
    renderSaid($("#met"), told.goals, goals, ["met", "not met"]);
    $("[data-do=back]").disabled = $("[data-do=begin]").disabled = begun;
    $("[data-do=forward]").disabled = $("[data-do=play]").disabled = line === here;
    $("[data-do=random]").disabled = !told.choices.length;
  }

  function renderPicture(told) {
    const { faults } = told.picture;
    const parts = [];
    if (told.svg) {
      const source = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(told.svg)}`;
      parts.push(el("img", { src: source, alt: `the state, drawn by ${told.viewed}` }));
    }
    if (told.picture.columns.length) {
      parts.push(el("div", { class: "scene" }, sceneOf(told.scene.wide, "wide"),
        sceneOf(told.scene.narrow, "narrow")));
      if (told.legend.length) parts.push(el("p", { class: "reason" }, told.legend.join(" ")));
    }
    if (faults && !(told.picture.columns.length && Object.keys(faults).length)) {
      const left = Object.entries(faults).map(([name, n]) => `${name} ${n}`).join(", ");
      parts.push(el("p", { class: "reason" }, `Faults left: ${left || "none"}`));
    }
    const every = el("details", { id: "fields", open: !told.picture.columns.length
      || opened.has("fields") }, el("summary", {}, "Every field"), ...places(told.picture));
    every.addEventListener("toggle", () => {
      if (every.open) opened.add("fields"); else opened.delete("fields");
    });
    parts.push(every);
    const active = document.activeElement?.dataset?.part;
    $("#picture").replaceChildren(...parts);
    // Who reads the scene by keyboard stays where they were.
    if (active) [...$("#picture").querySelectorAll("[data-part]")]
      .find((part) => part.dataset.part === active && part.checkVisibility())?.focus();
  }

  // The state as a drawing. Each part can be reached by Tab and says what it shows; Enter or a click
  // opens the card that has every field of it.
  function sceneOf({ width, height, parts }, style) {
    const svg = draw("svg", { class: style, viewBox: `0 0 ${width} ${height}`, width, height,
      role: "group", "aria-label": "the state" });
    svg.append(headOf(`scene-${style}`));
    parts.forEach(([kind, label, card, changed, shapes], k) => {
      const part = draw("g", { class: `part ${kind}${changed ? " fresh" : ""}`, tabindex: 0,
        role: card ? "button" : "img", "aria-label": changed ? `${label} (changed)` : label,
        "data-part": `${style} ${k}` });
      part.append(...shapes.map((shape) => shapeOf(shape, `scene-${style}`)));
      if (card) {
        part.addEventListener("click", () => showCard(card));
        part.addEventListener("keydown", (event) => {
          if (event.key === "Enter" || event.key === " ") {
            event.preventDefault();
            showCard(card);
          }
        });
      }
      svg.append(part);
    });
    return svg;
  }

  function showCard(name) {
    $("#fields").open = true;
    const card = [...$("#fields").querySelectorAll(".card")].find((c) => c.dataset.card === name);
    const label = card?.querySelector("h3 button, h3");
    card?.scrollIntoView({ block: "nearest" });
    label?.focus();
  }

  function headed(title, summary) {
    return el("h2", {}, title, " ", ...summary.map((said) => el("span", { class: "chip" }, said)));
  }

  function places({ title, cards, columns, summary }) {
    const seats = columns.flatMap((c) => c.seats.map((card) => cardOf(card, `, of ${c.title}`)));
    const parts = [];
    if (cards.length || seats.length) {
      parts.push(el("div", { class: "place" }, headed(title || "shared", summary),
        el("div", { class: "cards" }, ...cards.map((card) => cardOf(card))),
        seats.length ? el("div", { class: "cards seats" }, ...seats) : ""));
    }
    if (columns.length) {
      parts.push(el("div", { class: "columns" }, ...columns.map((column) => el("div",
        { class: "place" }, headed(column.title, column.summary), arrowsOf(column.arrows),
        el("div", { class: "cards" }, ...column.cards.map((card) => cardOf(card)))))));
    }
    return parts;
  }

  function arrowsOf(arrows) {
    const items = arrows.map((arrow) => {
      const icon = draw("svg", { width: 14, height: 26, "aria-hidden": "true" });
      icon.append(draw("path", { d: arrow.way === "sent" ? "M7 25V3M2 8L7 2L12 8"
        : "M7 1V23M2 18L7 24L12 18" }));
      const fields = arrow.fields.map(([name, value]) => `${name} ${value}`).join(", ");
      const way = arrow.way === "sent" ? "to the coordinator" : "from the coordinator";
      return el("li", { class: arrow.is_new ? "new" : "", title: arrow.where }, icon,
        el("span", { class: "text" }, `${arrow.text}${fields ? ` (${fields})` : ""} `,
          el("small", {}, `${way}, ${arrow.place}${arrow.is_new ? ", new" : ""}`)));
    });
    return items.length ? el("ul", { class: "arrows" }, ...items) : "";
  }

  function noteOf(text, source) {
    return el("p", { class: "note" }, text, el("span", { class: "source" }, source));
  }

  // A button that unfolds a note below it; what is unfolded stays so from state to state.
  function named(label, id, text, source) {
    if (!text && !source) return [label, ""];
    const note = noteOf(text, source);
    note.hidden = !opened.has(id);
    const button = el("button", { type: "button", title: `${text} ${source}`.trim(),
      "aria-expanded": String(!note.hidden), on: () => {
        note.hidden = !note.hidden;
        button.setAttribute("aria-expanded", String(!note.hidden));
        if (note.hidden) opened.delete(id); else opened.add(id);
      } }, label);
    return [button, note];
  }

  function cardOf(card, more = "") {
    const [label, note] = named(card.name + more, card.name, card.note, card.source);
    return el("article", { class: card.is_changed ? "card changed" : "card", "data-card": card.name },
      el("h3", { tabindex: -1 }, label), note, ...rowsOf(card.rows, card.name));
  }

  function rowsOf(rows, id) {
    const folds = rows.filter((r) => r.is_quiet).length > MOST_QUIET;
    const quiet = folds ? rows.filter((r) => r.is_quiet) : [];
    const loud = rows.filter((r) => !folds || !r.is_quiet);
    const parts = loud.map((row) => fieldOf(row, id));
    if (quiet.length) {
      const name = `${id} quiet`;
      const folded = el("details", { open: opened.has(name) },
        el("summary", {}, `${quiet.length} more, as at first`),
        ...quiet.map((row) => fieldOf(row, id)));
      folded.addEventListener("toggle", () => {
        if (folded.open) opened.add(name); else opened.delete(name);
      });
      parts.push(folded);
    }
    return parts;
  }

  function fieldOf(row, id) {
    const changed = row.was !== null;
    const [label, note] = named(row.name, `${id}.${row.name}`, row.note, row.source);
    const inner = row.inner.length
      ? el("div", { class: "inner" }, ...rowsOf(row.inner, `${id}.${row.name}`)) : "";
    const was = changed && !row.inner.length ? el("span", { class: "was" }, row.was || "new") : "";
    return el("div", { class: changed ? "field changed" : "field" }, label, " ",
      el("b", {}, row.value), was, changed ? el("span", { class: "mark" }, " •") : "",
      note, inner);
  }

  // -- what can happen next

  function renderChoices(told) {
    const groups = new Map();
    told.choices.forEach((choice, k) => {
      if (!groups.has(choice.group)) groups.set(choice.group, []);
      groups.get(choice.group).push(el("li", {}, el("button",
        { type: "button", on: () => { play(false); take(choice); } },
        el("kbd", {}, String(k + 1)), " ", choice.fault ? el("b", {}, `${choice.fault}: `) : "",
        choice.words,
        ...choice.breaks.map((name) => el("span", { class: "breaks" }, `breaks ${name}`)),
        ...choice.changes.map((change) => el("small", {}, change)))));
    });
    const parts = [...groups].map(([group, items]) => el("div",
      { class: group === "faults" ? "group faults" : "group" },
      el("h3", {}, group), el("ol", {}, ...items)));
    const end = told.deadlock ? "Nothing can happen any more: a deadlock."
      : "Nothing can happen any more: the protocol may rest here.";
    $("#choices").replaceChildren(...(parts.length ? parts : [el("p", {}, end)]));
  }

  function renderSaid(details, every, words, [yes, no]) {
    details.hidden = !every.length;
    details.querySelector("summary").textContent = words;
    details.querySelector("ul").replaceChildren(...every.map((s) => {
      const said = s.true === null ? s.note : s.true ? yes : no;
      return el("li", {}, el("b", { class: s.true === false && no === "broken" ? "fact" : "" },
        `${s.name}: ${said}. `), s.promise, s.why ? ` Why: ${s.why}` : "",
      s.source ? el("span", { class: "source" }, ` ${s.source}`) : "");
    }));
  }

  // -- the path

  function picture({ width, height, shapes }, style, name) {
    const svg = draw("svg", { class: style, viewBox: `0 0 ${width} ${height}`, width, height,
      role: "img", "aria-label": "the path as a swim-lane; the table below says the same" });
    svg.append(headOf(name), ...shapes.map((shape) => shapeOf(shape, name)));
    return svg;
  }

  function headOf(name) {
    const marker = draw("marker", { id: `${name}-head`, viewBox: "0 0 8 8", refX: 7.5, refY: 4,
      markerWidth: 9, markerHeight: 9, markerUnits: "userSpaceOnUse", orient: "auto" });
    marker.append(draw("path", { class: "head", d: "M0 0.5 8 4 0 7.5z" }));
    return marker;
  }

  function shapeOf([kind, look, x, y, x2, y2, text, full], name) {
    if (kind === "text") return draw("text", { class: look, x, y }, text, full);
    if (kind === "box") return draw("rect", { class: look, x, y, width: x2, height: y2 }, "", full);
    const head = kind === "arrow" ? { "marker-end": `url(#${name}-head)` } : {};
    return draw("line", { class: look, x1: x, y1: y, x2, y2, ...head });
  }

  function renderPath(told) {
    const head = ["step", "who", "what happens", "what changes"];
    const rows = told.rows.map(([steps, who, words, changes, broken]) => el("tr",
      { class: broken.length ? "broken" : "" }, el("td", {}, steps), el("td", {}, who),
      el("td", {}, words, ...broken.map((b) => el("strong", { class: "fact" }, `✕ ${b}`))),
      el("td", {}, ...changes.map((c) => el("code", {}, c)))));
    const table = el("details", { open: opened.has("table") },
      el("summary", {}, "The steps as a table"),
      el("table", {},
        el("thead", {}, el("tr", {}, ...head.map((h) => el("th", { scope: "col" }, h)))),
        el("tbody", {}, ...rows)));
    table.addEventListener("toggle", () => {
      if (table.open) opened.add("table"); else opened.delete("table");
    });
    const figure = el("figure", { tabindex: "0", "aria-label": "the path as a picture" },
      picture(told.wide, "wide", "w"), picture(told.narrow, "narrow", "n"));
    $("#path").replaceChildren(figure,
      told.trouble ? el("p", { class: "source" }, told.trouble) : "", table,
      el("details", {}, el("summary", {}, "The story in words"), el("p", {}, told.prose)));
  }

  async function renderTree() {
    const told = await ask("tree");
    if (!told) return;
    $("#tree ul").replaceChildren(
      ...told.branches.map(([indent, depth, key, words]) => {
        const item = el("li", {}, el("button", { type: "button",
          "aria-current": key === here ? "step" : null, on: () => go(key) }, `${depth} ${words}`));
        item.style.paddingLeft = `${Math.min(indent, 8)}rem`;
        return item;
      }),
      told.more ? el("li", {}, `and ${told.more} more`) : "",
    );
  }

  // -- side by side

  async function compare() {
    const told = await ask("beside", { other: $("#other").value });
    if (!told) return;
    const parts = [];
    if (told.parting === null) {
      parts.push(el("p", {}, `${told.title} takes the same ${plural(told.steps, "step")}.`));
    } else {
      const key = here.split(".").slice(0, told.parting + 1).join(".");
      parts.push(el("p", { class: "parting" },
        el("b", {}, `They part at step ${told.parting}. `), told.words, " ",
        el("button", { type: "button", on: () => go(key) }, `see step ${told.parting}`)));
      if (told.differences.length) {
        const cells = (tag, texts) => el("tr", {}, ...texts.map((t) => el(tag, {}, t)));
        parts.push(el("table", {}, el("thead", {}, cells("th", ["field", "here", told.title])),
          el("tbody", {}, ...told.differences.map((d) => cells("td", d)))));
      }
    }
    const state = el("details", { open: opened.has("beside") },
      el("summary", {}, `${told.title} after ${plural(told.steps, "step")}`),
      ...places(told.picture));
    state.addEventListener("toggle", () => {
      if (state.open) opened.add("beside"); else opened.delete("beside");
    });
    $("#compared").replaceChildren(...parts, state);
  }

  // -- for elsewhere

  async function exportAs(kind) {
    const told = await ask("export", { kind });
    if (!told) return;
    const text = el("textarea", { readonly: true, "aria-label": told.name || "command lines" });
    text.value = told.text;
    const parts = [text];
    if (told.name) {
      const link = el("a", { download: told.name }, `save as ${told.name}`);
      link.href = URL.createObjectURL(new Blob([told.text], { type: "text/plain" }));
      parts.push(el("p", {}, link));
    }
    $("#exported").replaceChildren(...parts);
  }

  // -- what the reader does

  document.querySelectorAll("[data-do]").forEach((button) => {
    button.addEventListener("click", () => {
      if (button.dataset.do !== "play") play(false);
      moves[button.dataset.do]();
    });
  });
  document.querySelectorAll("[data-export]").forEach((button) => {
    button.addEventListener("click", () => exportAs(button.dataset.export));
  });
  $("#seek").addEventListener("submit", async (event) => {
    event.preventDefault();
    const wanted = $("#wanted").value.trim();
    if (!wanted) return;
    $("#sought").textContent = "looking …";
    const told = await ask("seek", { wanted });
    $("#sought").textContent = told ? told.words : "";
    if (told?.found) await go(told.key);
  });
  $("#beside")?.addEventListener("submit", (event) => {
    event.preventDefault();
    $("#error").textContent = "";
    $("#other").dataset.on = $("#other").value.trim();
    if ($("#other").dataset.on) compare(); else $("#compared").replaceChildren();
  });
  if (first.starts.length > 1) {
    const start = el("select", { "aria-label": "initial state" },
      ...first.starts.map((words, k) => el("option",
        { value: k, selected: String(k) === here.slice(4).split(".")[0] }, words)));
    start.addEventListener("change", () => go(`gc1-${start.value}`));
    $(".tools").append(start);
  }
  $("#tree").addEventListener("toggle", () => $("#tree").open && renderTree());

  document.addEventListener("keydown", (event) => {
    const typing = event.target.closest?.("input, textarea, select");
    if (typing || event.ctrlKey || event.metaKey || event.altKey) return;
    const keys = {
      ArrowLeft: "back", ArrowRight: "forward", Home: "begin", r: "random", p: "play",
    };
    if (event.target.closest?.("figure") && event.key.startsWith("Arrow")) return; // it scrolls
    if (/^[1-9]$/.test(event.key) && shown?.choices[event.key - 1]) {
      play(false);
      take(shown.choices[event.key - 1]);
    } else if (keys[event.key]) {
      if (event.key !== "p") play(false);
      moves[keys[event.key]]();
    } else if (event.key === "g") $("#wanted").focus();
    else if (event.key === "n") $("#next").focus();
    else return;
    event.preventDefault();
  });

  // What the address asks for: a key, or why there is none. A command that the page recommends will
  // be trusted, so only an address that no shell takes for anything else stands in it.
  function inAddress() {
    const text = location.hash.slice(1);
    if (!text) return {};
    if (text.startsWith(first.of)) return { key: text.slice(first.of.length) };
    const how = /^[\w=&,.+%:~/-]{1,2000}$/.test(text)
      ? ` Open it with: groupcheck explore --from '${text}'` : "";
    return { error: `This link is about something else.${how}` };
  }

  addEventListener("popstate", () => {
    const { key, error } = inAddress();
    if (error) $("#error").textContent = error;
    else if (key && key !== here) go(key, false);
  });

  async function start() {
    let { key, error } = inAddress();
    line = first.end;
    if (key && !await go(key) && !shown) {
      error = $("#error").textContent;
      key = null;
    }
    // The address of a link that does not lead here stays, so that it can be looked at.
    if (!key) await go(first.key, !error);
    if (error) $("#error").textContent = error;
  }
  start();
})();
