// Texts in the fragment of an address, which no browser sends to a server.
const MOST = 1024 * 1024; // characters: a short link may unpack to a huge text

async function through(stream, bytes) {
  const out = new Blob([bytes]).stream().pipeThrough(stream);
  return new Uint8Array(await new Response(out).arrayBuffer());
}

export async function packed(value) {
  const bytes = new TextEncoder().encode(JSON.stringify(value));
  const small = await through(new CompressionStream("deflate-raw"), bytes);
  const text = btoa(Array.from(small, (byte) => String.fromCharCode(byte)).join(""));
  return text.replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
}

// Throws for what `packed` has not made.
export async function unpacked(text) {
  const plain = atob(text.replaceAll("-", "+").replaceAll("_", "/"));
  const small = Uint8Array.from(plain, (c) => c.charCodeAt(0));
  if (small.length * 1000 > MOST * 100) throw new Error("too long");
  const bytes = await through(new DecompressionStream("deflate-raw"), small);
  if (bytes.length > MOST) throw new Error("too long");
  return JSON.parse(new TextDecoder().decode(bytes));
}
