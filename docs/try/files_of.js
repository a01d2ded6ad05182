// Files that were chosen or dropped, folders with all that is in them.
const MOST = 512 * 1024 * 1024; // bytes: Python has 2 GB in a tab, and a log is there more than once

async function below(entry, prefix) {
  const name = prefix + entry.name;
  if (entry.isFile) {
    const file = await new Promise((done, failed) => entry.file(done, failed));
    return [{ name, file }];
  }
  const reader = entry.createReader();
  const found = [];
  for (;;) {
    // At most a hundred at once.
    const some = await new Promise((done, failed) => reader.readEntries(done, failed));
    if (!some.length) return found;
    for (const one of some) found.push(...(await below(one, `${name}/`)));
  }
}

// [{ name, file }] of what was dropped
export async function files(transfer) {
  const entries = [...transfer.items].map((item) => item.webkitGetAsEntry()).filter(Boolean);
  const found = [];
  for (const entry of entries) found.push(...(await below(entry, "")));
  return found;
}

// [{ name, bytes }]; throws if there are too many bytes
export async function toFiles(found) {
  const bytes = found.reduce((sum, { file }) => sum + file.size, 0);
  if (bytes > MOST) throw new Error("more than 512 MB: use the command line");
  return Promise.all(
    found.map(async ({ name, file }) => ({ name, bytes: await file.arrayBuffer() }))
  );
}
