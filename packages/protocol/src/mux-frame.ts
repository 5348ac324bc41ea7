/** Sizes and names of the multiplexed connection (mux.ts), apart from its schemas so that clients need no schema library. */
export const MUX_PROTOCOL = 'vivarium.v1';
export const MUX_HEADER_BYTES = 8;
export const MUX_DATA_MAX_BYTES = 262_144;
export const MUX_INITIAL_LIMIT_BYTES = 1_048_576;
/** Channels a connection may have open at once. */
export const MUX_CHANNELS_MAX = 16_384;

/** Sub-channels: exec 0 stdin, 1 stdout, 2 stderr; port: 0 up (to the sandbox), 1 down. */
export const Sub = { in: 0, out: 1, err: 2 } as const;
