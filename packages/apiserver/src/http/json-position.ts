/**
 * Where a text stops being JSON, in characters from 0. V8 says so for some mistakes only; for an unexpected token the
 * longest prefix that is merely incomplete is searched for.
 */
export function jsonErrorPosition(text: string, message: string): number {
  const said = /at position (\d+)/.exec(message)?.[1];
  if (said !== undefined) return Number(said);
  if (message.startsWith('Unexpected end')) return text.length;
  let good = 0;
  let bad = text.length;
  while (bad - good > 1) {
    const middle = (good + bad) >> 1;
    if (hasUnexpectedToken(text.slice(0, middle))) bad = middle;
    else good = middle;
  }
  return bad - 1;
}

function hasUnexpectedToken(prefix: string): boolean {
  try {
    JSON.parse(prefix);
    return false;
  } catch (error) {
    return /^Unexpected (token|non-whitespace)/.test((error as Error).message);
  }
}
