// The page: what is pasted, dropped or written becomes a command of groupcheck for a worker, and the
// answer is shown. Texts become text nodes, never markup. The answer's page is a document of its own
// in a sandboxed frame, of another origin than this page, under this page's policy.
import { Python } from "./python.js";
import { files as dropped, toFiles } from "./files_of.js";
import { packed, unpacked } from "./links.js";
import { editor } from "./editor.js";

const $ = (id) => document.getElementById(id);
const VERSION = "1"; // of what a link holds
const WORDS = {
  log: { 0: "calm", 1: "trouble", 2: "cannot be read", 3: "the log shows too little" },
  write: { 0: "holds", 1: "violated", 2: "an error", 3: "unknown" },
  walk: { 0: "a walk", 2: "an error" },
};
// Each tab has a Python of its own: code that came with a link never shares one with a log.
const tabs = { log: {}, write: {}, walk: {} };
const LOADING = "Python is loading…";
const AGAIN = "Stopped. Python starts again…";
let shown = "log";
let offered = { samples: [], examples: [], variants: [] };

for (const [name, tab] of Object.entries(tabs)) {
  tab.state = LOADING;
  tab.answer = null;
  tab.python = new Python(name, (data) => hear(name, data));
}

function hear(name, data) {
  const tab = tabs[name];
  if (data.kind === "answer") {
    $("page").contentWindow?.postMessage({ number: data.number, answer: data.answer }, "*");
    return;
  }
  if (data.kind === "ready") {
    performance.mark("ready");
    // Not before: what it fetches would be in the way of Python.
    navigator.serviceWorker?.register("sw.js", { updateViaCache: "none" }).catch(() => {});
    // What a link or a file has led to stays.
    if ([LOADING, AGAIN].includes(tab.state)) tab.state = "Python is ready.";
  } else if (data.kind === "meter") tab.meter = data.text;
  else if (data.kind === "stopped") tab.state = AGAIN;
  else if (data.kind === "failed") tab.state = `Python has failed: ${data.text}`;
  else if (data.kind === "told") {
    const seconds = (performance.now() - tab.began) / 1000;
    tab.state = `Answered in ${seconds.toFixed(1)} s.`;
    tab.answer = data;
    if (name === "write") pad.mark(lineOf(data.err));
  }
  draw();
  if (data.kind !== "told") return;
  performance.mark("answered");
  const below = $("answer").getBoundingClientRect().top > innerHeight * 0.6;
  // A mistake is mended above, and its line is marked there.
  if (name === shown && below) $("answer").scrollIntoView({ block: data.err ? "nearest" : "start" });
}

function run(name, words, files) {
  const tab = tabs[name];
  if (tab.python.busy) tab.python.stop();
  tab.began = performance.now();
  tab.answer = null;
  tab.meter = tab.python.ready ? "starting" : "Python is loading";
  tab.state = "";
  tab.python.run(words, files);
  draw();
}

function draw() {
  const { answer, python, state } = tabs[shown];
  for (const name of Object.keys(tabs)) {
    $(name).hidden = name !== shown;
    $(`tab-${name}`).setAttribute("aria-selected", String(name === shown));
  }
  $("state").textContent = python.busy ? "" : state;
  $("meter").hidden = !python.busy;
  tick();
  $("answer").hidden = !answer;
  if (answer) show(answer);
  else $("page").removeAttribute("srcdoc");
}

function tick() {
  const { python, meter, began } = tabs[shown];
  if (!python.busy) return;
  $("progress").textContent = `${meter}  (${((performance.now() - began) / 1000).toFixed(0)} s)`;
}
setInterval(tick, 500);

function show(answer) {
  const wanted = shown === "walk" || $("show-page").getAttribute("aria-pressed") === "true";
  const asPage = answer.page && wanted;
  // A walk is no verdict, so that the code with which it ends says nothing.
  const code = shown === "walk" && answer.code === 0 ? "" : ` (exit code ${answer.code})`;
  $("code").textContent = `${WORDS[shown][answer.code] ?? "?"}${code}`;
  $("error").hidden = !answer.err;
  $("error").textContent = answer.err;
  $("out").hidden = asPage || !answer.out;
  $("out").textContent = answer.out;
  $("page").hidden = !asPage;
  if ($("page").srcdoc !== answer.page) $("page").srcdoc = answer.page;
  // The page of a walk asks Python, and is nothing by itself.
  const isWhole = answer.page && shown !== "walk";
  for (const id of ["show-page", "show-text", "save-page"]) $(id).hidden = !isWhole;
  $("save-text").hidden = !answer.out;
}

function choose(name) {
  shown = name;
  tabs[name].python.start();
  draw();
}

for (const name of Object.keys(tabs)) $(`tab-${name}`).onclick = () => choose(name);
document.querySelector("[role=tablist]").addEventListener("keydown", (event) => {
  const names = Object.keys(tabs);
  const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
  if (!step) return;
  const next = names[(names.indexOf(shown) + step + names.length) % names.length];
  choose(next);
  $(`tab-${next}`).focus();
});
for (const id of ["show-page", "show-text"]) {
  $(id).onclick = () => {
    $("show-page").setAttribute("aria-pressed", String(id === "show-page"));
    $("show-text").setAttribute("aria-pressed", String(id === "show-text"));
    draw();
  };
}
$("stop").onclick = () => tabs[shown].python.stop();

function save(name, text, type) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}
$("save-page").onclick = () => save("groupcheck.html", tabs[shown].answer.page, "text/html");
$("save-text").onclick = () => save("groupcheck.txt", tabs[shown].answer.out, "text/plain");

// -- Paste a log

function replay(names, files) {
  const group = $("group").value.trim();
  // A name that begins with a dash would be an option, and `sample:` would name a sample.
  const safe = names.map((name) => (/^(-|sample:)/.test(name) ? `./${name}` : name));
  run("log", ["replay", ...(group ? ["--group", group] : []), "--", ...safe], files);
}

function replaySample(name) {
  $("sample-told").textContent = offered.samples.find((one) => one.name === name)?.doc ?? "";
  const group = $("group").value.trim();
  run("log", ["replay", ...(group ? ["--group", group] : []), `sample:${name}`], []);
}

async function replayFiles(found) {
  if (!found.length) return;
  $("sample-told").textContent = `${found.length} file(s): ${found.slice(0, 3).map((f) => f.name).join(", ")}`;
  replay([...new Set(found.map(({ name }) => name.split("/")[0]))], await toFiles(found));
}

// Says why what was chosen or dropped cannot be read: too much, or no right to read it.
async function orSay(replayed) {
  try {
    await replayed();
  } catch (error) {
    tabs.log.state = `It cannot be read: ${error.message}`;
    draw();
  }
}

$("replay").onclick = () => {
  $("sample-told").textContent = "";
  const bytes = new TextEncoder().encode($("pasted").value).buffer;
  replay(["pasted.log"], [{ name: "pasted.log", bytes }]);
};
$("samples").onchange = ({ target }) => target.value && replaySample(target.value);
for (const kind of ["files", "folder"]) {
  $(`choose-${kind}`).onclick = () => $(kind).click();
  $(kind).onchange = async ({ target }) => {
    const found = [...target.files];
    await orSay(() =>
      replayFiles(found.map((file) => ({ name: file.webkitRelativePath || file.name, file })))
    );
    target.value = "";
  };
}
addEventListener("dragover", (event) => {
  if (shown !== "log") return;
  event.preventDefault();
  document.body.classList.add("dropping");
});
addEventListener("dragleave", () => document.body.classList.remove("dropping"));
addEventListener("drop", async (event) => {
  document.body.classList.remove("dropping");
  if (shown !== "log" || !event.dataTransfer.types.includes("Files")) return;
  event.preventDefault();
  await orSay(async () => replayFiles(await dropped(event.dataTransfer)));
});

// -- Write

const pad = editor($("text"), $("numbers"));

function lineOf(said) {
  const file = $("file").textContent.replaceAll(".", "\\.");
  const told = new RegExp(`${file}, line (\\d+)`).exec(said);
  if (told) return Number(told[1]);
  // An error about a rule or a promise as a whole names its function.
  const named = /error: (?:rule|invariant|goal|end|promise) (\w+)/.exec(said);
  const lines = $("text").value.split("\n");
  return named ? lines.findIndex((line) => line.startsWith(`def ${named[1]}(`)) + 1 : 0;
}

let linked = { key: "", text: "" }; // where the walk of a link stands, and of which text

function write({ file = "protocol.py", name, settings = "", text, key = "" }) {
  linked = { key: /^gc1-[0-9.]{1,8000}$/.test(key) ? key : "", text };
  $("file").textContent = /^[\w-]+\.py$/.test(file) ? file : "protocol.py";
  $("name").value = name;
  $("settings").value = settings;
  pad.set(text);
  tabs.write.answer = null;
}

$("examples").onchange = ({ target }) => {
  $("from-link").hidden = true;
  write(offered.examples[target.value]);
  draw();
};
$("check").onclick = () => {
  const file = $("file").textContent;
  const settings = $("settings").value.split(/\s+/).filter(Boolean);
  const words = ["check", `${file}:${$("name").value.trim()}`, "--engine", "plain"];
  for (const one of settings) words.push("--set", one);
  if ($("most-states").value.trim()) words.push("--max-states", $("most-states").value.trim());
  if ($("most-seconds").value.trim()) words.push("--max-seconds", $("most-seconds").value.trim());
  pad.mark(0);
  run("write", words, [{ name: file, bytes: new TextEncoder().encode(pad.text()).buffer }]);
};
// What a link to a protocol holds.
function held() {
  const [name, settings] = [$("name").value, $("settings").value];
  return { file: $("file").textContent, name, settings, text: pad.text() };
}

async function linkTo(protocol) {
  history.replaceState(null, "", `#${VERSION}/write/${await packed(protocol)}`);
}

$("share").onclick = async () => {
  await linkTo(held());
  try {
    await navigator.clipboard.writeText(location.href);
    $("shared").textContent = "The link is copied; it holds the whole text.";
  } catch {
    $("shared").textContent = "The address of this page is the link now; it holds the whole text.";
  }
};

// -- Walk

// The protocol from the editor that is walked, with the key of the state; null for one of Kafka's.
// Its link is one to the editor, which holds the text, and where Walk begins then.
let own = null;

function walk(words, files, protocol = null) {
  own = protocol;
  choose("walk");
  run("walk", ["explore", ...words], files);
}

$("begin").onclick = () => {
  const options = $("options").value.split(/\s+/).filter(Boolean);
  walk([$("variants").value, ...options], []);
};
$("walk-it").onclick = () => {
  const file = $("file").textContent;
  const settings = $("settings").value.split(/\s+/).filter(Boolean);
  const words = [`${file}:${$("name").value.trim()}`, ...settings.flatMap((one) => ["--set", one])];
  if (linked.key && linked.text === pad.text()) words.push("--from", linked.key);
  walk(words, [{ name: file, bytes: new TextEncoder().encode(pad.text()).buffer }], held());
};
addEventListener("message", async ({ source, data }) => {
  if (source !== $("page").contentWindow || shown !== "walk") return;
  if (typeof data.question === "string") tabs.walk.python.ask(data.number, data.question);
  else if (typeof data.link === "string") {
    if (own) own.key = data.link.slice(data.link.lastIndexOf("key=") + 4);
    else history.replaceState(null, "", `#${VERSION}/walk/${data.link}`);
  } else if (data.copy) {
    if (own) await linkTo(own);
    await navigator.clipboard.writeText(location.href).catch(() => {});
  }
});

// -- Links: #1/log/NAME opens a sample, #1/write/TEXT a protocol, #1/walk/LINK a walk

async function follow() {
  const [version, tab, ...rest] = location.hash.slice(1).split("/");
  const told = rest.join("/");
  if (!tab) return;
  if (version !== VERSION || !Object.hasOwn(tabs, tab)) {
    tabs[shown].state = "The link is of another version of this page, or is damaged.";
    return;
  }
  choose(tab);
  if (tab === "log" && told) {
    if (offered.samples.some(({ name }) => name === told)) {
      $("samples").value = told;
      replaySample(told);
    } else tabs.log.state = "There is no such sample.";
  }
  if (tab === "walk" && told) walk(["--from", decodeURI(told)], []);
  if (tab === "write" && told) {
    try {
      const { file, name, settings, text, key } = await unpacked(told);
      if (![name, settings, text].every((one) => typeof one === "string")) throw new Error();
      write({ file: String(file), name, settings, text, key: String(key ?? "") });
      $("from-link").hidden = false;
      $("at-state").hidden = !linked.key;
    } catch {
      tabs.write.state = "The link is damaged: its text cannot be read.";
    }
  }
}

async function begin() {
  const wanted = location.hash.split("/")[1];
  tabs[Object.hasOwn(tabs, wanted) ? wanted : "log"].python.start(); // while the rest loads
  const told = await fetch("offered.json").catch(() => null);
  if (!told?.ok) {
    $("state").textContent = location.protocol === "file:"
      ? "This page needs a web server, such as: python -m http.server --directory build/site"
      : "This site was built without Python in it (make site builds it).";
    tabs.log.python.end();
    return;
  }
  offered = await told.json();
  for (const { name } of offered.samples) $("samples").append(new Option(name, name));
  offered.examples.forEach(({ title }, k) => $("examples").append(new Option(title, String(k))));
  for (const name of offered.variants) $("variants").append(new Option(name, name));
  $("variants").value = "classic";
  write(offered.examples[0]);
  await follow();
  draw();
}
addEventListener("hashchange", () => follow().then(draw));
begin();
