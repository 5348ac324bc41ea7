import { SandboxCreate, VivError } from '@vivarium/protocol';
import type { E2bCreate } from '@vivarium/protocol/e2b/control.ts';
import { check } from '../../http/issues.ts';
import type { SandboxFacts } from '../store/sandbox-facts.ts';
import type { ControlCall } from './control-call.ts';
import { checkNetwork, keptNetwork } from './network-rules.ts';
import { accessView } from './sandbox-view.ts';
import { findTemplate, type TemplateSource } from './template-source.ts';

/** Seconds that a sandbox lives when its client does not say, by the version of the call. */
const DEFAULT_TIMEOUT_S = { 1: 15, 2: 300 } as const;

/** Makes a sandbox from a template, a snapshot or an image. What only E2B speaks of is written down beside it. */
export async function createSandbox(call: ControlCall<E2bCreate>, version: 1 | 2): Promise<object> {
  const { context, edge, body, owner, signal } = call;
  const secure = version === 2 || body.secure === true;
  refuse(body, secure);
  const template = findTemplate(context, body.templateID, call.key);
  const sandbox = await edge.sandboxes.create(nativeRequest(body, template, version), owner);
  try {
    context.store.sandboxes.put(sandbox.id, factsOf(body, template, secure));
    await template.start?.(edge, sandbox.id, signal);
    if (signal.aborted) throw new VivError('connection_lost', 'the client is gone');
    return accessView(context, sandbox);
  } catch (error) {
    // Nobody knows it, so nobody could end it.
    await edge.sandboxes.kill(sandbox.id);
    throw error;
  }
}

function nativeRequest(body: E2bCreate, template: TemplateSource, version: 1 | 2): SandboxCreate {
  const volumes = body.volumeMounts ?? [];
  return check(SandboxCreate, {
    image: template.image,
    ttlS: Math.max(1, body.timeout ?? DEFAULT_TIMEOUT_S[version]),
    env: body.envVars ?? {},
    metadata: body.metadata ?? {},
    onTimeout: body.autoPause ? 'pause' : 'kill',
    pauseMemory: body.autoPauseMemory ?? true,
    autoResume: body.autoResume?.enabled ?? false,
    ...(template.limits && { limits: template.limits }),
    ...(volumes.length > 0 && { volumes }),
  });
}

function factsOf(body: E2bCreate, template: TemplateSource, secure: boolean): SandboxFacts {
  return {
    templateID: template.templateID,
    alias: template.alias,
    image: template.image,
    secure,
    network: body.network ? keptNetwork(body.network) : null,
    allowInternetAccess: body.allow_internet_access ?? null,
    volumeMounts: body.volumeMounts ?? [],
    user: template.user,
  };
}

/** What can't be had is told, not dropped. */
function refuse(body: E2bCreate, secure: boolean): void {
  checkNetwork(body.network ?? {});
  if (body.network?.allowPublicTraffic === false && !secure)
    throw invalid('network.allowPublicTraffic is false: that needs `secure: true`', 'network.allowPublicTraffic');
  if (body.autoResume?.enabled && body.autoPauseMemory === false)
    throw invalid('autoResume needs its memory: it excludes autoPauseMemory: false', 'autoResume');
  if (Object.keys(body.iam?.tokens ?? {}).length > 0)
    throw invalid('iam.tokens: no workload tokens are issued here; leave them out', 'iam');
}

function invalid(message: string, field: string): VivError {
  return new VivError('invalid_argument', message, { details: { field } });
}
