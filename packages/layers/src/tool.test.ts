import assert from 'node:assert/strict';
import { test } from 'node:test';
import { VivError } from '@vivarium/protocol';
import { runTool, type ToolOptions } from './tool.ts';

const options = (more: Partial<ToolOptions> = {}): ToolOptions => ({
  signal: new AbortController().signal,
  package: 'some-package',
  ...more,
});
const thrown = (work: Promise<void>): Promise<VivError> =>
  work.then(
    () => assert.fail('it worked'),
    (error) => error,
  );

test('a failing tool is reported with its status and the end of its words only', async () => {
  const error = await thrown(
    runTool('sh', ['-c', 'yes noise | head -c 100000 >&2; echo >&2; echo "the reason" >&2; exit 3'], options()),
  );
  assert.equal(error.code, 'import_failed');
  assert.match(error.message, /exit status 3\): the reason/);
  assert.equal(String(error.details.output).length, 4096);
});

test('a missing tool is a precondition that names the package', async () => {
  const error = await thrown(runTool('viv-no-such-tool', [], options()));
  assert.equal(error.code, 'precondition_failed');
  assert.match(error.hint, /apt-get install some-package/);
});

test('an abort kills the tool', async () => {
  const controller = new AbortController();
  const running = runTool('sleep', ['1000'], options({ signal: controller.signal }));
  setTimeout(() => controller.abort(new Error('enough')), 20);
  await assert.rejects(running, /enough/);
});

test("a tool that ends without reading its input is judged by its status, a feeder's own error wins", async () => {
  const feed: ToolOptions['feed'] = async (stdin) => {
    for (let index = 0; index < 100 && !stdin.destroyed; index++) {
      if (!stdin.write(Buffer.alloc(65_536)))
        await new Promise((resolve) => stdin.once('drain', resolve).once('close', resolve));
    }
    stdin.end();
  };
  const error = await thrown(runTool('sh', ['-c', 'exit 2'], options({ feed })));
  assert.match(error.message, /exit status 2/);
  const broken = runTool('cat', [], options({ feed: () => Promise.reject(new VivError('invalid_image', 'cut')) }));
  await assert.rejects(broken, /cut/);
});
