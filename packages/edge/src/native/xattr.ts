import { checked, errnoOf, libc } from './libc.ts';

const VALUE_BYTES_MAX = 256;

const lgetxattr = checked<[string, string, Buffer, number]>(
  'lgetxattr',
  libc.func('lgetxattr', 'long', ['str', 'str', 'void *', 'size_t']),
  (path, name) => `${name} of ${path}`,
);

/** A short extended attribute of a path (its last component not followed), undefined when it has none. lgetxattr(2). */
export function getAttribute(path: string, name: string): Buffer | undefined {
  const value = Buffer.alloc(VALUE_BYTES_MAX);
  try {
    return value.subarray(0, lgetxattr(path, name, value, value.length));
  } catch (error) {
    const errno = errnoOf(error);
    if (errno === 'ENODATA' || errno === 'EOPNOTSUPP') return undefined;
    throw error;
  }
}
