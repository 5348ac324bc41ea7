// A program for E2B's client, with nothing in it that knows where it runs.
import { Sandbox as CodeSandbox } from '@e2b/code-interpreter';
import { Sandbox, Template } from 'e2b';

const sandbox = await Sandbox.create({ metadata: { example: 'e2b-js' } });
console.log('sandbox', sandbox.sandboxId);

await sandbox.files.write('hello.py', 'import platform\nprint("hello from Python", platform.python_version())\n');
console.log((await sandbox.commands.run('python3 hello.py')).stdout.trim());

const server = await sandbox.commands.run('python3 -u -m http.server 8000', { background: true, timeoutMs: 0 });
console.log('server has pid', server.pid);
await server.kill();

await sandbox.pause();
await sandbox.connect();
console.log('after a pause:', (await sandbox.files.read('hello.py')).split('\n')[1]);

const { snapshotId } = await sandbox.createSnapshot();
const copy = await Sandbox.create(snapshotId);
console.log('a copy has', (await copy.files.list('.')).map(({ name }) => name).join(', '));
await copy.kill();
await Sandbox.deleteSnapshot(snapshotId);
await sandbox.kill();

const template = Template()
  .fromBaseImage()
  .setEnvs({ GREETING: 'built in' })
  .runCmd('echo $GREETING > /home/user/greeting');
await Template.build(template, 'example-e2b-js', { cpuCount: 1, memoryMB: 512 });
const built = await Sandbox.create('example-e2b-js');
console.log('of the template:', (await built.files.read('greeting')).trim());
await built.kill();

if (await Template.exists('code-interpreter-v1')) {
  const interpreter = await CodeSandbox.create();
  await interpreter.runCode('numbers = [1, 2, 3]');
  console.log('code gives', (await interpreter.runCode('sum(numbers) * 7')).text);
  await interpreter.kill();
}
