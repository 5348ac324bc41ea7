/** Why a layer or an archive is not taken. Workers know no VivError: this crosses to the server as code and message. */
export class Refusal extends Error {
  readonly code: 'invalid_image' | 'path_escapes';

  constructor(code: 'invalid_image' | 'path_escapes', message: string) {
    super(message);
    this.code = code;
  }
}
