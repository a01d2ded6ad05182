// Keeps the files of this folder, so that later visits need no network. A new version of the site
// has another list, which a browser notices, and takes over when no tab shows the old one.
importScripts("files.js");

const NAME = `groupcheck-try-${self.VERSION}`;

self.addEventListener("install", (event) => {
  event.waitUntil(caches.open(NAME).then((cache) => cache.addAll(self.FILES)));
});

self.addEventListener("activate", (event) => {
  event.waitUntil(
    (async () => {
      const old = (await caches.keys()).filter(
        (name) => name.startsWith("groupcheck-try-") && name !== NAME
      );
      await Promise.all(old.map((name) => caches.delete(name)));
      await self.clients.claim();
    })()
  );
});

self.addEventListener("fetch", (event) => {
  if (event.request.method !== "GET") return;
  event.respondWith(
    (async () => {
      const cache = await caches.open(NAME);
      return (await cache.match(event.request, { ignoreSearch: true })) ?? fetch(event.request);
    })()
  );
});
