/** How many ids one sandbox has; ids of its files lie in [shift, shift + 65536) on the host. */
const RANGE = 65_536;
/** The kernel's overflow id: an owner that has no meaning inside. */
const NOBODY = 65_534;

/** A sandbox's file ids as the image should have them. With shift 0 ids pass as they are. */
export function shiftedId(id: number, shift: number): number {
  if (shift === 0) return id;
  const inside = id - shift;
  return inside >= 0 && inside < RANGE ? inside : NOBODY;
}

/**
 * File capabilities (linux/capability.h, vfs_cap_data and vfs_ns_cap_data): a file whose capabilities belong to the sandbox's root
 * (revision 3 with its id) becomes revision 2, which the idmapped mount of the layer gives to whichever root uses it. Anything else passes.
 */
export function shiftedCapability(value: Buffer, shift: number): Buffer {
  const REVISION_MASK = 0xff000000;
  const REVISION_2 = 0x02000000;
  const REVISION_3 = 0x03000000;
  if (value.length !== 24) return value;
  const magic = value.readUInt32LE(0);
  if ((magic & REVISION_MASK) >>> 0 !== REVISION_3 || value.readUInt32LE(20) !== shift) return value;
  const result = Buffer.from(value.subarray(0, 20));
  result.writeUInt32LE(((magic & ~REVISION_MASK) | REVISION_2) >>> 0, 0);
  return result;
}

/** A POSIX ACL (linux/posix_acl_xattr.h: version 2, then entries of tag, permissions, id) with the ids of its named users and groups shifted. */
export function shiftedAcl(value: Buffer, shift: number): Buffer {
  const ACL_USER = 0x02;
  const ACL_GROUP = 0x08;
  if (value.length < 4 || value.readUInt32LE(0) !== 2) return value;
  const result = Buffer.from(value);
  for (let at = 4; at + 8 <= result.length; at += 8) {
    const tag = result.readUInt16LE(at);
    if (tag === ACL_USER || tag === ACL_GROUP)
      result.writeUInt32LE(shiftedId(result.readUInt32LE(at + 4), shift), at + 4);
  }
  return result;
}
