/** The client broke the rules of the connection: it is ended with 1008 and this text. */
export class ProtocolViolation extends Error {}
