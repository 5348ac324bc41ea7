import { z } from '@hono/zod-openapi';
import { isImageName } from './image-name.ts';
import { ociImageName, parseOciRef, REF_MAX } from './oci-ref.ts';

/** An OCI reference that can't be taken for an image's name: with a scheme, a tag or a digest. */
export const OciReference = z
  .string()
  .max(REF_MAX)
  .refine(
    (text) => {
      const ref = !isImageName(text) && /[:@]/.test(text) ? parseOciRef(text) : null;
      return ref !== null && ociImageName(ref) !== null;
    },
    { error: 'an OCI reference is docker://HOST/PATH:TAG, HOST/PATH:TAG or HOST/PATH@sha256:…' },
  );

/** What a sandbox may be made of. */
export const ImageRef = z
  .string()
  .max(REF_MAX)
  .refine((text) => isImageName(text) || OciReference.safeParse(text).success, {
    error:
      'an image is named name@version, such as base/debian@12 (`viv image ls` shows what there is), or by an OCI reference with a tag or digest (docker.io/library/python:3.12)',
  })
  .openapi({ example: 'base/debian@12' });
