// Is what is installed in node_modules what package-lock.json says? Exit 0: yes. Runs on any Node ≥ 20 without dependencies.
// npm keeps what it installed in node_modules/.package-lock.json, so no stamp of ours can go stale.
import { readFileSync } from 'node:fs';

const wanted = packages('package-lock.json');
const installed = packages('node_modules/.package-lock.json');
const missing = Object.entries(wanted).filter(
  ([path, entry]) =>
    path.startsWith('node_modules/') &&
    !entry.optional &&
    !entry.devOptional &&
    (!installed[path] || installed[path].version !== entry.version),
);
process.exit(missing.length === 0 ? 0 : 1);

function packages(file) {
  return JSON.parse(readFileSync(file, 'utf8')).packages;
}
