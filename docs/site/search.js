// A search of the site that finds nothing is done again with words of which one letter may be wrong
// (lunr's `word~1`). The page's own script asks the worker (type 2) and hears of it (type 3).
(() => {
  const QUERY = 2;
  const RESULT = 3;
  const near = (text) => text.replace(/[\p{L}\d]{4,}(?![\p{L}\d~^*:])/gu, "$&~1");

  window.Worker = class extends window.Worker {
    constructor(...given) {
      super(...given);
      this.again = "";
      this.addEventListener("message", (event) => {
        const { type, data } = event.data;
        if (type === RESULT && this.again && !data.items.length) {
          event.stopImmediatePropagation();
          super.postMessage({ type: QUERY, data: this.again });
          this.again = "";
        }
      });
    }

    postMessage(message) {
      if (message.type === QUERY) this.again = near(message.data);
      super.postMessage(message);
    }
  };
})();
