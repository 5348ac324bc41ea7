import type { IncomingMessage } from 'node:http';

/** A person looks at it. */
export function wantsPage(req: IncomingMessage): boolean {
  return /\bmozilla\b/i.test(req.headers['user-agent'] ?? '') && (req.method === 'GET' || req.method === 'HEAD');
}

/** What a person reads in place of a port's own page. */
export function errorPage(title: string, sandboxId: string, text: string): string {
  const id = escaped(sandboxId);
  return `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${escaped(title)}</title>
<style>body{font:16px/1.5 system-ui,sans-serif;max-width:36em;margin:15vh auto;padding:0 1em}code{font-size:.95em}</style></head>
<body><h1>${escaped(title)}</h1><p>${escaped(text)}</p><p>Sandbox <code>${id}</code></p></body>
</html>
`;
}

function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}
