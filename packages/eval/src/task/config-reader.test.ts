import assert from 'node:assert/strict';
import { test } from 'node:test';
import { VivError } from '@vivarium/sdk/error.ts';
import fc from 'fast-check';
import { readConfig } from './config-reader.ts';

const fails = (text: string, code: string, pattern: RegExp) =>
  assert.throws(
    () => readConfig(text),
    (error) => error instanceof VivError && error.code === code && pattern.test(error.message),
  );
const warningsOf = (text: string) => readConfig(text).warnings.map(({ field, message }) => `${field} ${message}`);

test('an empty task.toml is all defaults', () => {
  const { config, steps, warnings } = readConfig('');
  assert.deepEqual({ steps, warnings }, { steps: [], warnings: [] });
  assert.equal(config.schemaVersion, '1.3');
  assert.deepEqual(config.agent, { timeoutMs: null, user: null, networkMode: null, allowedHosts: [] });
  assert.equal(config.verifier.timeoutMs, 600_000);
  assert.equal(config.verifier.mode, 'shared');
  assert.equal(config.environment.buildTimeoutMs, 600_000);
  assert.equal(config.environment.networkMode, 'public');
  assert.deepEqual([config.environment.cpus, config.environment.memoryMiB], [null, null]);
  assert.equal(config.multiStepRewardStrategy, 'mean');
  assert.deepEqual(config.vivarium, {
    isolation: 'in_process',
    verification: 'fresh',
    protect: [],
    workspace: [],
    buildNetwork: 'none',
    services: [],
    servicesInVerifier: false,
  });
});

test('every field of the format is read', () => {
  const { config, warnings } = readConfig(`
    schema_version = "1.2"
    source = "somewhere"
    artifacts = ["/app/out.txt", { source = "/app/dir", destination = "d", exclude = ["*.tmp"] }]
    multi_step_reward_strategy = "final"
    [task]
    name = "org/thing"
    description = "d"
    authors = [{ name = "A", email = "a@example.org" }]
    keywords = ["k"]
    [metadata]
    anything = { at = 2024-05-06, all = [1, 2] }
    [agent]
    timeout_sec = 1.5
    user = "agent"
    network_mode = "no-network"
    [verifier]
    timeout_sec = 20
    user = 1000
    env = { KEY = "\${KEY:-x}" }
    [solution]
    env = { A = "b" }
    [environment]
    docker_image = "base/debian@12"
    build_timeout_sec = 30
    os = "linux"
    cpus = 2
    memory_mb = 512
    storage_mb = 1024
    gpus = 0
    network_mode = "no-network"
    env = { LANG = "C" }
    workdir = "/srv"
    skills_dir = "/skills"
    [environment.healthcheck]
    command = "true"
    interval_sec = 0.5
    timeout_sec = 2
    start_period_sec = 1
    start_interval_sec = 0.1
    retries = 9
    [[environment.mcp_servers]]
    name = "tool"
    transport = "stdio"
    command = "server"
    args = ["--x"]
    [vivarium]
    isolation = "black_box"
    verification = "in_place"
    protect = ["/app/tests/**"]
    workspace = ["/app"]
    build_network = "node"
  `);
  assert.deepEqual(warnings, []);
  assert.equal(config.task.name, 'org/thing');
  assert.deepEqual(config.metadata, { anything: { at: '2024-05-06', all: [1, 2] } });
  assert.deepEqual(config.artifacts, [
    { source: '/app/out.txt', destination: null, exclude: [] },
    { source: '/app/dir', destination: 'd', exclude: ['*.tmp'] },
  ]);
  assert.deepEqual(config.agent, { timeoutMs: 1500, user: 'agent', networkMode: 'no-network', allowedHosts: [] });
  assert.equal(config.verifier.user, '1000');
  assert.deepEqual(config.verifier.env, { KEY: `\${KEY:-x}` });
  assert.deepEqual(config.environment.healthcheck, {
    command: 'true',
    intervalMs: 500,
    timeoutMs: 2000,
    startPeriodMs: 1000,
    startIntervalMs: 100,
    retries: 9,
  });
  assert.deepEqual(config.environment.mcpServers, [
    { name: 'tool', transport: 'stdio', url: null, command: 'server', args: ['--x'] },
  ]);
  assert.deepEqual(config.vivarium, {
    isolation: 'black_box',
    verification: 'in_place',
    protect: ['/app/tests/**'],
    workspace: ['/app'],
    buildNetwork: 'node',
    services: [],
    servicesInVerifier: false,
  });
});

test('deprecated names are read and named', () => {
  const text = 'version = "1.0"\n[environment]\nmemory = "2G"\nstorage = "512M"\nallow_internet = false\n';
  const { config } = readConfig(text);
  assert.equal(config.schemaVersion, '1.0');
  assert.deepEqual([config.environment.memoryMiB, config.environment.storageMiB], [2048, 512]);
  assert.equal(config.environment.networkMode, 'no-network');
  assert.deepEqual(warningsOf(text), [
    'environment.memory is deprecated; write memory_mb',
    'environment.storage is deprecated; write storage_mb',
    'environment.allow_internet is deprecated; write network_mode',
  ]);
});

test('where an old and a new name are given the new one counts', () => {
  const { environment } = readConfig('[environment]\nmemory = "2G"\nmemory_mb = 100\n').config;
  assert.equal(environment.memoryMiB, 100);
});

test('a deprecated size that is no size is invalid', () => {
  fails('[environment]\nmemory = "lots"\n', 'task_invalid', /task\.toml:2: environment\.memory: expected a size/);
  fails('[environment]\nallow_internet = "no"\n', 'task_invalid', /allow_internet: expected true or false/);
});

test('an unknown field is ignored with a warning that guesses what was meant', () => {
  const text =
    'colour = 1\n[agent]\ntimout_sec = 3\n[[steps]]\nname = "a"\nmin_rewards = 1\n[environment.healthcheck]\ncommand="x"\nretry=1\n';
  assert.deepEqual(warningsOf(text).sort(), [
    'agent.timout_sec is unknown and ignored; did you mean "timeout_sec"?',
    'colour is unknown and ignored',
    'environment.healthcheck.retry is unknown and ignored; did you mean "retries"?',
    'steps[0].min_rewards is unknown and ignored; did you mean "min_reward"?',
  ]);
});

test('an unknown field in our own table is an error: it could weaken a grade unseen', () => {
  fails(
    '[vivarium]\nisolaton = "black_box"\n',
    'task_invalid',
    /vivarium\.isolaton: is unknown; did you mean "isolation"/,
  );
  fails('[metadata.vivarium]\nisolation = "b"\n', 'task_invalid', /isolation/);
});

test('our table may be below metadata, but not in both places', () => {
  const { config } = readConfig('[metadata.vivarium]\nisolation = "black_box"\n');
  assert.equal(config.vivarium.isolation, 'black_box');
  fails('[vivarium]\n[metadata.vivarium]\n', 'task_invalid', /beside \[vivarium\]/);
});

test('a wrong type names file, line, field and what was given', () => {
  fails(
    '\n[agent]\ntimeout_sec = "60"\n',
    'task_invalid',
    /task\.toml:3: agent\.timeout_sec: expected number, got "60"/,
  );
  fails('[environment]\nmemory_mb = 1.5\n', 'task_invalid', /environment\.memory_mb: expected int, got 1\.5/);
  fails('[agent]\ntimeout_sec = nan\n', 'task_invalid', /agent\.timeout_sec/);
  fails('[agent]\ntimeout_sec = -1\n', 'task_invalid', /agent\.timeout_sec/);
  fails('[verifier]\nenv = { A = 1 }\n', 'task_invalid', /verifier\.env\.A: expected text; write the value in quotes/);
  fails('[environment]\nworkdir = "app"\n', 'task_invalid', /workdir: must be an absolute path/);
  fails('[agent]\nuser = "a b"\n', 'task_invalid', /agent\.user: expected a user name or a uid/);
  fails('agent = 3\n', 'task_invalid', /task\.toml:1: agent: expected object/);
  fails('[task]\nname = "../up"\n', 'task_invalid', /task\.name: a task is named org\/name/);
  fails('artifacts = [{source = "/a", destination = "../b"}]\n', 'task_invalid', /artifacts\[0\]\.destination/);
});

test('every problem is in the details, the first in the message', () => {
  assert.throws(
    () => readConfig('[agent]\ntimeout_sec = "a"\n[verifier]\ntimeout_sec = "b"\n'),
    (error) => error instanceof VivError && (error.details.problems as unknown[]).length === 2,
  );
});

test('text that is no TOML names the line', () => {
  fails('a = 1\nb = = 2\n', 'task_invalid', /task\.toml:2: is no TOML/);
  fails('[agent]\n[agent]\n', 'task_invalid', /task\.toml:2: is no TOML/);
});

test('CRLF and a byte-order mark are tolerated', () => {
  const { config } = readConfig('\uFEFF[agent]\r\ntimeout_sec = 5\r\n');
  assert.equal(config.agent.timeoutMs, 5000);
});

test('a newer schema is read with a warning', () => {
  assert.match(warningsOf('schema_version = "1.9"\n')[0]!, /schema_version is 1\.9/);
});

test('a step takes from the task what it leaves out', () => {
  const { steps } = readConfig(`
    [agent]
    timeout_sec = 100
    user = "agent"
    [verifier]
    env = { A = "1", B = "1" }
    [[steps]]
    name = "first"
    min_reward = 0.5
    [steps.agent]
    timeout_sec = 5
    [steps.verifier]
    env = { B = "2" }
    [[steps]]
    name = "second"
    min_reward = { speed = 2 }
    artifacts = ["/x"]
    healthcheck = { command = "true" }
  `);
  assert.equal(steps.length, 2);
  assert.deepEqual([steps[0]!.agent.timeoutMs, steps[0]!.agent.user], [5000, 'agent']);
  assert.deepEqual(steps[0]!.verifier.env, { A: '1', B: '2' });
  assert.deepEqual([steps[0]!.minReward, steps[1]!.minReward], [{ reward: 0.5 }, { speed: 2 }]);
  assert.deepEqual([steps[1]!.agent.timeoutMs, steps[0]!.healthcheck], [100_000, null]);
  assert.equal(steps[1]!.healthcheck!.retries, 3);
});

test('two steps with one name are invalid, and so is a name that is no folder', () => {
  fails('[[steps]]\nname = "a"\n[[steps]]\nname = "a"\n', 'task_invalid', /two steps are named "a"/);
  fails('[[steps]]\nname = "../a"\n', 'task_invalid', /steps\[0\]\.name/);
});

test('a table for the verifier’s environment means a separate one; "shared" beside it is a contradiction', () => {
  const { verifier } = readConfig('[verifier.environment]\ncpus = 1\n').config;
  assert.deepEqual([verifier.mode, verifier.environment!.cpus], ['separate', 1]);
  const both = '[verifier]\nenvironment_mode = "shared"\n[verifier.environment]\n';
  fails(both, 'task_invalid', /verifier\.environment_mode/);
});

test('what is not offered is refused, and the field named', () => {
  fails('[environment]\ngpus = 2\n', 'task_refused', /task\.toml:2: environment\.gpus: asks for 2 GPU/);
  fails('[verifier.environment]\ngpus = 1\n', 'task_refused', /verifier\.environment\.gpus/);
  fails('[environment]\nos = "windows"\n', 'task_refused', /environment\.os/);
  fails('[environment]\nallowed_hosts = ["a.org"]\n', 'task_refused', /environment\.allowed_hosts/);
  const agent = '[agent]\nnetwork_mode = "allowlist"\nallowed_hosts = ["*.a.org"]\n';
  fails(agent, 'task_refused', /agent\.allowed_hosts/);
  const step = '[[steps]]\nname = "a"\n[steps.verifier]\nallowed_hosts = ["a.org"]\n';
  fails(step, 'task_refused', /steps\[0\]\.verifier\.allowed_hosts/);
  const server = '[[environment.mcp_servers]]\nname = "x"\nurl = "http://x.org/mcp"\n';
  fails(server, 'task_refused', /environment\.mcp_servers\[0\]\.url/);
});

test('a black box needs an agent that is not root', () => {
  const root = '[vivarium]\nisolation = "black_box"\n[agent]\nuser = "root"\n';
  fails(root, 'task_invalid', /task\.toml:2: vivarium\.isolation: is "black_box", but the agent is root/);
  fails(root.replace('"root"', '0'), 'task_invalid', /vivarium\.isolation/);
});

test('networks: public is narrowed with a warning, hosts without an allowlist are a contradiction', () => {
  assert.match(warningsOf('[verifier]\nnetwork_mode = "public"\n')[0]!, /verifier\.network_mode is "public"/);
  fails('[environment]\nnetwork_mode = "public"\nallowed_hosts = ["a.org"]\n', 'task_invalid', /allowed_hosts/);
  fails('[environment]\nallowed_hosts = ["http://a.org"]\n', 'task_invalid', /expected a host name/);
});

test('MCP servers inside the sandbox are accepted; incomplete ones are invalid', () => {
  const local = '[[environment.mcp_servers]]\nname = "x"\nurl = "http://localhost:8000/mcp"\n';
  assert.equal(readConfig(local).config.environment.mcpServers[0]!.transport, 'sse');
  fails('[[environment.mcp_servers]]\nname = "x"\n', 'task_invalid', /mcp_servers\[0\]: has no url/);
  fails('[[environment.mcp_servers]]\nname = "x"\ntransport = "stdio"\n', 'task_invalid', /has no command/);
});

const key = fc.constantFrom(
  ...[
    'agent',
    'verifier',
    'environment',
    'steps',
    'env',
    'user',
    'name',
    'artifacts',
    'metadata',
    'vivarium',
    'version',
  ],
  ...[
    'timeout_sec',
    'memory',
    'memory_mb',
    'healthcheck',
    'mcp_servers',
    'min_reward',
    '__proto__',
    'constructor',
    'x',
  ],
);
const value = fc.letrec((tie) => ({
  any: fc.oneof(
    { depthSize: 'small' },
    fc.string({ unit: 'grapheme' }).map((text) => JSON.stringify(text)),
    fc.integer().map(String),
    fc.constantFrom(
      'true',
      'nan',
      '-inf',
      '1.5',
      '2024-01-01',
      '07:00:00',
      '2024-01-01T00:00:00Z',
      '""',
      '99999999999999999',
    ),
    fc.array(tie('any'), { maxLength: 3 }).map((items) => `[${items.join(', ')}]`),
    fc
      .array(fc.tuple(key, tie('any')), { maxLength: 3 })
      .map((all) => `{${all.map((pair) => pair.join(' = ')).join(', ')}}`),
  ),
})).any as fc.Arbitrary<string>;
const line = fc.oneof(
  fc.tuple(key, value).map((pair) => pair.join(' = ')),
  fc.tuple(key, key).map((pair) => `[${pair.join('.')}]`),
  key.map((name) => `[[${name}]]`),
  fc.string(),
);

test('whatever the text, it is read or refused with an error of ours', () => {
  fc.assert(
    fc.property(fc.array(line, { maxLength: 12 }), (lines) => {
      try {
        JSON.stringify(readConfig(lines.join('\n')));
      } catch (error) {
        assert.ok(error instanceof VivError, String((error as Error).stack));
        assert.match(error.code, /^task_(invalid|refused)$/);
        assert.match(error.message, /^task\.toml/);
      }
    }),
    { numRuns: 500 },
  );
});

test('lines as long as the file are no work', () => {
  fails(
    `a = "${' '.repeat(1_000_000)}"\n[${' '.repeat(1_000_000)}agent]\ntimeout_sec = "x"\n`,
    'task_invalid',
    /timeout_sec/,
  );
});

test('services are commands or tables, have names of their own and users', () => {
  const { services, servicesInVerifier } = readConfig(`
    [vivarium]
    services_in_verifier = true
    services = ["exec one", { name = "two", command = "exec two", user = 33 }, { command = "exec three" }]
  `).config.vivarium;
  assert.deepEqual(services, [
    { name: 'service-1', command: 'exec one', user: null },
    { name: 'two', command: 'exec two', user: '33' },
    { name: 'service-3', command: 'exec three', user: null },
  ]);
  assert.equal(servicesInVerifier, true);
});

test('services that are no commands, too many or of one name are invalid', () => {
  const services = (value: string) => `[vivarium]\nservices = ${value}`;
  fails(services('[1]'), 'task_invalid', /vivarium\.services\[0\].*expected a command \(text\)/);
  fails(services('"exec one"'), 'task_invalid', /vivarium\.services.*expected array/);
  fails(services('[""]'), 'task_invalid', /vivarium\.services\[0\]\.command/);
  fails(services('[{ name = "x" }]'), 'task_invalid', /vivarium\.services\[0\]\.command/);
  fails(services('[{ comand = "x" }]'), 'task_invalid', /comand: is unknown; did you mean "command"/);
  fails(services('[{ name = "a b", command = "x" }]'), 'task_invalid', /a service is named with/);
  fails(services('["a\\u0000b"]'), 'task_invalid', /holds a NUL/);
  fails(services(`[${'"x",'.repeat(33)}]`), 'task_invalid', /vivarium\.services/);
  fails(
    services('[{ name = "a", command = "x" }, { name = "a", command = "y" }]'),
    'task_invalid',
    /two services are named "a"/,
  );
  fails(services('["x", { name = "service-1", command = "y" }]'), 'task_invalid', /two services are named "service-1"/);
});

test('services in the verifier need services, and a sandbox that the verifier shares', () => {
  const own = 'services_in_verifier = true';
  fails(`[vivarium]\n${own}`, 'task_invalid', /there are no services/);
  fails(`[vivarium]\nservices = ["x"]\nisolation = "black_box"\n${own}`, 'task_invalid', /black box/);
  fails(`[verifier]\nenvironment_mode = "separate"\n[vivarium]\nservices = ["x"]\n${own}`, 'task_invalid', /separate/);
});
