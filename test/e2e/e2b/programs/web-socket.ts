/** A WebSocket to a port of a sandbox, by its host name. The server inside is the least that RFC 6455 asks for. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { Sandbox } from 'e2b';
import { WebSocket } from 'ws';

const SERVER = `import base64, hashlib, socket
listener = socket.create_server(('0.0.0.0', 9000))
while True:
    peer, _ = listener.accept()
    head = b''
    while b'\\r\\n\\r\\n' not in head: head += peer.recv(4096)
    key = [line.split(b': ')[1] for line in head.split(b'\\r\\n') if line.lower().startswith(b'sec-websocket-key')][0]
    accept = base64.b64encode(hashlib.sha1(key + b'258EAFA5-E914-47DA-95CA-C5AB0DC85B11').digest())
    peer.send(b'HTTP/1.1 101 Switching Protocols\\r\\nUpgrade: websocket\\r\\nConnection: Upgrade\\r\\nSec-WebSocket-Accept: ' + accept + b'\\r\\n\\r\\n')
    frame = peer.recv(4096)
    mask, data = frame[2:6], frame[6:]
    text = bytes(byte ^ mask[n % 4] for n, byte in enumerate(data)).upper()
    peer.send(bytes([0x81, len(text)]) + text)
    peer.close()
`;

const sandbox = await Sandbox.create('base');
await sandbox.files.write('server.py', SERVER);
await sandbox.commands.run('python3 server.py', { background: true, timeoutMs: 0 });
const url = `wss://${sandbox.getHost(9000)}/`;
assert.equal(await echoed('hello'), 'HELLO');
await sandbox.kill();
console.log('all is well');
process.exit(0);

async function echoed(text: string): Promise<string> {
  for (let tries = 0; ; tries += 1) {
    const socket = new WebSocket(url);
    try {
      await once(socket, 'open');
      socket.send(text);
      const [data] = await once(socket, 'message');
      return String(data);
    } catch (error) {
      if (tries === 50) throw error;
      await delay(100);
    }
  }
}
