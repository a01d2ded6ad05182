// Packs a folder of Python packages for a browser tab, with their bytecode: a tab would need some
// seconds to compile them. The same Python makes it that the page loads. Then it runs one command,
// so that no site is built that cannot answer.
// usage: node precompile.mjs PYODIDE_FOLDER PACKAGES_FOLDER OUT.zip
import { writeFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { resolve } from "node:path";

const [python, packages, out] = process.argv.slice(2).map((path) => resolve(path));
const { loadPyodide } = await import(pathToFileURL(`${python}/pyodide.mjs`));
const py = await loadPyodide({ indexURL: `${python}/` });
py.FS.mkdir("/tree");
py.FS.mount(py.FS.filesystems.NODEFS, { root: packages }, "/tree");
await py.runPythonAsync(`
import compileall, io, py_compile, site, sys, zipfile
from pathlib import Path

target = site.getsitepackages()[0]
ok = compileall.compile_dir(
    "/tree", quiet=1, stripdir="/tree", prependdir=target,
    invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH,
)
assert ok, "not all files could be compiled"
packed = io.BytesIO()
with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
    for path in sorted(Path("/tree").rglob("*")):
        if path.is_file():
            name = path.relative_to("/tree").as_posix()
            archive.writestr(zipfile.ZipInfo(name), path.read_bytes(), zipfile.ZIP_DEFLATED)
Path("/packed.zip").write_bytes(packed.getvalue())
`);
const bytes = py.FS.readFile("/packed.zip");
writeFileSync(out, bytes);

const fresh = await loadPyodide({ indexURL: `${python}/` });
const target = fresh.runPython("import site; site.getsitepackages()[0]");
fresh.unpackArchive(bytes, "zip", { extractDir: target });
const code = await fresh.runPythonAsync(`
from groupcheck.oracles.command_line.tab import answered
told = answered(["replay", "sample:ghost-members"], "/home", lambda text: None)
assert told.code == 1 and told.out.startswith("broken  group my-group"), told
told.code
`);
process.exit(code === 1 ? 0 : 1);
