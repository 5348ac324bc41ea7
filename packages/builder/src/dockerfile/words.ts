/** Words between blanks; quotes and escapes keep a word together and stay in it. */
export function shellWords(text: string, escapeChar: string): string[] {
  const words: string[] = [];
  let word = '';
  let quote = '';
  let open = false;
  for (let at = 0; at < text.length; at++) {
    const char = text[at]!;
    if (char === escapeChar && quote !== "'" && at + 1 < text.length) {
      word += char + text[++at]!;
      open = true;
    } else if (quote === '' && /\s/.test(char)) {
      if (open) words.push(word);
      word = '';
      open = false;
    } else {
      if (quote !== '') quote = char === quote ? '' : quote;
      else if (char === '"' || char === "'") quote = char;
      word += char;
      open = true;
    }
  }
  if (open) words.push(word);
  return words;
}

/** The strings of an instruction in JSON form (`["a", "b"]`), or null: Docker takes what is not quite JSON for the shell form. */
export function jsonWords(text: string): string[] | null {
  const trimmed = text.trim();
  if (!trimmed.startsWith('[')) return null;
  try {
    const value: unknown = JSON.parse(trimmed);
    return Array.isArray(value) && value.every((item) => typeof item === 'string') ? value : null;
  } catch {
    return null;
  }
}

/** `name=value` pairs with quotes kept, or the old form `name the rest`. Null: neither. */
export function pairs(text: string, escapeChar: string): [name: string, value: string][] | null {
  const words = shellWords(text, escapeChar);
  if (words.length === 0) return null;
  if (!words[0]!.includes('=')) {
    const old = /^(\S+)\s+([\s\S]*)$/.exec(text);
    return old ? [[old[1]!, old[2]!]] : null;
  }
  const result: [string, string][] = [];
  for (const word of words) {
    const cut = word.indexOf('=');
    if (cut < 0) return null;
    result.push([word.slice(0, cut), word.slice(cut + 1)]);
  }
  return result;
}
