/**
 * The JavaScript and TypeScript kernel: `node --expose-internals kernel.js LANGUAGE SOCKET_FD`.
 *
 * Runs what comes over the socket, one request after another, in the global scope of this process (server/channel.py says what
 * the lines are). `--expose-internals` is for the parser that is part of Node (cell.js).
 */
'use strict';

const net = require('node:net');
const { writeFileSync } = require('node:fs');
const { compileCell } = require('./cell.js');
const { bundleOf, errorMessage } = require('./result.js');
const { prepareGlobals } = require('./globals.js');
const { blockingStream } = require('./stream.js');

/** A kernel rather than the server is what should go when memory runs out (proc(5): oom_score_adj). */
const OOM_SCORE = '300';

function main(language, fd) {
  firstToGo();
  for (const [name, number] of [
    ['stdout', 1],
    ['stderr', 2],
  ]) {
    const stream = blockingStream(number);
    Object.defineProperty(process, name, { configurable: true, enumerable: true, get: () => stream });
  }
  const socket = new net.Socket({ fd, readable: true, writable: true });
  const kernel = new Kernel(language, (message) => socket.write(`${JSON.stringify(message)}\n`));
  prepareGlobals((data) => kernel.show(data));
  socket.on('data', (data) => kernel.receive(data));
  socket.on('close', () => process.reallyExit(0));
  socket.on('error', () => process.reallyExit(0));
  process.on('SIGINT', () => kernel.interrupt());
  process.on('uncaughtException', (error) => kernel.report(error));
  process.on('unhandledRejection', (error) => kernel.report(error));
  kernel.send({ type: 'ready' });
}

class Kernel {
  #language;
  #received = [];
  #count = 0;
  #interrupt = undefined;
  #shown = Promise.resolve();

  constructor(language, send) {
    this.#language = language;
    this.send = send;
  }

  receive(data) {
    this.#received.push(data);
    if (!data.includes(10)) return;
    const line = Buffer.concat(this.#received).toString();
    this.#received = [];
    void this.#run(JSON.parse(line));
  }

  /** SIGINT while the code awaits something; while it runs, `breakOnSigint` ends it (cell.js). */
  interrupt() {
    this.#interrupt?.();
  }

  /** What `display` shows is a result beside the main one. The cell ends when all of it is sent. */
  show(data) {
    this.#shown = Promise.all([data, this.#shown]).then(
      ([bundle]) => this.send({ type: 'result', main: false, data: bundle }),
      (error) => this.report(error),
    );
  }

  /** An error that no cell waits for: it goes where it would be seen in any program. */
  report(error) {
    const { name, value, traceback } = errorMessage(error);
    process.stderr.write(`Uncaught ${traceback || `${name}: ${value}`}\n`);
  }

  async #run({ code, env }) {
    const former = lend(env ?? {});
    try {
      const value = await this.#value(code);
      const data = await bundleOf(value);
      await this.#shown;
      if (data !== undefined) this.send({ type: 'result', main: true, data });
    } catch (error) {
      await this.#shown;
      this.send(errorMessage(error));
    } finally {
      this.#interrupt = undefined;
      giveBack(former);
      this.send({ type: 'done' });
    }
  }

  async #value(code) {
    this.#count += 1;
    const interrupted = new Promise((_, reject) => {
      this.#interrupt = () => reject(new Error('The execution was interrupted'));
    });
    interrupted.catch(() => {});
    const run = compileCell(code, this.#language, this.#count);
    return await Promise.race([run(), interrupted]);
  }
}

/** Sets environment variables for one execution and returns what they were. */
function lend(env) {
  const former = Object.keys(env).map((name) => [name, process.env[name]]);
  Object.assign(process.env, env);
  return former;
}

function giveBack(former) {
  for (const [name, value] of former) {
    if (value === undefined) delete process.env[name];
    else process.env[name] = value;
  }
}

function firstToGo() {
  try {
    writeFileSync('/proc/self/oom_score_adj', OOM_SCORE);
  } catch {
    // Not Linux, or not ours to say: the kernel works as well without.
  }
}

main(process.argv[2], Number(process.argv[3]));
