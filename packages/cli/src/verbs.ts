import type { Verb } from './verb.ts';

const SANDBOXES = 'Sandboxes';
const INSIDE = 'In a sandbox';
const STATE = 'State';
const TASKS = 'Tasks';
const SERVER = 'Images, keys, server';
const NODE = 'This machine as a node';

export const VERBS: readonly Verb[] = [
  {
    name: 'run',
    group: SANDBOXES,
    summary: 'run a command in a new sandbox, then end it',
    load: () => import('./commands/run.ts'),
  },
  { name: 'create', group: SANDBOXES, summary: 'create a sandbox', load: () => import('./commands/create.ts') },
  { name: 'ls', group: SANDBOXES, summary: 'list sandboxes', load: () => import('./commands/ls.ts') },
  {
    name: 'fn',
    group: SANDBOXES,
    summary: 'run code or a program in a clean, warm container',
    load: () => import('./commands/fn.ts'),
  },
  {
    name: 'inspect',
    group: SANDBOXES,
    summary: 'all about sandboxes, as JSON',
    load: () => import('./commands/inspect.ts'),
  },
  {
    name: 'wait',
    group: SANDBOXES,
    summary: 'wait until a sandbox ends or is in a state',
    load: () => import('./commands/wait.ts'),
  },
  { name: 'kill', group: SANDBOXES, summary: 'end sandboxes', load: () => import('./commands/kill.ts') },
  { name: 'exec', group: INSIDE, summary: 'run a command in a sandbox', load: () => import('./commands/exec.ts') },
  {
    name: 'shell',
    group: INSIDE,
    summary: 'an interactive shell in a sandbox',
    load: () => import('./commands/shell.ts'),
  },
  {
    name: 'attach',
    group: INSIDE,
    summary: 'follow a command that runs or has run',
    load: () => import('./commands/attach.ts'),
  },
  { name: 'ps', group: INSIDE, summary: 'processes in a sandbox', load: () => import('./commands/ps.ts') },
  {
    name: 'cp',
    group: INSIDE,
    summary: 'copy files and directories in and out',
    load: () => import('./commands/cp.ts'),
  },
  {
    name: 'port-forward',
    group: INSIDE,
    summary: 'local ports that lead into a sandbox',
    load: () => import('./commands/port-forward.ts'),
  },
  {
    name: 'logs',
    group: INSIDE,
    summary: 'what was done in a sandbox, in order',
    load: () => import('./commands/logs.ts'),
  },
  {
    name: 'stats',
    group: INSIDE,
    summary: 'what sandboxes use of their limits',
    load: () => import('./commands/stats.ts'),
  },
  {
    name: 'pause',
    group: STATE,
    summary: 'freeze sandboxes, or end their processes and keep their files',
    load: () => import('./commands/pause.ts'),
  },
  { name: 'resume', group: STATE, summary: 'let paused sandboxes go on', load: () => import('./commands/resume.ts') },
  {
    name: 'changes',
    group: STATE,
    summary: 'paths that differ from the image',
    load: () => import('./commands/changes.ts'),
  },
  {
    name: 'fork',
    group: STATE,
    summary: 'copies of a sandbox’s file system as new sandboxes',
    load: () => import('./commands/fork.ts'),
  },
  {
    name: 'pack',
    group: STATE,
    summary: 'an image of what a sandbox changed, without residue',
    load: () => import('./commands/pack.ts'),
  },
  {
    name: 'commit',
    group: STATE,
    summary: 'another word for pack',
    load: () => import('./commands/pack.ts'),
  },
  {
    name: 'snapshot',
    group: STATE,
    summary: 'keep a sandbox’s file system as an image',
    load: () => import('./commands/snapshot.ts'),
  },
  {
    name: 'eval',
    group: TASKS,
    summary: 'let an agent work on tasks and grade what it did',
    load: () => import('./commands/eval.ts'),
  },
  {
    name: 'job',
    group: TASKS,
    summary: 'list, show, resume, grade again, remove jobs',
    load: () => import('./commands/job.ts'),
  },
  {
    name: 'trial',
    group: TASKS,
    summary: 'show, open, compare trials, read their logs',
    load: () => import('./commands/trial.ts'),
  },
  {
    name: 'task',
    group: TASKS,
    summary: 'check that tasks can be solved and graded',
    load: () => import('./commands/task.ts'),
  },
  {
    name: 'verify',
    group: STATE,
    summary: 'grade what was done in a sandbox, where nothing of it runs',
    load: () => import('./commands/verify.ts'),
  },
  {
    name: 'image',
    group: SERVER,
    summary: 'build, list, import, inspect, remove images',
    load: () => import('./commands/image.ts'),
  },
  {
    name: 'volume',
    group: SERVER,
    summary: 'create, list, fill, remove volumes: files that outlive sandboxes',
    load: () => import('./commands/volume.ts'),
  },
  {
    name: 'template',
    group: SERVER,
    summary: 'install, list, remove templates of E2B clients',
    load: () => import('./commands/template.ts'),
  },
  { name: 'key', group: SERVER, summary: 'list, create, remove API keys', load: () => import('./commands/key.ts') },
  {
    name: 'e2b',
    group: SERVER,
    summary: 'what E2B clients need to use this server',
    load: () => import('./commands/e2b.ts'),
  },
  { name: 'lease', group: SERVER, summary: 'list and end leases', load: () => import('./commands/lease.ts') },
  { name: 'node', group: SERVER, summary: 'the state of the server', load: () => import('./commands/node.ts') },
  { name: 'login', group: SERVER, summary: 'remember a server and its key', load: () => import('./commands/login.ts') },
  { name: 'logout', group: SERVER, summary: 'forget it', load: () => import('./commands/logout.ts') },
  { name: 'up', group: NODE, summary: 'start the node on this machine' },
  { name: 'down', group: NODE, summary: 'end all sandboxes and stop the node' },
  { name: 'doctor', group: NODE, summary: 'what this machine can do, why not, and the remedy' },
  {
    name: 'completion',
    group: 'Other',
    summary: 'shell completion for bash, zsh or fish',
    load: () => import('./commands/completion.ts'),
  },
  { name: 'help', group: 'Other', summary: 'help for a verb' },
  { name: 'version', group: 'Other', summary: 'the version of viv' },
];
