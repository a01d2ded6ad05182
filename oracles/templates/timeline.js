"use strict";
// The time line of a group: draws the picture that oracles/replay/lanes.py describes on a canvas.
// Texts of logs reach the page as textContent and as drawn text only, never as HTML.

(() => {
  const AXIS = 22, BAND = 20, MARK = 20, HEAD = AXIS + BAND + MARK + 8;
  const MOST_CHOSEN = 6;
  const LANE = 24, TALL_LANE = 34, LABELS = 190, NARROW = 560;
  const SECOND = 1000, MINUTE = 60 * SECOND, HOUR = 60 * MINUTE, DAY = 24 * HOUR;
  const STEPS = [
    1, 2, 5, 10, 20, 50, 100, 200, 500, SECOND, 2 * SECOND, 5 * SECOND, 10 * SECOND, 15 * SECOND,
    30 * SECOND, MINUTE, 2 * MINUTE, 5 * MINUTE, 10 * MINUTE, 15 * MINUTE, 30 * MINUTE, HOUR,
    2 * HOUR, 3 * HOUR, 6 * HOUR, 12 * HOUR, DAY, 2 * DAY, 7 * DAY, 30 * DAY, 365 * DAY,
  ];
  const COLOURS = {
    member: "rule", owns: "hue0", joining: "amber", syncing: "hue4", preparing: "amber",
    completing: "hue4", stable: "green", empty: "soft", id: "soft", joined: "green", left: "soft",
    gone: "red", caused: "amber", led: "hue4", refused: "red", trouble: "red", said: "soft",
    cause: "red", harm: "red", restart: "amber", away: "red",
  };
  const SPANS = new Set(["member", "owns", "joining", "syncing", "away"]);
  // What is drawn later lies above, and is found first.
  const ORDER = [
    "member", "owns", "joining", "syncing", "away", "said", "id", "led", "joined", "caused", "left",
    "gone", "refused", "trouble",
  ];
  const RANK = { restart: 0, harm: 1, cause: 2 };
  const two = (n) => String(n).padStart(2, "0");

  function clock(ms, step) {
    const at = new Date(ms);
    const text = `${two(at.getUTCHours())}:${two(at.getUTCMinutes())}`;
    if (step >= MINUTE) return text;
    const seconds = `${text}:${two(at.getUTCSeconds())}`;
    const ms3 = String(at.getUTCMilliseconds()).padStart(3, "0");
    return step >= SECOND ? seconds : `${seconds}.${ms3}`;
  }

  function day(ms, dated) {
    const text = new Date(ms).toISOString();
    return { full: text.slice(0, 10), day: text.slice(5, 10), none: "" }[dated];
  }

  function lasted(ms) {
    if (ms < SECOND) return `${ms} ms`;
    if (ms < 2 * MINUTE) return `${(ms / SECOND).toFixed(1)} s`;
    if (ms < 2 * HOUR) return `${(ms / MINUTE).toFixed(1)} min`;
    return `${(ms / HOUR).toFixed(1)} h`;
  }

  function short(text, most) {
    return text.length <= most ? text : `${text.slice(0, most - 7)}…${text.slice(-6)}`;
  }

  const unpacked = ([lane, since, until, kind, text, line]) => (
    { lane, since, until, kind, text, line }
  );

  function start(figure) {
    const data = JSON.parse(document.getElementById(figure.dataset.picture).textContent);
    const canvas = figure.querySelector("canvas");
    const board = figure.querySelector(".board");
    const seenLanes = figure.querySelector(".lanes");
    const pen = canvas.getContext("2d");
    const items = data.items.map(unpacked), bands = data.bands.map(unpacked);
    const marks = data.marks.map(unpacked).sort((a, b) => RANK[a.kind] - RANK[b.kind]);
    const byLane = data.lanes.map(() => []);
    for (const item of items) byLane[item.lane].push(item);
    for (const lane of byLane) {
      lane.sort((a, b) => ORDER.indexOf(a.kind) - ORDER.indexOf(b.kind) || a.since - b.since);
    }
    const view = { from: 0, span: 1, width: 0, height: 0, left: 0, lane: LANE };
    let colours = {}, chosen = null, waiting = false, frames = 0, drawn = 0;

    // --- from times to pixels

    const room = () => view.width - view.left - 8;
    const x = (ms) => view.left + (ms - view.from) / view.span * room();
    const time = (px) => view.from + (px - view.left) / room() * view.span;
    const whole = () => ({ from: -data.length * 0.02, span: Math.max(data.length * 1.04, 1) });
    const y = (lane) => HEAD + lane * view.lane - board.scrollTop;

    function look(from, span) {
      const all = whole();
      view.span = Math.min(Math.max(span, 5), all.span);
      view.from = Math.min(Math.max(from, all.from), all.from + all.span - view.span);
      soon();
    }

    function zoom(factor, px = view.left + room() / 2) {
      const at = time(px), span = Math.min(Math.max(view.span * factor, 5), whole().span);
      look(at - (px - view.left) / room() * span, span);
    }

    const move = (px) => look(view.from - px / room() * view.span, view.span);

    // --- drawing: once a frame at most, however many events ask for it

    function soon() {
      if (waiting) return;
      waiting = true;
      requestAnimationFrame(() => { waiting = false; draw(); });
    }

    function measure() {
      const ratio = window.devicePixelRatio || 1;
      const narrow = board.clientWidth < NARROW;
      view.width = board.clientWidth;
      view.left = narrow ? 8 : LABELS;
      view.lane = narrow ? TALL_LANE : LANE;
      const full = HEAD + data.lanes.length * view.lane + 6;
      const most = Math.max(Math.round(window.innerHeight * 0.7), HEAD + 3 * view.lane);
      view.height = Math.min(full, most);
      board.style.height = `${view.height}px`;
      figure.querySelector(".all").style.height = `${full}px`;
      canvas.style.height = `${view.height}px`;
      canvas.style.marginBottom = `-${view.height}px`;
      canvas.width = Math.round(view.width * ratio);
      canvas.height = Math.round(view.height * ratio);
      pen.setTransform(ratio, 0, 0, ratio, 0, 0);
      const style = getComputedStyle(figure);
      const name = (colour) => style.getPropertyValue(`--${colour}`).trim();
      colours = Object.fromEntries(Object.entries(COLOURS).map(([k, v]) => [k, name(v)]));
      for (const own of ["ink", "soft", "paper", "rule", "blush", "shade", "blue", "red"]) {
        colours[own] = name(own);
      }
      soon();
    }

    function box(left, top, width, height, colour) {
      pen.fillStyle = colour;
      pen.fillRect(left, top, Math.max(width, 1), height);
      drawn += 1;
    }

    function write(text, left, top, colour, font = "11px system-ui, sans-serif") {
      pen.font = font;
      pen.fillStyle = colour;
      pen.fillText(text, left, top);
    }

    function clipped(left, top, width, height, paint) {
      pen.save();
      pen.beginPath();
      pen.rect(left, top, width, height);
      pen.clip();
      paint();
      pen.restore();
    }

    function draw() {
      drawn = 0;
      pen.clearRect(0, 0, view.width, view.height);
      box(0, 0, view.width, view.height, colours.paper);
      clipped(0, HEAD - 4, view.width, view.height, () => {
        shades();
        grid();
        lanes();
      });
      clipped(view.left - 1, 0, view.width - view.left + 1, HEAD, () => {
        axis();
        rounds();
        harm();
      });
      if (view.left === LABELS) {
        const date = day(data.from + Math.max(view.from, 0), data.dated);
        [date || "time", "rounds", "harm"].forEach((name, k) => {
          write(name, 8, 15 + k * BAND + (k > 0 ? 2 : 0), colours.soft);
        });
      }
      frames += 1;
      figure.dataset.frames = frames;
      figure.dataset.drawn = drawn;
      figure.dataset.span = Math.round(view.span);
    }

    const seen = (item) => item.until >= view.from && item.since <= view.from + view.span;

    function shades() {
      const generations = bands.filter((band) => band.kind === "stable" && seen(band));
      if (generations.length < 200) {
        for (const band of generations) {
          const left = Math.max(x(band.since), view.left);
          box(left, HEAD - 4, x(band.until) - left, view.height, colours.shade);
        }
      }
      for (const mark of marks.filter(seen)) {
        const left = Math.max(x(mark.since), view.left);
        box(left, HEAD - 4, x(mark.until) - left, view.height, colours.blush);
      }
    }

    function* ticks() {
      const step = STEPS.find((s) => s / view.span * room() >= 86) || STEPS[STEPS.length - 1];
      const first = Math.ceil((data.from + view.from) / step) * step;
      for (let ms = first; ms <= data.from + view.from + view.span; ms += step) yield [ms, step];
    }

    function grid() {
      for (const [ms] of ticks()) box(x(ms - data.from), HEAD - 4, 1, view.height, colours.rule);
    }

    function axis() {
      let before = "";
      for (const [ms, step] of ticks()) {
        const left = x(ms - data.from), date = day(ms, data.dated);
        // The first day stands at the left where there is room; a new day stands at its first tick.
        const fresh = before === "" ? view.left !== LABELS : date !== before;
        const text = step >= DAY || (before !== "" && fresh) ? date : clock(ms, step);
        box(left, AXIS - 5, 1, 5, colours.rule);
        write(before === "" && fresh ? `${date} ${text}`.trim() : text, left + 3, AXIS - 7,
          colours.soft);
        before = date || "-";
      }
    }

    function rounds() {
      const heights = { preparing: 16, completing: 13, stable: 8, empty: 3 };
      const at = {};
      for (const band of bands) {
        if (!seen(band)) continue;
        const left = Math.max(x(band.since), view.left), right = x(band.until);
        if (right - left < 1 && at[band.kind] === Math.round(left)) continue;
        at[band.kind] = Math.round(left);
        const height = heights[band.kind];
        box(left, AXIS + BAND - 2 - height, right - left, height, colours[band.kind]);
        const number = /generation (\d+): Stable/.exec(band.text);
        if (number && right - left > 40) {
          write(number[1], left + 4, AXIS + 7, colours.soft, "10px system-ui, sans-serif");
        }
      }
    }

    function harm() {
      let free = 0;
      for (const mark of marks.filter(seen)) {
        const left = Math.max(x(mark.since), view.left);
        box(left, AXIS + BAND + 1, Math.max(x(mark.until) - left, 3), MARK - 6, colours[mark.kind]);
      }
      for (const mark of marks.filter((one) => one.kind === "cause" && seen(one))) {
        const left = Math.max(x(mark.since), view.left);
        if (left < free) continue;
        const text = `${mark.lane}. ${mark.text}`;
        pen.font = "bold 11px system-ui, sans-serif";
        const width = pen.measureText(text).width;
        const fits = Math.min(left + 5, view.width - width - 10);
        const inside = x(mark.until) - left > width + 10;
        if (!inside) box(fits - 1, AXIS + BAND + 1, width + 5, MARK - 6, colours.paper);
        write(text, fits, AXIS + BAND + 12, inside ? colours.paper : colours.red,
          "bold 11px system-ui, sans-serif");
        free = fits + width + 8;
      }
    }

    function lanes() {
      const first = Math.max(0, Math.floor(board.scrollTop / view.lane));
      const last = Math.min(byLane.length, first + Math.ceil(view.height / view.lane) + 1);
      for (let k = first; k < last; k += 1) {
        clipped(view.left - 4, y(k), view.width - view.left + 4, view.lane, () => lane(k));
        const label = short(data.lanes[k], view.left === LABELS ? 26 : 46);
        const top = view.left === LABELS ? y(k) + 19 : y(k) + 11;
        const strong = chosen && chosen.lane === k && !chosen.above;
        write(label, 8, top, strong ? colours.blue : colours.ink);
      }
      place(first, last);
    }

    // Says which lanes are in view, where they are not all.
    function place(first, last) {
      const below = Math.floor((board.scrollTop + view.height - HEAD) / view.lane);
      const until = Math.max(first + 1, Math.min(last, below));
      const all = first === 0 && until >= byLane.length;
      const text = all ? "" : `${first + 1} to ${until} of ${byLane.length} are in view: scroll`;
      if (seenLanes.textContent !== text) seenLanes.textContent = text;
    }

    function lane(k) {
      const at = {}, low = y(k) + view.lane - 12;
      for (const item of byLane[k]) {
        if (!seen(item)) continue;
        const left = x(item.since), right = x(item.until);
        // Level of detail: of one kind, a column of pixels shows one thing.
        if (right - left < 1 && at[item.kind] === Math.round(left)) continue;
        at[item.kind] = Math.round(left);
        if (SPANS.has(item.kind)) span(item, Math.max(left, view.left - 4), right, low);
        else tick(item, left, low);
      }
      if (chosen && chosen.lane === k && !chosen.above) outline(low);
    }

    function span(item, left, right, low) {
      const [down, height] = { member: [2, 3], away: [6, 3] }[item.kind] || [-3, 12];
      box(left, low + down, right - left, height, colours[item.kind]);
      if (item.kind !== "owns" || right - left < 60) return;
      const text = item.text.replace(/^owns /, "").replace(/ in generation -?\d+$/, "");
      clipped(left, low - 4, right - left - 4, 14, () => {
        write(text, left + 4, low + 6, colours.paper, "10px system-ui, sans-serif");
      });
    }

    function tick(item, left, low) {
      pen.strokeStyle = pen.fillStyle = colours[item.kind];
      pen.lineWidth = 2;
      pen.beginPath();
      if (item.kind === "gone" || item.kind === "refused" || item.kind === "trouble") {
        pen.moveTo(left - 4, low - 1);
        pen.lineTo(left + 4, low + 7);
        pen.moveTo(left + 4, low - 1);
        pen.lineTo(left - 4, low + 7);
        pen.stroke();
      } else if (item.kind === "said" || item.kind === "id") {
        pen.rect(left - 1, low + 10, 2, 3);
        pen.fill();
      } else {
        pen.arc(left, low + 3, item.kind === "caused" ? 5 : 4, 0, 7);
        if (item.kind === "left") pen.stroke(); else pen.fill();
      }
      drawn += 1;
    }

    function outline(low) {
      pen.strokeStyle = colours.blue;
      pen.lineWidth = 2;
      if (!chosen.text) return;
      const left = x(chosen.since) - 6;
      pen.strokeRect(left, low - 6, Math.max(x(chosen.until) - left + 6, 12), 17);
    }

    // --- what is under the pointer

    // Everything there, the nearest first.
    function found(px, py) {
      const far = (item) => {
        const left = x(item.since), right = x(item.until);
        return px < left ? left - px : Math.max(px - right, 0);
      };
      const near = (some, above) => some.filter((item) => far(item) <= 6)
        .sort((a, b) => (a.until - a.since) - (b.until - b.since) || far(a) - far(b))
        .slice(0, MOST_CHOSEN).map((item) => ({ ...item, above }));
      if (py < HEAD - 4) return near(py < AXIS + BAND ? bands : marks, true);
      const k = Math.floor((py - HEAD + board.scrollTop) / view.lane);
      if (!byLane[k]) return [];
      const there = near(byLane[k], false);
      return there.length ? there : [{ lane: k, text: "" }];
    }

    // --- what is chosen, in words

    const details = figure.querySelector(".chosen");

    function choose(there) {
      chosen = there[0] || null;
      details.replaceChildren();
      if (chosen && !chosen.above) details.append(...whole_id(data.lanes[chosen.lane]));
      for (const item of there.filter((one) => one.text)) {
        const from = clock(data.from + item.since, 1), until = clock(data.from + item.until, 1);
        const when = item.until > item.since
          ? `${from} to ${until} (${lasted(item.until - item.since)})` : from;
        const line = item.line ? ` · line ${item.line}` : "";
        const date = day(data.from + item.since, data.dated);
        const row = element("p", `${date} ${when}${line}`.trim());
        row.append(element("span", item.text));
        details.append(row);
      }
      soon();
    }

    function element(name, text) {
      const made = document.createElement(name);
      made.textContent = text;
      return made;
    }

    // --- the hand: mouse, fingers, keys

    const fingers = new Map();
    let travelled = 0;
    const at = (event) => {
      const frame = canvas.getBoundingClientRect();
      return [event.clientX - frame.left, event.clientY - frame.top];
    };

    canvas.addEventListener("wheel", (event) => {
      const along = Math.abs(event.deltaX) > Math.abs(event.deltaY);
      if (event.ctrlKey || event.metaKey) zoom(Math.exp(event.deltaY / 300), at(event)[0]);
      else if (event.shiftKey || along) move(-(event.deltaX || event.deltaY));
      else return;
      event.preventDefault();
    }, { passive: false });
    canvas.addEventListener("pointerdown", (event) => {
      canvas.setPointerCapture(event.pointerId);
      if (fingers.size === 0) travelled = 0;
      fingers.set(event.pointerId, at(event));
    });
    canvas.addEventListener("pointermove", (event) => {
      const before = fingers.get(event.pointerId), now = at(event);
      if (!before) {
        canvas.style.cursor = found(...now).length ? "pointer" : "grab";
        return;
      }
      const other = [...fingers].find(([id]) => id !== event.pointerId);
      fingers.set(event.pointerId, now);
      travelled += Math.abs(now[0] - before[0]) + Math.abs(now[1] - before[1]);
      if (other) {
        const old = Math.max(Math.abs(before[0] - other[1][0]), 10);
        zoom(old / Math.max(Math.abs(now[0] - other[1][0]), 10), (now[0] + other[1][0]) / 2);
      } else if (travelled > 4) {
        move(now[0] - before[0]);
      }
    });
    canvas.addEventListener("pointerup", (event) => {
      if (fingers.delete(event.pointerId) && travelled <= 4) choose(found(...at(event)));
    });
    canvas.addEventListener("pointercancel", (event) => fingers.delete(event.pointerId));
    canvas.addEventListener("dblclick", (event) => zoom(0.4, at(event)[0]));
    const keys = {
      "+": () => zoom(0.6), "=": () => zoom(0.6), "-": () => zoom(1 / 0.6),
      "0": () => look(whole().from, whole().span),
      ArrowLeft: () => move(80), ArrowRight: () => move(-80),
    };
    canvas.addEventListener("keydown", (event) => {
      if (!keys[event.key] || event.ctrlKey || event.metaKey) return;
      keys[event.key]();
      event.preventDefault();
    });
    board.addEventListener("scroll", soon);
    for (const button of figure.querySelectorAll("[data-key]")) {
      button.addEventListener("click", () => keys[button.dataset.key]());
    }
    for (const button of document.querySelectorAll(`[data-shows="${figure.dataset.picture}"]`)) {
      button.hidden = false;
      button.addEventListener("click", () => {
        const mark = marks.find((m) => m.lane === Number(button.dataset.claim));
        const span = Math.max((mark.until - mark.since) * 1.6, data.length / 200, 20);
        look((mark.since + mark.until - span) / 2, span);
        figure.scrollIntoView({ block: "center" });
      });
      if (!marks.some((m) => m.lane === Number(button.dataset.claim))) button.hidden = true;
    }

    figure.classList.add("alive");
    new ResizeObserver(measure).observe(board);
    for (const media of ["print", "(prefers-color-scheme: dark)"]) {
      matchMedia(media).addEventListener("change", () => { measure(); draw(); });
    }
    measure();
    look(whole().from, whole().span);
  }

  function whole_id(id) {
    const text = document.createElement("code"), button = document.createElement("button");
    text.textContent = id;
    button.type = "button";
    button.textContent = "copy";
    button.addEventListener("click", () => {
      getSelection().selectAllChildren(text);
      navigator.clipboard?.writeText(id).then(() => { button.textContent = "copied"; });
    });
    return [text, button];
  }

  for (const figure of document.querySelectorAll(".timeline")) start(figure);
})();
