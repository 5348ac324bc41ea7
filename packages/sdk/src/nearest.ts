/** The name that a misspelt one meant, for programs that complain before they load the client. */
export { nearest } from '@vivarium/protocol/nearest.ts';
