import { VivError } from '@vivarium/protocol';

/** `dockerfile_invalid`: names the file and the line. */
export function invalid(file: string, line: number, message: string, hint?: string): VivError {
  return new VivError('dockerfile_invalid', `${file}:${line}: ${message}`, {
    details: { file, line },
    ...(hint === undefined ? {} : { hint }),
  });
}
