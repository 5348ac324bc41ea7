/** `role/name@version`. No schema library here: clients use it too. */
export const IMAGE_NAME = /^([a-z0-9][a-z0-9._-]*\/){0,7}[a-z0-9][a-z0-9._-]*@[A-Za-z0-9][A-Za-z0-9._-]*$/;
export const IMAGE_NAME_MAX = 200;

/** Is it the name of an image of ours (and not a reference of a registry)? */
export function isImageName(text: string): boolean {
  return text.length <= IMAGE_NAME_MAX && IMAGE_NAME.test(text);
}
