// Keeps the files of this folder, so that later visits need no network. A new version of the site
// has another list, which a browser notices, and takes over when no tab shows the old one.
// Any page of this origin can write to the cache: what is served has the digest of the list, and the
// headers of this file.
importScripts("files.js");

const { VERSION, FILES, POLICY } = self; // FILES: the digest of each, by its name
const NAME = `groupcheck-try-${VERSION}`;
const KINDS = {
  bin: "application/octet-stream",
  css: "text/css",
  js: "text/javascript",
  json: "application/json",
  mjs: "text/javascript",
  zip: "application/zip",
};

async function isOwn(name, bytes) {
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
  return btoa(String.fromCharCode(...digest)) === FILES[name];
}

// A file of the list; throws if the site has another, or cannot be asked.
async function keep(name) {
  // A host lets browsers keep a file for some minutes: this one asks whether it is still the same.
  const told = await fetch(new Request(name, { cache: "no-cache" }));
  if (!told.ok || !(await isOwn(name, await told.clone().arrayBuffer()))) {
    throw new Error(`${name} is of another version`);
  }
  await (await caches.open(NAME)).put(name, told.clone());
  return told;
}

async function kept(name) {
  const told = await (await caches.open(NAME)).match(name);
  return told && (await isOwn(name, await told.clone().arrayBuffer())) ? told : keep(name);
}

async function answer(name, request) {
  let told;
  try {
    told = await kept(name);
  } catch {
    return fetch(request); // the site has a new version, which its own worker will keep
  }
  // A browser may keep compiled code beside it. Nothing asks for its headers or its address.
  if (name.endsWith(".wasm")) return told;
  // Without the address that it was kept from: imports of a module begin there.
  const headers = {
    "Content-Type": KINDS[name.split(".").at(-1)] ?? "text/html; charset=utf-8",
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
  };
  return new Response(told.body, { headers });
}

self.addEventListener("install", (event) => {
  event.waitUntil(Promise.all(Object.keys(FILES).map(keep)));
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
  const { method, url } = event.request;
  const { origin, pathname } = new URL(url);
  const address = origin + pathname;
  const { scope } = self.registration;
  if (method !== "GET" || !address.startsWith(scope)) return;
  const name = address.slice(scope.length) || "./";
  if (Object.hasOwn(FILES, name)) event.respondWith(answer(name, event.request));
});
