/** The error class alone, for programs that want to start before they load the client. */
export { ERROR_CODES, type ErrorCode } from '@vivarium/protocol/error-codes.ts';
export { VivError } from '@vivarium/protocol/viv-error.ts';
