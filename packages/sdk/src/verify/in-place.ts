import type { Image } from '@vivarium/protocol/image.ts';
import { VivError } from '@vivarium/protocol/viv-error.ts';
import type { Sandbox } from '../sandbox.ts';
import type { Bench } from './grade.ts';
import type { Verification, VerifyRequest } from './request.ts';

export async function verifyInPlace(
  _bench: Bench,
  _sandbox: Sandbox,
  _pinned: Image,
  _request: VerifyRequest,
): Promise<Verification> {
  throw new VivError('unsupported', 'in_place');
}
