/** Asks on the terminal without showing what is typed. */
export function readSecret(question: string): Promise<string> {
  const { stdin, stderr } = process;
  stderr.write(question);
  stdin.setRawMode(true);
  return new Promise((resolve) => {
    let typed = '';
    const finish = () => {
      stdin.setRawMode(false);
      stdin.off('data', onData).pause();
      stderr.write('\n');
    };
    const onData = (chunk: Buffer) => {
      for (const char of chunk.toString()) {
        if (char === '\u0003') {
          finish();
          process.exit(130);
        } else if (char === '\r' || char === '\n') {
          finish();
          return resolve(typed.trim());
        } else if (char === '\u007f') typed = typed.slice(0, -1);
        else typed += char;
      }
    };
    stdin.on('data', onData).resume();
  });
}
