import { VivError } from '@vivarium/protocol';
import { type Admission, admit } from '../gateway/admission.ts';
import type { Door } from '../gateway/gateway.ts';
import type { Target } from '../gateway/target.ts';
import { sendFailure } from '../http/failure.ts';
import type { E2bContext } from './context.ts';
import { trafficToken } from './control/sandbox-view.ts';
import { sendClosedPort, sendTrafficRefused, sendUnreachable } from './error.ts';
import { INTERPRETER_PORT, interpretersOf } from './interpreter/interpreter.ts';
import { sameSecret } from './same-secret.ts';
import type { SandboxFacts } from './store/sandbox-facts.ts';
import { awake, reachable } from './wake.ts';

const TRAFFIC_HEADER = 'e2b-traffic-access-token';
const UNREACHABLE = new Set(['sandbox_dead', 'sandbox_not_found', 'sandbox_paused', 'sandbox_lost', 'state_conflict']);

/** Ports of sandboxes that were made over this surface are public unless they were made otherwise; those of native ones need a key or token. */
export function portDoor(context: E2bContext): Door {
  const { edge, keys, store, log } = context;
  return {
    admit: async (req, target) => {
      const facts = store.sandboxes.get(target.id);
      if (!facts) {
        edge.sandboxes.get(target.id);
        return admit(req, target, keys, edge);
      }
      if (!reachable(context, target.id)) throw gone(target.id);
      const token = edge.sandboxes.token(target.id);
      const traffic = trafficToken(token);
      // Nobody wakes it who may not come in.
      if (facts.network?.allowPublicTraffic === false) checkTraffic(req.headers[TRAFFIC_HEADER], traffic);
      if (!(await awake(context, target.id))) throw gone(target.id);
      return { ...asMade(facts, target), secrets: [token, traffic] };
    },
    open: async ({ id, port }) => port === INTERPRETER_PORT && (await interpretersOf(edge).start(id)),
    fail: (req, res, thrown, target) => {
      const { code, message } = VivError.from(thrown);
      if (code === 'port_closed') sendClosedPort(req, res, target.id, target.port);
      else if (UNREACHABLE.has(code)) sendUnreachable(req, res, target.id);
      else if (code === 'forbidden') sendTrafficRefused(req, res, target.id, message);
      else sendFailure(req, res, thrown, log);
    },
  };
}

function gone(id: string): VivError {
  return new VivError('sandbox_dead', `there is no sandbox ${id}`);
}

/** Throws `forbidden`. */
function checkTraffic(given: string | string[] | undefined, traffic: string): void {
  if (typeof given !== 'string')
    throw new VivError(
      'forbidden',
      `the ports of this sandbox are not public: the header ${TRAFFIC_HEADER} is missing`,
    );
  if (!sameSecret(given, traffic))
    throw new VivError(
      'forbidden',
      `the header ${TRAFFIC_HEADER} does not hold the traffic access token of this sandbox`,
    );
}

function asMade({ network }: SandboxFacts, { port }: Target): Admission {
  return {
    host: network?.maskRequestHost?.replace(/\$\{PORT\}/g, String(port)),
    tls: network?.httpsPorts?.includes(port),
  };
}
