import { ALLOW, and, DATA, fail, type Instruction, load, OP, ret, returnIfAny, returnIfEqual } from './bpf.ts';

const EPERM = 1;
const ENOMEM = 12;
const EINVAL = 22;
const EPROTONOSUPPORT = 93;
const EAFNOSUPPORT = 97;

/** CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET (linux/sched.h). */
const NAMESPACES = 0x7e020000;
/** CLONE_NEWTIME: means something else to clone. */
const NAMESPACE_TIME = 0x80;

const TIOCSTI = 0x5412;
const TIOCLINUX = 0x541c;
/** Type byte of the btrfs ioctls: through them a process could leave its quota. Copying extents is fine. */
const BTRFS_TYPE = 0x9400;
const TYPE_MASK = 0xff00;
const CLONE_IOCTLS = [0x40049409 /* FICLONE */, 0x4020940d /* FICLONERANGE */, 0xc0189436 /* FIDEDUPERANGE */];

const AF_UNIX = 1;
const AF_INET = 2;
const AF_INET6 = 10;
const AF_NETLINK = 16;
/** NETLINK_ROUTE, SOCK_DIAG, AUDIT, KOBJECT_UEVENT: what the C library and ordinary tools ask. */
const NETLINK_PROTOCOLS = [0, 4, 9, 15];

/** PER_LINUX, with ADDR_NO_RANDOMIZE (debuggers, sanitizers), PER_LINUX32, UNAME26, and the query. */
const PERSONALITIES = [0, 0x40000, 0x8, 0x20000, 0x20008, 0xffffffff];

/** Huge pages set aside on the host are the host's, and no memory limit counts them. */
const MAP_HUGETLB = 0x40000;
const MFD_HUGETLB = 4;

const RLIMIT_CORE = 4;
/** The call is not made, and the caller is told that it was. */
const PRETEND = fail(0);

const allowIfEqual = (values: readonly number[]): Instruction[] =>
  values.flatMap((value) => returnIfEqual(value, ALLOW));

/** Instructions that `unlessNull` puts before its program. */
const UNLESS_NULL = 4;

/** Runs `program`, which ends in a return, if the pointer in an argument is not null; else goes on. */
function unlessNull(argument: number, program: Instruction[]): Instruction[] {
  const high = DATA.argument(argument) + 4;
  const length = program.length;
  return [
    load(DATA.argument(argument)),
    { code: OP.JEQ, jt: 0, jf: 2, k: 0 },
    load(high),
    { code: OP.JEQ, jt: length, jf: 0, k: 0 },
    ...program,
  ];
}

/** What the calls that are allowed with some arguments only do. Each ends in a return. */
export const RULES: Readonly<Record<string, Instruction[]>> = {
  clone: [load(DATA.argument(0)), ...returnIfAny(NAMESPACES, fail(EPERM)), ret(ALLOW)],
  unshare: [load(DATA.argument(0)), ...returnIfAny(NAMESPACES | NAMESPACE_TIME, fail(EPERM)), ret(ALLOW)],
  ioctl: [
    load(DATA.argument(1)),
    ...returnIfEqual(TIOCSTI, fail(EPERM)),
    ...returnIfEqual(TIOCLINUX, fail(EPERM)),
    ...allowIfEqual(CLONE_IOCTLS),
    and(TYPE_MASK),
    ...returnIfEqual(BTRFS_TYPE, fail(EPERM)),
    ret(ALLOW),
  ],
  socket: [
    load(DATA.argument(0)),
    ...allowIfEqual([AF_UNIX, AF_INET, AF_INET6]),
    { ...returnIfEqual(AF_NETLINK, 0)[0]!, jt: 1, jf: 0 },
    ret(fail(EAFNOSUPPORT)),
    load(DATA.argument(2)),
    ...allowIfEqual(NETLINK_PROTOCOLS),
    ret(fail(EPROTONOSUPPORT)),
  ],
  socketpair: [load(DATA.argument(0)), ...allowIfEqual([AF_UNIX]), ret(fail(EAFNOSUPPORT))],
  mmap: [load(DATA.argument(3)), ...returnIfAny(MAP_HUGETLB, fail(ENOMEM)), ret(ALLOW)],
  memfd_create: [load(DATA.argument(1)), ...returnIfAny(MFD_HUGETLB, fail(EINVAL)), ret(ALLOW)],
  // Scripts forbid or allow core files (`ulimit -c`) and must go on; the limit stays as it is (oci-config.ts).
  setrlimit: [load(DATA.argument(0)), ...returnIfEqual(RLIMIT_CORE, PRETEND), ret(ALLOW)],
  prlimit64: [
    // Root inside may read the limits of process 1, and not set them: it would take the host's hold of the sandbox.
    load(DATA.argument(0)),
    { ...returnIfEqual(1, 0)[0]!, jt: 0, jf: UNLESS_NULL + 1 },
    ...unlessNull(2, [ret(fail(EPERM))]),
    load(DATA.argument(1)),
    { ...returnIfEqual(RLIMIT_CORE, 0)[0]!, jt: 1, jf: 0 },
    ret(ALLOW),
    ...unlessNull(2, [...unlessNull(3, [ret(fail(EPERM))]), ret(PRETEND)]),
    ret(ALLOW),
  ],
  // It would write out every file system of the host. Of a sandbox nothing has to reach the disk (docs/adr/0012).
  sync: [ret(PRETEND)],
  personality: [load(DATA.argument(0)), ...allowIfEqual(PERSONALITIES), ret(fail(EPERM))],
};
