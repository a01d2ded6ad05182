// A Python of one tab of the page: a worker that is started when it is needed, ended by Stop, and
// started anew.
const HERE = new URL("./", import.meta.url).href;

export class Python {
  // `hear` is told { kind: "ready" | "meter" | "told" | "answer" | "failed" | "stopped", ... }
  // `name`: of the tab, which the worker is called by
  constructor(name, hear) {
    this.name = name;
    this.hear = hear;
    this.worker = null;
    this.ready = false;
    this.busy = false;
  }

  start() {
    if (this.worker) return;
    // A worker from a blob keeps the page's policy. One that is loaded by its address has the policy
    // of its own headers, which a static host may not send.
    const code = `import ${JSON.stringify(`${HERE}worker.js`)};`;
    const address = URL.createObjectURL(new Blob([code], { type: "text/javascript" }));
    const worker = new Worker(address, { type: "module", name: this.name });
    worker.onmessage = ({ data }) => {
      if (worker !== this.worker) return;
      if (data.kind === "ready") {
        this.ready = true;
        URL.revokeObjectURL(address);
      }
      if (data.kind === "failed") this.end();
      if (data.kind === "told") this.busy = false;
      this.hear(data);
    };
    worker.onerror = (event) => {
      if (worker !== this.worker) return;
      this.end();
      this.hear({ kind: "failed", text: event.message || "Python cannot be loaded" });
    };
    this.worker = worker;
  }

  end() {
    this.worker?.terminate();
    this.worker = null;
    this.ready = this.busy = false;
  }

  stop() {
    this.end();
    this.hear({ kind: "stopped" });
    this.start();
  }

  // A question of the page of a walk; the answer is told with its number.
  ask(number, question) {
    this.worker?.postMessage({ number, question });
  }

  // words: a command without `groupcheck`; files: [{ name, bytes }]
  run(words, files) {
    this.start();
    this.busy = true;
    this.worker.postMessage({ words, files }, files.map(({ bytes }) => bytes));
  }
}
