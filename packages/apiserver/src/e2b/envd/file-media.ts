import { posix } from 'node:path';

/** Of the endings that programs in sandboxes write most; the rest is bytes. */
const MEDIA = new Map(
  Object.entries({
    avif: 'image/avif',
    css: 'text/css; charset=utf-8',
    csv: 'text/csv; charset=utf-8',
    docx: 'application/vnd.openxmlformats-officedocument.wordprocessingml.document',
    gif: 'image/gif',
    gz: 'application/gzip',
    htm: 'text/html; charset=utf-8',
    html: 'text/html; charset=utf-8',
    jpeg: 'image/jpeg',
    jpg: 'image/jpeg',
    js: 'text/javascript; charset=utf-8',
    json: 'application/json',
    md: 'text/markdown; charset=utf-8',
    mjs: 'text/javascript; charset=utf-8',
    mp3: 'audio/mpeg',
    mp4: 'video/mp4',
    pdf: 'application/pdf',
    png: 'image/png',
    pptx: 'application/vnd.openxmlformats-officedocument.presentationml.presentation',
    svg: 'image/svg+xml',
    tar: 'application/x-tar',
    txt: 'text/plain; charset=utf-8',
    wasm: 'application/wasm',
    wav: 'audio/wav',
    webm: 'video/webm',
    webp: 'image/webp',
    xlsx: 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet',
    xml: 'text/xml; charset=utf-8',
    zip: 'application/zip',
  }),
);

/** `Content-Type` by the ending of a file's name. */
export function mediaOf(name: string): string {
  return MEDIA.get(posix.extname(name).slice(1).toLowerCase()) ?? 'application/octet-stream';
}

/** `Content-Disposition` (RFC 6266): shown, and saved under its name. */
export function dispositionOf(name: string): string {
  if (/^[A-Za-z0-9!#$%&'*+.^_`|~-]+$/.test(name)) return `inline; filename=${name}`;
  if (/^[\x20-\x7e]*$/.test(name)) return `inline; filename="${name.replace(/["\\]/g, '\\$&')}"`;
  const escaped = encodeURIComponent(name.toWellFormed()).replace(
    /['()*]/g,
    (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`,
  );
  return `inline; filename*=utf-8''${escaped}`;
}
