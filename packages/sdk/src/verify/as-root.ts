/** Else the file API acts as the image's user. By number: the sandbox's own list of users may name another one `root`. */
export const AS_ROOT = { user: '0:0' } as const;
