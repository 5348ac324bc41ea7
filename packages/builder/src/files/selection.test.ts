import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ignoreRules } from '@vivarium/protocol/ignore-rules.ts';
import { SelectionError, selectionDigest, selectSources } from './selection.ts';
import { type FileNode, FileTree } from './tree.ts';

const node = (type: FileNode['type'], more: Partial<FileNode> = {}): FileNode => ({
  type,
  mode: type === 'dir' ? 0o755 : 0o644,
  uid: 0,
  gid: 0,
  mtimeNs: 0n,
  size: 0,
  link: '',
  digest: '',
  async *read() {},
  ...more,
});

function tree(): FileTree {
  const result = new FileTree();
  for (const path of ['a.txt', 'b.txt', 'dir/c.txt', 'dir/sub/d.txt', 'x/y/z'])
    result.set(path, node('file', { digest: path }));
  result.set('link', node('symlink', { link: 'dir/sub' }));
  result.set('out', node('symlink', { link: '../../etc/passwd' }));
  result.set('abs', node('symlink', { link: '/a.txt' }));
  result.set('loop', node('symlink', { link: 'loop' }));
  return result;
}
const shown = (sources: string[], options = {}) =>
  selectSources(tree(), sources, options).map(
    ({ name, entries }) => `${name}: ${entries.map(({ path }) => path || '.').join(' ')}`,
  );

test('sources are files, directories with all in them, or patterns', () => {
  assert.deepEqual(shown(['a.txt', './dir/']), ['a.txt: .', 'dir: . c.txt sub sub/d.txt']);
  assert.deepEqual(shown(['*.txt']), ['a.txt: .', 'b.txt: .']);
  assert.deepEqual(shown(['**/*.txt']), ['a.txt: .', 'b.txt: .', 'c.txt: .', 'd.txt: .']);
  assert.deepEqual(shown(['d*']), ['dir: . c.txt sub sub/d.txt']);
  assert.equal(selectSources(tree(), ['/'])[0]!.entries.length, 14);
});

test('a source that is a link is what it leads to, and never leads out', () => {
  assert.deepEqual(shown(['link']), ['link: . d.txt']);
  assert.deepEqual(shown(['link/d.txt', 'abs']), ['d.txt: .', 'abs: .']);
  for (const source of ['out', 'loop', 'nothing', 'no*thing', '../x', 'dir/../../x', 'a['])
    assert.throws(() => shown([source]), SelectionError, source);
});

test('parents are kept from the pivot on, what is excluded stays behind', () => {
  assert.deepEqual(shown(['x/y/z', 'x/./y/z'], { parents: true }), ['x/y/z: .', 'y/z: .']);
  assert.deepEqual(shown(['dir'], { exclude: ignoreRules(['sub', '!sub/d.txt']) }), ['dir: . c.txt sub/d.txt']);
  assert.deepEqual(shown(['*.txt'], { exclude: ignoreRules(['b*']) }), ['a.txt: .', 'b.txt: ']);
});

test('the digest changes with names, modes, contents and links, not with times', () => {
  const digest = (change: (at: FileTree) => void) => {
    const changed = tree();
    change(changed);
    return selectionDigest(selectSources(changed, ['/']));
  };
  const before = digest(() => {});
  const with_ = (more: Partial<FileNode>) =>
    digest((at) => at.set('a.txt', node('file', { digest: 'a.txt', ...more })));
  assert.equal(with_({ mtimeNs: 5n }), before);
  const others = [
    with_({ mode: 0o755 }),
    with_({ digest: 'other' }),
    with_({ uid: 1 }),
    digest((at) => at.set('new', node('file'))),
  ];
  others.push(digest((at) => at.set('link', node('symlink', { link: 'dir' }))));
  assert.equal(new Set([before, ...others]).size, others.length + 1);
});
