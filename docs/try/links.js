// Texts in the fragment of an address, which no browser sends to a server.
const MOST = 1024 * 1024; // bytes: a short link may unpack to a huge text

// Throws as soon as more than `most` bytes have come out.
async function through(stream, bytes, most) {
  const pieces = [];
  let sum = 0;
  const reader = new Blob([bytes]).stream().pipeThrough(stream).getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return new Uint8Array(await new Blob(pieces).arrayBuffer());
    sum += value.length;
    if (sum > most) {
      await reader.cancel();
      throw new Error("too long");
    }
    pieces.push(value);
  }
}

export async function packed(value) {
  const bytes = new TextEncoder().encode(JSON.stringify(value));
  const small = await through(new CompressionStream("deflate-raw"), bytes, Infinity);
  const text = btoa(Array.from(small, (byte) => String.fromCharCode(byte)).join(""));
  return text.replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
}

// Throws for what `packed` has not made.
export async function unpacked(text) {
  const plain = atob(text.replaceAll("-", "+").replaceAll("_", "/"));
  const small = Uint8Array.from(plain, (c) => c.charCodeAt(0));
  const bytes = await through(new DecompressionStream("deflate-raw"), small, MOST);
  return JSON.parse(new TextDecoder().decode(bytes));
}
