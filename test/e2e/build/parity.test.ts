// biome-ignore-all lint/suspicious/noTemplateCurlyInString: variables of Dockerfiles are what is tested
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { chmodSync, lutimesSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { packContext } from '@vivarium/sdk/node';
import { busyboxTar } from '../../harness/busybox.ts';
import { startTestNode, type TestNode } from '../../harness/node.ts';
import { treeListing } from '../../harness/tree-listing.ts';

const BASE = 'base/busybox@1';
const THEIRS = 'localhost/busybox';

/** What a builder or a sandbox puts there while it runs. */
const runtime = (path: string) => /^\/(dev|proc|sys|run|etc\/(resolv\.conf|hosts|hostname))(\/|$)/.test(path);

/** Dockerfiles, without their FROM. Each one must give the same files as buildah gives. */
const CASES: Record<string, string> = {
  'a file to a directory that is there, one that is not, and a new name':
    'COPY a.txt /tmp/\nCOPY a.txt /new/dir/\nCOPY a.txt /other/name.txt',
  'a file to a directory without a slash': 'COPY a.txt /tmp\nCOPY a.txt /nothing',
  'the content of a directory, its links as links': 'COPY dir /x\nCOPY dir /tmp/\nCOPY dir/ /y/',
  everything: 'COPY . /all/',
  'several sources': 'COPY a.txt dir/one.sh dir/sub /many/',
  patterns: 'COPY *.txt /p/\nCOPY dir/??e.sh /q/\nCOPY dir/[a-z]*.sh /r/\nCOPY d*/sub /s/',
  'a working directory that is made': 'WORKDIR /w/deep\nCOPY a.txt .\nWORKDIR sub\nCOPY a.txt b.txt\nRUN pwd > here',
  'owners by number and by name':
    'COPY --chown=1000:1001 dir /o1\nCOPY --chown=app:staff dir /o2\nCOPY --chown=7:8 a.txt /o4/deep/',
  modes: 'COPY --chmod=0751 a.txt /m1\nCOPY --chmod=600 dir/one.sh /m2/',
  'a file over a file, over a link, into a linked directory':
    'RUN echo old > /f && chmod 700 /f && ln -s /f /l\nCOPY a.txt /f\nCOPY a.txt /l\nCOPY a.txt /data/\nCOPY dir /data/more/',
  'a directory over one that is there': 'RUN mkdir -p /x/sub && chmod 700 /x /x/sub && echo k > /x/kept\nCOPY dir /x',
  'archives are unpacked by ADD only':
    'ADD t.tar.gz /add/\nCOPY t.tar.gz /copy/\nADD t.tar /add2/\nADD t.tar.xz /add3/\nADD a.txt /add4/',
  'another stage':
    'AS one\nRUN mkdir -p /out/in && echo x > /out/in/f && chown 3:4 /out/in/f && ln -s in /out/l\nFROM $BASE\nCOPY --from=one /out /got\nCOPY --from=0 /out/in/f /one/',
  'files of a stage, with patterns and through links':
    'AS one\nRUN mkdir /out && touch /out/a1 /out/a2 /out/b1 && ln -s /out /way\nFROM $BASE\nCOPY --from=one /out/a* /got/\nCOPY --from=one /way/b1 /got2/',
  variables: 'ARG v=one\nENV d=/dir_$v e="${v:-no}/${nope:-yes}"\nCOPY a.txt $d/$e/\nRUN echo "$v $d $e" > /said',
  users:
    'RUN mkdir -p /home/app && chown 1000:1001 /home/app\nUSER app\nWORKDIR /home/app\nRUN id -u > me && id -g >> me\nCOPY a.txt ./',
  'deleted files and directories':
    'COPY dir /x\nRUN rm -r /x/sub && rm /bin/wget && rm -r /usr/local/bin && mkdir /usr/local/bin',
  'a directory that was a file and a file that was a directory':
    'RUN mkdir /x && touch /x/f /y\nRUN rm -r /x && echo f > /x && rm /y && mkdir /y && touch /y/g',
  'shells and forms of RUN':
    'RUN ["/bin/sh", "-c", "echo $0 a > /r1"]\nSHELL ["/bin/sh", "-ec"]\nRUN echo b > /r2; \\\n  # no\n\n  echo c >> /r2',
  'times and modes of scripts stay': 'COPY dir/one.sh /usr/local/bin/\nRUN /usr/local/bin/one.sh > /ran',
};

const hasBuildah = spawnSync('buildah', ['--version']).status === 0;

describe('files of a built image', { skip: hasBuildah ? false : 'buildah is not installed' }, () => {
  let node: TestNode;
  let work: string;
  let context: string;
  before(async () => {
    work = mkdtempSync(join(tmpdir(), 'parity-'));
    chmodSync(work, 0o755);
    context = makeContext(join(work, 'context'));
    const tar = busyboxTar(work);
    node = await startTestNode({ image: false });
    await node.viv.images.importTar(BASE, tar);
    const container = buildah('from', 'scratch');
    buildah('add', '-q', container, join(work, 'busybox.tar'), '/');
    buildah('commit', '-q', container, THEIRS);
  });
  after(async () => {
    buildah('rm', '-a');
    await node.purge();
    rmSync(work, { recursive: true, force: true });
  });

  for (const [index, [name, steps]] of Object.entries(CASES).entries()) {
    test(`are those that buildah makes: ${name}`, async () => {
      const dockerfile = `ARG BASE\nFROM $BASE ${steps.startsWith('AS') ? '' : '\n'}${steps.replaceAll('FROM $BASE', 'FROM $BASE\n')}\n`;
      const file = join(work, `Dockerfile.${index}`);
      writeFileSync(file, dockerfile);
      assert.deepEqual(await ours(file, `case/n${index}@1`), theirs(file, `case${index}`));
    });
  }

  async function ours(file: string, name: string): Promise<string[]> {
    await node.viv.images.build({ name, buildArgs: { BASE }, ...(await packContext(context, { dockerfile: file })) });
    const { viv } = node;
    await using sandbox = await viv.sandboxes.create({ image: name });
    const root = mkdtempSync(join(work, 'ours-'));
    const tar = join(root, '..', `${name.replace('/', '-')}.tar`);
    const chunks: Uint8Array[] = [];
    for await (const chunk of await sandbox.files.download('/')) chunks.push(chunk);
    writeFileSync(tar, Buffer.concat(chunks));
    execFileSync('tar', ['-C', root, '--numeric-owner', '--exclude=./proc/*', '--exclude=./dev/*', '-xpf', tar]);
    return treeListing(root, runtime);
  }

  function theirs(file: string, name: string): string[] {
    buildah(
      'bud',
      '-q',
      '--layers=false',
      '--isolation',
      'chroot',
      '--build-arg',
      `BASE=${THEIRS}`,
      '-f',
      file,
      '-t',
      name,
      context,
    );
    const container = buildah('from', '--pull-never', name);
    return treeListing(buildah('mount', container), runtime);
  }

  function buildah(...args: string[]): string {
    const storage = ['--storage-driver', 'vfs', '--root', join(work, 'storage'), '--runroot', join(work, 'run')];
    return execFileSync('buildah', [...storage, ...args], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'pipe'],
    }).trim();
  }
});

function makeContext(root: string): string {
  mkdirSync(join(root, 'dir/sub/empty'), { recursive: true });
  writeFileSync(join(root, 'a.txt'), 'a\n');
  writeFileSync(join(root, 'b.txt'), 'b\n');
  writeFileSync(join(root, 'dir/one.sh'), '#!/bin/sh\necho one\n');
  writeFileSync(join(root, 'dir/sub/two'), 'two\n');
  chmodSync(join(root, 'dir/one.sh'), 0o755);
  chmodSync(join(root, 'dir/sub'), 0o711);
  symlinkSync('sub/two', join(root, 'dir/link'));
  symlinkSync('/etc/passwd', join(root, 'dir/abs'));
  symlinkSync('nowhere', join(root, 'dir/dangling'));
  lutimesSync(join(root, 'dir/one.sh'), 1_000_000_000, 1_000_000_000);
  for (const [flag, name] of [
    ['', 't.tar'],
    ['z', 't.tar.gz'],
    ['J', 't.tar.xz'],
  ])
    execFileSync('tar', [
      '-C',
      join(root, 'dir'),
      '--owner=5',
      '--group=6',
      `-c${flag}f`,
      join(root, name!),
      'one.sh',
      'sub',
      'link',
    ]);
  return root;
}
