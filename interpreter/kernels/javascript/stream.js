/** Writes that are in the pipe when they return: nothing piles up in memory, nothing is lost with the process. */
'use strict';

const { writeSync } = require('node:fs');
const { Writable } = require('node:stream');

/** A child that shares the pipe may have made it non-blocking; then the next try is this many milliseconds later. */
const RETRY_MS = 2;
const clock = new Int32Array(new SharedArrayBuffer(4));

exports.blockingStream = function blockingStream(fd) {
  const stream = new Writable({
    decodeStrings: true,
    write(chunk, _encoding, done) {
      try {
        writeAll(fd, chunk);
        done();
      } catch (error) {
        done(error);
      }
    },
  });
  stream.fd = fd;
  stream._type = 'pipe';
  stream.on('error', () => {});
  return stream;
};

function writeAll(fd, chunk) {
  let at = 0;
  while (at < chunk.length) {
    try {
      at += writeSync(fd, chunk, at);
    } catch (error) {
      if (error.code !== 'EAGAIN') throw error;
      Atomics.wait(clock, 0, 0, RETRY_MS);
    }
  }
}
