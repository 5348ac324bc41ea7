/** Who may reach ports of a sandbox by their URLs, and how what listens there sees the request. */
import assert from 'node:assert/strict';
import { setTimeout as delay } from 'node:timers/promises';
import { Sandbox } from 'e2b';

const HTTPS_SERVER = `import http.server, ssl
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b'by TLS inside')
server = http.server.ThreadingHTTPServer(('0.0.0.0', 8443), Handler)
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain('cert.pem', 'key.pem')
server.socket = context.wrap_socket(server.socket, server_side=True)
server.serve_forever()
`;
const HEADER_SERVER = `import http.server, json
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        text = json.dumps({name.lower(): value for name, value in self.headers.items()}).encode()
        self.send_response(200)
        self.send_header('content-length', str(len(text)))
        self.end_headers()
        self.wfile.write(text)
http.server.ThreadingHTTPServer(('0.0.0.0', 8080), Handler).serve_forever()
`;

await Promise.all([closed(), masked(), inner()]);
console.log('all is well');
process.exit(0);

/** Only with the token; the token does not reach the program inside. */
async function closed(): Promise<void> {
  const sandbox = await Sandbox.create('base', { network: { allowPublicTraffic: false } });
  const token = sandbox.trafficAccessToken!;
  assert.ok(token.length >= 20);
  await start(sandbox, HEADER_SERVER);
  const url = `https://${sandbox.getHost(8080)}/`;
  const seen = JSON.parse(await answer(url, 200, { 'e2b-traffic-access-token': token }));
  assert.ok(!JSON.stringify(seen).includes(token));
  await answer(url, 403, {});
  await answer(url, 403, { 'e2b-traffic-access-token': `${token.slice(0, -1)}x` });
  await sandbox.kill();
}

async function masked(): Promise<void> {
  const sandbox = await Sandbox.create('base', { network: { maskRequestHost: `inner.example:\${PORT}` } });
  await start(sandbox, HEADER_SERVER);
  const seen = JSON.parse(await answer(`https://${sandbox.getHost(8080)}/`, 200, {}));
  assert.equal(seen.host, 'inner.example:8080');
  await sandbox.kill();
}

/** A program that speaks TLS itself, with a certificate that nobody knows. */
async function inner(): Promise<void> {
  const sandbox = await Sandbox.create('base', { network: { httpsPorts: [8443] } });
  const subject = '-x509 -newkey rsa:2048 -nodes -days 1 -subj /CN=localhost';
  await sandbox.commands.run(`openssl req ${subject} -keyout key.pem -out cert.pem`);
  await start(sandbox, HTTPS_SERVER);
  assert.equal(await answer(`https://${sandbox.getHost(8443)}/`, 200, {}), 'by TLS inside');
  assert.deepEqual((await sandbox.getInfo()).network?.httpsPorts, [8443]);
  await sandbox.kill();
}

async function start(sandbox: Sandbox, program: string): Promise<void> {
  await sandbox.files.write('server.py', program);
  await sandbox.commands.run('python3 server.py', { background: true, timeoutMs: 0 });
}

async function answer(url: string, status: number, headers: Record<string, string>): Promise<string> {
  for (let tries = 0; ; tries += 1) {
    const response = await fetch(url, { headers });
    const text = await response.text();
    if (response.status === status) return text;
    assert.ok(tries < 100, `${response.status} ${text}`);
    await delay(100);
  }
}
