import { createHmac } from 'node:crypto';
import type { Sandbox } from '@vivarium/protocol';
import type { E2bContext } from '../context.ts';
import { nativeFacts, type SandboxFacts } from '../store/sandbox-facts.ts';
import { imageUser } from './image-user.ts';
import { shownNetwork } from './network-rules.ts';

/** What the clients are told runs inside: they choose their wire forms by it. */
export const ENVD_VERSION = '0.6.13';
/** Kept for clients that read it. */
const CLIENT_ID = 'vivarium';

/** The facts of any sandbox of the node. */
export function factsOf({ store, edge }: E2bContext, { id, image }: Sandbox): SandboxFacts {
  return store.sandboxes.get(id) ?? nativeFacts(image, imageUser(edge, image));
}

/** Opens the ports of a sandbox whose traffic is not public. */
export function trafficToken(token: string): string {
  return createHmac('sha256', token).update('traffic').digest('hex');
}

/** The answer to create and connect: how a client reaches the sandbox. */
export function accessView(context: E2bContext, sandbox: Sandbox): object {
  const facts = factsOf(context, sandbox);
  const token = context.edge.sandboxes.token(sandbox.id);
  return {
    templateID: facts.templateID,
    sandboxID: sandbox.id,
    clientID: CLIENT_ID,
    ...(facts.alias !== null && { alias: facts.alias }),
    envdVersion: ENVD_VERSION,
    ...(facts.secure && { envdAccessToken: token }),
    ...(facts.network?.allowPublicTraffic === false && { trafficAccessToken: trafficToken(token) }),
    domain: context.domain ?? null,
  };
}

/** An item of a list. */
export function listView(context: E2bContext, sandbox: Sandbox): object {
  const { templateID, alias, volumeMounts } = factsOf(context, sandbox);
  return {
    templateID,
    ...(alias !== null && { alias }),
    sandboxID: sandbox.id,
    clientID: CLIENT_ID,
    startedAt: sandbox.startedAt ?? sandbox.createdAt,
    endAt: sandbox.expiresAt ?? sandbox.startedAt ?? sandbox.createdAt,
    state: stateView(sandbox),
    cpuCount: cpuCount(sandbox),
    memoryMB: sandbox.limits.memoryMiB,
    diskSizeMB: sandbox.limits.diskMiB,
    envdVersion: ENVD_VERSION,
    metadata: sandbox.metadata,
    volumeMounts,
  };
}

/** Everything about one sandbox. */
export function infoView(context: E2bContext, sandbox: Sandbox): object {
  const { secure, network, allowInternetAccess } = factsOf(context, sandbox);
  return {
    ...listView(context, sandbox),
    ...(secure && { envdAccessToken: context.edge.sandboxes.token(sandbox.id) }),
    domain: context.domain ?? null,
    allowInternetAccess,
    ...(network && { network: shownNetwork(network) }),
    lifecycle: { onTimeout: sandbox.onTimeout, autoResume: sandbox.autoResume },
  };
}

/** CPUs as clients count them: whole ones. */
export function cpuCount({ limits }: Sandbox): number {
  return Math.max(1, Math.round(limits.cpus));
}

/** There are two states: what is being paused is as good as paused. */
function stateView({ state }: Sandbox): 'running' | 'paused' {
  return state === 'paused' || state === 'pausing' ? 'paused' : 'running';
}
