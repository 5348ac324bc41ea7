import { checked, libc } from './libc.ts';

const MFD_CLOEXEC = 1;

const memfdCreate = checked<[string, number]>(
  'memfd_create',
  libc.func('memfd_create', 'int', ['str', 'uint']),
  (name) => name,
);

/** An empty file that no directory holds (memfd_create(2)); the caller closes the descriptor. */
export function openMemoryFile(name: string): number {
  return memfdCreate(name, MFD_CLOEXEC);
}
