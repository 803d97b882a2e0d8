// Lets search run where the site is opened from a folder: browsers start no worker there, so an
// iframe stands in for it.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      this.frame = document.createElement("iframe");
      this.frame.hidden = true;
      document.body.append(this.frame);
      this.inner = this.frame.contentWindow;
      this.ready = new Promise((done) => { this.begin = done; });
      window.addEventListener("message", (event) => {
        if (event.source !== this.inner) return;
        if (event.data === "ready") return this.begin();
        const copy = new MessageEvent("message", { data: event.data });
        this.dispatchEvent(copy);
        if (this.onmessage) this.onmessage(copy);
      });
      const page = this.inner.document;
      page.open();
      page.write(
        "<script>postMessage = (data) => parent.postMessage(data, '*');" +
          "importScripts = (...urls) => Promise.all(urls.map((url) => new Promise((done) => {" +
          "const script = document.createElement('script');" +
          "script.src = url; script.onload = done; document.body.append(script); })));" +
          "</" + "script><script src='" + url + "'></" + "script>" +
          "<body><script>parent.postMessage('ready', '*')</" + "script>",
      );
      page.close();
    }
    postMessage(data) {
      this.ready.then(() => this.inner.dispatchEvent(new MessageEvent("message", { data })));
    }
    terminate() {
      this.frame.remove();
    }
  };
}
