// Python in a worker: it loads from this folder, takes commands of groupcheck, and answers as the
// command line does. The page may end the worker at any moment; that is what Stop does.
import { begun, fetched, unpacked } from "./boot.js";
import { LENGTH } from "./python/memory.js";
import create from "./python/pyodide.asm.mjs";
import { loadPyodide } from "./python/pyodide.mjs";

const PYTHON = new URL("./python/", import.meta.url).href;
const ASKED = "/asked"; // the folder that a command runs in, with the user's files alone
const PAGE = "/page.html";
// What outlives the worker, or reaches another worker or tab, each name where a browser has it. A
// worker has the page's origin: code from a link could put a page of its own into the cache of the
// service worker, and that page would see later logs. New workers would have all of this anew.
const LASTING = {
  self: [
    "caches", "indexedDB", "cookieStore", "Worker", "SharedWorker", "BroadcastChannel",
    "webkitRequestFileSystem", "webkitRequestFileSystemSync",
    "webkitResolveLocalFileSystemURL", "webkitResolveLocalFileSystemSyncURL",
  ],
  navigator: ["storage", "storageBuckets", "serviceWorker", "locks", "webkitTemporaryStorage",
    "webkitPersistentStorage"],
};

// Throws where a browser does not let a name go: then no command runs.
function forget() {
  for (const [name, names] of Object.entries(LASTING)) {
    for (let owner = self[name]; owner; owner = Object.getPrototypeOf(owner)) {
      for (const one of names) delete owner[one];
    }
    for (const one of names) {
      if (one in self[name]) throw new Error(`${one} cannot be taken from the worker`);
    }
  }
}

async function start() {
  const packages = fetched(`${PYTHON}groupcheck.bin`);
  packages.catch(() => {}); // it is told below
  const settings = { indexURL: PYTHON };
  const memory = fetched(`${PYTHON}memory.bin`);
  const py = await begun(loadPyodide, create, settings, memory, LENGTH);
  forget();
  unpacked(py, await packages);
  const tab = py.pyimport("groupcheck.oracles.command_line.tab");
  return { py, tab };
}

function put(py, files) {
  py.runPython(`import shutil; shutil.rmtree(${JSON.stringify(ASKED)}, ignore_errors=True)`);
  py.FS.mkdirTree(ASKED);
  for (const { name, bytes } of files) {
    const path = `${ASKED}/${name}`;
    py.FS.mkdirTree(path.slice(0, path.lastIndexOf("/")));
    py.FS.writeFile(path, new Uint8Array(bytes));
  }
}

let walk = null; // that the page in the frame asks

function begin({ py, tab }, { words, files }) {
  put(py, files);
  const asked = py.toPy(words.slice(1));
  walk?.destroy();
  walk = tab.walked(asked, ASKED);
  asked.destroy();
  const { told, page } = walk;
  const { code, out, err } = told;
  told.destroy();
  return { code, out: page ? "" : out, err, page };
}

function run({ py, tab }, { words, files }) {
  put(py, files);
  if (py.FS.analyzePath(PAGE).exists) py.FS.unlink(PAGE);
  const hear = (text) => postMessage({ kind: "meter", text });
  const asked = py.toPy([...words.slice(0, 1), "--html", PAGE, ...words.slice(1)]);
  const told = tab.answered(asked, ASKED, hear);
  const { code, out, err } = told;
  asked.destroy();
  told.destroy();
  const page = py.FS.analyzePath(PAGE).exists ? py.FS.readFile(PAGE, { encoding: "utf8" }) : "";
  return { code, out, err: err.replace(`groupcheck: wrote ${PAGE}\n`, ""), page };
}

// What a first answer has to import and to read takes longer than the answer. It is done before it
// is asked for: a small log is replayed, and what that has read stays.
function warm({ tab, py }) {
  const words = py.toPy(["replay", "sample:console-group", "--html", PAGE]);
  tab.answered(words, "/home").destroy();
  words.destroy();
}

const started = start();
let isAsked = false;
started.then(
  (python) => {
    postMessage({ kind: "ready" });
    setTimeout(() => {
      if (!isAsked && self.name === "log") warm(python);
    });
  },
  (error) => postMessage({ kind: "failed", text: String(error.message ?? error) })
);
self.onmessage = async ({ data }) => {
  isAsked = true;
  try {
    const python = await started;
    if (data.question) {
      postMessage({ kind: "answer", number: data.number, answer: walk.ask(data.question) });
    } else {
      const told = data.words[0] === "explore" ? begin(python, data) : run(python, data);
      postMessage({ kind: "told", ...told });
    }
  } catch (error) {
    // Python itself has failed, as when it runs out of memory: nothing is left that could answer.
    postMessage({ kind: "failed", text: String(error.message ?? error).slice(-600) });
  }
};
