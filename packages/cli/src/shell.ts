/** bash where the image has it. */
export const LOGIN_SHELL = ['/bin/sh', '-c', 'command -v bash >/dev/null && exec bash -l || exec sh -l'];
