import type { IncomingHttpHeaders } from 'node:http';

/** Does the request depend on what the client has already? */
export function isConditional(headers: IncomingHttpHeaders): boolean {
  return (
    headers['if-match'] !== undefined ||
    headers['if-none-match'] !== undefined ||
    headers['if-modified-since'] !== undefined ||
    headers['if-unmodified-since'] !== undefined
  );
}

/** The status that answers such a request without the file; null: it is to be sent. By RFC 9110, section 13.2.2, for files without entity tags. */
export function precondition(headers: IncomingHttpHeaders, mtimeMs: number): 304 | 412 | null {
  const match = headers['if-match'];
  const unmodified = timeOf(headers['if-unmodified-since']);
  if (match !== undefined ? match.trim() !== '*' : unmodified !== null && seconds(mtimeMs) > unmodified) return 412;
  const noneMatch = headers['if-none-match'];
  if (noneMatch !== undefined) return noneMatch.trim() === '*' ? 304 : null;
  const modified = timeOf(headers['if-modified-since']);
  return modified !== null && seconds(mtimeMs) <= modified ? 304 : null;
}

/** Is the file still the one that the range is of? */
export function rangeHolds(headers: IncomingHttpHeaders, mtimeMs: number): boolean {
  const header = headers['if-range'];
  return header === undefined || (typeof header === 'string' && timeOf(header) === seconds(mtimeMs));
}

/** Null where it is no date. */
function timeOf(header: string | undefined): number | null {
  const ms = header === undefined ? Number.NaN : Date.parse(header);
  return Number.isNaN(ms) ? null : seconds(ms);
}

const seconds = (ms: number) => Math.floor(ms / 1000);
