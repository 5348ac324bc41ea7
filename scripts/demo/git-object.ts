import { createHash } from 'node:crypto';

/** Identity and time of the demo's commits: fixed, so that the commit's id can be worked out on the host. */
export const AUTHOR = { name: 'Vivarium', email: 'demo@vivarium.invalid', date: '1700000000 +0000' } as const;

/** The id git gives a commit without parents whose tree is one file (git's object format, SHA-1). */
export function commitId(file: { name: string; content: string }, message: string): string {
  const blob = objectId('blob', Buffer.from(file.content));
  const tree = objectId('tree', Buffer.concat([Buffer.from(`100644 ${file.name}\0`), Buffer.from(blob, 'hex')]));
  const who = `${AUTHOR.name} <${AUTHOR.email}> ${AUTHOR.date}`;
  return objectId('commit', Buffer.from(`tree ${tree}\nauthor ${who}\ncommitter ${who}\n\n${message}\n`));
}

function objectId(type: string, body: Buffer): string {
  return createHash('sha1').update(`${type} ${body.length}\0`).update(body).digest('hex');
}
