import { createHash } from 'node:crypto';
import { lstatSync, readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';

/** A line for each file of a tree: path, type, mode, owner, and what it holds. Times are left out. */
export function treeListing(root: string, skip: (path: string) => boolean = () => false): string[] {
  const lines: string[] = [];
  const walk = (path: string): void => {
    for (const name of readdirSync(join(root, path)).sort()) {
      const inside = `${path}/${name}`;
      if (skip(inside)) continue;
      const at = join(root, inside);
      const stat = lstatSync(at);
      const type = stat.isDirectory() ? 'dir' : stat.isSymbolicLink() ? 'link' : stat.isFile() ? 'file' : 'other';
      const held = type === 'link' ? readlinkSync(at) : type === 'file' ? digest(readFileSync(at)) : '';
      const mode = type === 'link' ? '' : (stat.mode & 0o7777).toString(8);
      lines.push(`${inside} ${type} ${mode} ${stat.uid}:${stat.gid} ${held}`);
      if (type === 'dir') walk(inside);
    }
  };
  walk('');
  return lines;
}

function digest(content: Buffer): string {
  return createHash('sha256').update(content).digest('hex').slice(0, 16);
}
