// Packs a folder of Python packages for a browser tab, with their bytecode: a tab would need some
// seconds to compile them. The same Python makes it that the page loads. And it keeps the memory of a
// Python that has begun, so that a tab need not begin one. Then a Python that was begun in the way of
// a tab runs one command, so that no site is built that cannot answer.
// usage: node precompile.mjs PYODIDE_FOLDER PACKAGES_FOLDER TRY_FOLDER
import { writeFileSync } from "node:fs";
import { gzipSync } from "node:zlib";
import { pathToFileURL } from "node:url";
import { resolve } from "node:path";

const [python, packages, page] = process.argv.slice(2).map((path) => resolve(path));
const of = (name) => import(pathToFileURL(name));
const { loadPyodide } = await of(`${python}/pyodide.mjs`);
const { begun, unpacked } = await of(`${page}/boot.js`);
// What the memory has imported. More would begin sooner, but memory packs worse than bytecode: with
// all that a replay imports, the site would transfer 23 MB and not 20.
const IMPORTED = "groupcheck.oracles.command_line.tab";
const create = (await of(`${python}/pyodide.asm.mjs`)).default;

// -- All packages: their names and sizes, then their bytes

const py = await loadPyodide({ indexURL: `${python}/` });
py.FS.mkdir("/tree");
py.FS.mount(py.FS.filesystems.NODEFS, { root: packages }, "/tree");
await py.runPythonAsync(`
import compileall, json, py_compile, site
from pathlib import Path

target = site.getsitepackages()[0]
ok = compileall.compile_dir(
    "/tree", quiet=1, stripdir="/tree", prependdir=target,
    invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH,
)
assert ok, "not all files could be compiled"

def packed(left_out):
    """All files but these."""
    every = [p for p in sorted(Path("/tree").rglob("*")) if p.is_file()]
    files = [p for p in every if p.relative_to("/tree").as_posix() not in left_out]
    names = [[p.relative_to("/tree").as_posix(), p.stat().st_size] for p in files]
    head = json.dumps(names, separators=(",", ":")).encode()
    whole = len(head).to_bytes(4, "little") + head + b"".join(p.read_bytes() for p in files)
    Path("/packed").write_bytes(whole)

packed(())
`);
const every = py.FS.readFile("/packed");

// -- The memory of a Python that has begun

const settings = { indexURL: `${python}/` };
const kept = await loadPyodide({ ...settings, _makeSnapshot: true });
unpacked(kept, every);
kept.runPython(`
import ${IMPORTED}
import gc
gc.collect()
`);
const memory = kept.makeMemorySnapshot();
writeFileSync(`${python}/memory.bin`, gzipSync(memory, { level: 9 }));
writeFileSync(`${python}/memory.js`, `export const LENGTH = ${memory.length};\n`);

// Of what is in that memory no bytecode is loaded.
kept.globals.set("target", kept.runPython("import site; site.getsitepackages()[0]"));
const known = kept.runPython(`
import json
import sys
cached = [getattr(m, "__cached__", None) or m.__spec__ and m.__spec__.cached
          for m in sys.modules.values() if getattr(m, "__spec__", None)]
json.dumps([c.removeprefix(target + "/") for c in cached if c and c.startswith(target)])
`);
py.globals.set("known", known);
await py.runPythonAsync("packed({*json.loads(known)})");
const files = py.FS.readFile("/packed");
writeFileSync(`${python}/groupcheck.bin`, gzipSync(files, { level: 9 }));

// -- A tab

const fresh = await begun(loadPyodide, create, settings, memory, memory.length);
unpacked(fresh, files);
const code = await fresh.runPythonAsync(`
from groupcheck.oracles.command_line.tab import answered
told = answered(["replay", "sample:ghost-members"], "/home", lambda text: None)
assert told.code == 1 and told.out.startswith("broken  group my-group"), told
told.code
`);
process.exit(code === 1 ? 0 : 1);
