// How Python begins in a tab: with the memory of one that had begun when the site was built, and with
// all packages unpacked from one file. docs/generate/precompile.mjs makes both, and uses this, too.
// (A memory holds the seed of Python's hashes, which so is the same in every tab.)

// A Python with the memory that was kept, of so many bytes. `memory`: a promise of it.
export function begun(loadPyodide, create, settings, memory, length) {
  const whole = new Uint8Array(length); // it is filled once both are there: neither waits
  return loadPyodide({
    ...settings,
    _loadSnapshot: whole,
    createPyodideModule: async (asked) => {
      const [module, bytes] = await Promise.all([create(asked), memory]);
      whole.set(bytes);
      const [, head] = new Uint32Array(whole.buffer, 0, 2); // bytes before the memory itself
      module.growMemory(length - head);
      return module;
    },
  });
}

// Puts all packages where Python looks for them.
export function unpacked(py, bytes) {
  const target = py.runPython("import site; site.getsitepackages()[0]");
  const size = new DataView(bytes.buffer, bytes.byteOffset).getUint32(0, true);
  const names = JSON.parse(new TextDecoder().decode(bytes.subarray(4, 4 + size)));
  const folders = new Set();
  let at = 4 + size;
  for (const [name, length] of names) {
    const end = name.lastIndexOf("/");
    const folder = end < 0 ? target : `${target}/${name.slice(0, end)}`;
    if (!folders.has(folder)) {
      py.FS.mkdirTree(folder);
      folders.add(folder);
    }
    const data = bytes.subarray(at, at + length);
    py.FS.createDataFile(folder, name.slice(end + 1), data, true, true, true);
    at += length;
  }
  py.runPython("import importlib; importlib.invalidate_caches()");
}

// The bytes of a file that is packed as gzip.
export async function fetched(address) {
  const told = await fetch(address);
  if (!told.ok) throw new Error(`${address}: ${told.status}`);
  const plain = told.body.pipeThrough(new DecompressionStream("gzip"));
  return new Uint8Array(await new Response(plain).arrayBuffer());
}
